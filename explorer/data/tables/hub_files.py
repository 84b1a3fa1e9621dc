"""Read tables in the layouts of the hub, from a folder, from the hub's cache, or from the hub if allowed.

A file may be compressed, and a table may be cut into parts, whose numbers are in their names. The cache is that of
`huggingface_hub`, which `datasets` and `mteb` use too; `datasets` itself is not used, since it tries the network for
23 s even with `local_files_only`.
"""

import gzip
import re
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from fnmatch import fnmatch
from itertools import chain
from pathlib import Path

from explorer.data.tables.files import ENDINGS, read_bytes, read_file
from explorer.data.tables.table import Table, joined
from explorer.errors import UnreadableFile

ADDRESS = "https://huggingface.co/datasets"  # before the name of a set
ZIPPED = ".gz"
PATIENCE = 10.0  # seconds until a hub without an answer counts as unreachable, as in huggingface_hub
_ENDINGS = tuple(f"{ending}{zipped}" for ending in ENDINGS for zipped in ("", ZIPPED))
_PART = re.compile(r"(?P<table>.*)-(?P<at>\d{5})-of-(?P<count>\d{5})(-[0-9a-f]+)?(?P<ending>\..*)")


def file_of(folder: Path, file: str) -> Path:
    """The file of a split in a folder: as it is called there, or in the layout of the hub, with another ending."""
    path = folder / file
    if path.is_file():
        return path
    plain = (path.with_name(f"{path.stem}{ending}") for ending in _ENDINGS)
    in_data = (path.parent / "data" / f"{path.stem}{ending}" for ending in _ENDINGS)
    parts = (found for ending in _ENDINGS for found in path.parent.glob(f"data/{path.stem}-00000-of-*{ending}"))
    return next((found for found in chain(plain, in_data, parts) if found.is_file()), path)


def tables_in(folder: Path) -> dict[str, list[Path]]:
    """The tables of a folder by name, each with its files in several formats; of one in parts the first part."""
    found: dict[str, list[Path]] = {}
    seen: set[tuple[str, str]] = set()
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.is_file() and path.name.lower().endswith(_ENDINGS):
            part = _PART.fullmatch(path.name)
            name, ending = (part["table"], part["ending"]) if part else path.name.split(".", 1)
            if part is None or (name, ending) not in seen:
                found.setdefault(name, []).append(path)
                seen.add((name, ending))
    return found


def fitting(folder: Path, contains: Sequence[str]) -> Path | None:
    """The first file of a folder whose path contains one of these words, or is one with a /; None if there is none."""
    wanted = _patterns(contains)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return next(
        (path for path in files if any(fnmatch(path.relative_to(folder).as_posix(), one) for one in wanted)), None
    )


def table_in(path: Path) -> Table:
    """The table in a file of a folder, which may be compressed, or the first part of several."""
    parts, missing = _parts(path)
    if missing:
        raise UnreadableFile(
            f"{path.parent} lacks {len(missing)} of the {len(missing) + len(parts)} parts of a table: there is no "
            f"{missing[0]}. Download the missing parts, or the whole set again."
        )
    return joined([_table_in(part) for part in parts])


def hub_table(hub_id: str, contains: Sequence[str], revision: str | None = None, *, online: bool) -> Table | None:
    """The table in the file of a data set whose path contains one of these words; None if unavailable.

    Only the cache is used unless `online`.
    """
    path = _path(hub_id, contains, revision, online=False)
    if path is None and online:
        path = _path(hub_id, contains, revision, online=True)
    if path is None:
        return None
    try:
        return joined([_unzipped(part) for part in _parts(path)[0]])
    except (OSError, EOFError, zlib.error) as error:  # no permission, truncated, damaged
        raise UnreadableFile(
            # the file behind the link, else the cache would return it again
            f"{path.name} in the hub's cache cannot be read: {error}. Delete {path.resolve()}, so that it is "
            "downloaded again."
        ) from error


def _table_in(path: Path) -> Table:
    if path.suffix != ZIPPED:
        return read_file(path)
    try:
        return _unzipped(path)
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableFile(f"{path} cannot be read: {error}. Replace it.") from error


def _unzipped(path: Path) -> Table:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ZIPPED else path.read_bytes()
    return read_bytes(path.name.removesuffix(ZIPPED), data)


def _patterns(contains: Iterable[str]) -> list[str]:
    return [f"{word if '/' in word else f'*{word}*'}{ending}" for word in contains for ending in _ENDINGS]


def _parts(path: Path) -> tuple[list[Path], list[str]]:
    """The parts of the table that a file is of, in their order, and the names of those that are missing."""
    named = _PART.fullmatch(path.name)
    if named is None:
        return [path], []
    there: dict[int, Path] = {}
    for other in sorted(path.parent.iterdir()):
        of_other = _PART.fullmatch(other.name)
        if of_other and all(of_other[key] == named[key] for key in ("table", "count", "ending")):
            there.setdefault(int(of_other["at"]), other)
    wanted = range(int(named["count"]))
    missing = [f"{named['table']}-{at:05}-of-{named['count']}{named['ending']}" for at in wanted if at not in there]
    return [there[at] for at in wanted if at in there], missing


def cached(hub_id: str) -> Path:
    """The folder of a data set in the hub's cache, whether it exists or not."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE) / f"datasets--{hub_id.replace('/', '--')}"


def version_file(hub_id: str, revision: str | None = None) -> Path:
    """What changes with the version of a data set that is read from the cache, and exists if there is one."""
    main, every = cached(hub_id) / "refs" / "main", cached(hub_id) / "snapshots"
    wanted = every / revision if revision else main
    return next((one for one in (wanted, main) if one.exists()), every)


def _path(hub_id: str, contains: Sequence[str], revision: str | None, *, online: bool) -> Path | None:
    """The file of a data set in the cache, if every part of its table is there."""
    folder = _downloaded(hub_id, contains, revision) if online else _snapshot(hub_id, revision)
    path = fitting(folder, contains) if folder else None
    return path if path is not None and not _parts(path)[1] else None


def _snapshot(hub_id: str, revision: str | None) -> Path | None:
    """The folder of a version in the cache: the one that is asked for, the one that `main` names, else the newest.

    A program that asks for a commit, as `datasets` does, leaves no name.
    """
    every, main = cached(hub_id) / "snapshots", cached(hub_id) / "refs" / "main"
    with suppress(OSError, ValueError):  # no such folder, or no text in the file
        if main.is_file():
            others = [every / main.read_text(encoding="utf-8").strip()]
        else:
            others = sorted(every.iterdir(), key=lambda one: -one.stat().st_mtime_ns)
        wanted = [every / revision] if revision else []
        return next((one for one in (*wanted, *others) if one.is_dir()), None)
    return None


def _downloaded(hub_id: str, contains: Sequence[str], revision: str | None) -> Path | None:
    """The folder of a version in the cache, after the files that are wanted were downloaded."""
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    try:
        # a test request first, since `snapshot_download` waits forever for a host that does not answer
        HfApi().dataset_info(hub_id, timeout=PATIENCE)
        wanted = _patterns(contains)
        return Path(snapshot_download(hub_id, repo_type="dataset", revision=revision, allow_patterns=wanted))
    # OSError, errors of the HTTP library, and invalid JSON such as a captive portal's page
    except (*HfHubHTTPError.__bases__, ValueError):
        return None
