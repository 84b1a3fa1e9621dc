"""Where is a file of a Hugging Face data set? In the cache on this disk, or on the hub if that is allowed."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

from explorer.data.tables.files import ENDINGS, read_bytes
from explorer.data.tables.table import Table
from explorer.errors import UnreadableFile

ZIPPED = ".gz"
PATIENCE = 10.0  # seconds until a hub that says nothing is out of reach; as long as huggingface_hub gives a download


def hub_table(hub_id: str, contains: Sequence[str], *, online: bool) -> Table | None:
    """The table in the file of a data set whose path contains one of these words; None if it is out of reach.

    The cache is asked first and alone unless `online`. It is `huggingface_hub`'s own, so what `datasets` or
    `mteb` have fetched is found; `datasets` itself is not asked, as it tries the network for 23 s even with
    `local_files_only`, and this answers in a millisecond.
    """
    path = _path(hub_id, contains, online=False)
    if path is None and online:
        path = _path(hub_id, contains, online=True)
    if path is None:
        return None
    return read_bytes(path.name.removesuffix(ZIPPED), _unzipped(path))


def _unzipped(path: Path) -> bytes:
    try:
        return gzip.decompress(path.read_bytes()) if path.suffix == ZIPPED else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:  # no right to read it, cut off, garbled
        raise UnreadableFile(
            f"{path.name} of the hub's cache cannot be read: {error}. Delete {path.resolve()}, so that it is fetched "
            "again."  # the file itself: from behind a link, the cache would give the broken one again
        ) from error


def _path(hub_id: str, contains: Sequence[str], *, online: bool) -> Path | None:
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    wanted = [f"*{word}*{ending}{zipped}" for word in contains for ending in ENDINGS for zipped in ("", ZIPPED)]
    try:
        if online:  # asked first, since `snapshot_download` waits for ever on a host that takes calls and says nothing
            HfApi().dataset_info(hub_id, timeout=PATIENCE)
        folder = snapshot_download(hub_id, repo_type="dataset", allow_patterns=wanted, local_files_only=not online)
    # OSError, the errors of whichever HTTP library the hub was built on, and what is no JSON: a captive portal's page
    except (*HfHubHTTPError.__bases__, ValueError):
        return None
    files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    return next((path for path in files if _fits(path.relative_to(folder).as_posix(), wanted)), None)


def _fits(path: str, patterns: list[str]) -> bool:
    return any(fnmatch(path, pattern) for pattern in patterns)
