"""Load published STS sets and check them against their published sizes.

A set is searched in a folder, then in the hub's cache, then on the hub if allowed. The hub's STS12 to STS16 do not
name the sub-corpus of a pair: their parts are all "", so of the aggregations (all, mean, wmean) only "all" is possible.
Its SICK-R has all 9927 pairs in one split instead of the 4927 test pairs of papers, so SICK-R is read from a folder
only.
"""

import difflib
import gzip
import os
import zlib
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from itertools import chain
from pathlib import Path

from explorer.data.tables.columns import guess, plain
from explorer.data.tables.files import ENDINGS, read_bytes, read_file
from explorer.data.tables.table import Table
from explorer.data.tables.text_rows import graded_pairs
from explorer.data.text_sets import SCORED_PAIRS, GradedPairs
from explorer.errors import DataError, SetNotFound, UnreadableFile
from explorer.places import given_path

VARIABLE = "STRATA_DATA"  # the environment variable that names the folder
RAW, SENTEVAL = "raw", "senteval"  # text as published, or tokenised and lower-cased as SentEval scores it
ZIPPED = ".gz"
PATIENCE = 10.0  # seconds until a hub without an answer counts as unreachable, as in huggingface_hub


@dataclass(frozen=True)
class Split:
    """One split of a set: its file in a folder, its size, and what its path on the hub contains."""

    name: str  # "all" for a set without splits
    file: str
    rows: int
    sizes: tuple[int, ...] = ()  # rows per sub-corpus, or per class and the largest first, if published
    on_hub: tuple[str, ...] = ()  # empty: not on the hub


@dataclass(frozen=True)
class PublishedSet:
    """The description of one set, of scored pairs or of texts with labels."""

    name: str
    splits: tuple[Split, ...]
    hub_id: str = ""
    also: tuple[str, ...] = ()  # other names, normalised by `plain`
    part: str | None = None  # the column that names the sub-corpus
    tag: str | None = None  # another column with a label of each pair
    about: str = ""  # what the labels mean, how many there are, and the columns of the files
    classes: int = 2
    columns: str = "score sentence1 sentence2"

    @property
    def folds(self) -> bool:
        """Whether a classifier on fixed vectors can be scored on it; not on a dev split alone."""
        return any(split.name in ("all", "test") for split in self.splits)


def _test(folder: str, rows: int, *sizes: int, on_hub: str = "test") -> tuple[Split]:
    return (Split("test", f"{folder}/test.tsv", rows, sizes, (on_hub,)),)


def _track(languages: str, on_hub: str = "") -> PublishedSet:
    """A track of SemEval-2017's task 1: 250 pairs of two languages."""
    file = f"STS17_{languages.replace('-', '_')}/test.tsv"
    splits = (Split("test", file, 250, on_hub=(on_hub,) if on_hub else ()),)
    return PublishedSet(f"STS17-{languages}", splits, "mteb/sts17-crosslingual-sts" if on_hub else "")


# Sizes: Cer et al. 2017 (STS-B, STS17), Marelli et al. 2014 (SICK); the yearly tasks as SentEval scores them,
# that is without pairs without a score and, in 2013, without SMT, which is not free; Agirre et al. 2014 (Spanish:
# Wikipedia and news).
SETS = (
    PublishedSet(
        "STS-B",
        (
            Split("train", "STSB/train.tsv", 5749, (3299, 2000, 450), ("train",)),
            Split("dev", "STSB/dev.tsv", 1500, (500, 625, 375), ("validation", "dev")),
            Split("test", "STSB/test.tsv", 1379, (500, 625, 254), ("test",)),
        ),
        "mteb/stsbenchmark-sts",
        also=("stsbenchmark",),
        part="genre",
        tag="source",
    ),
    PublishedSet("STS12", _test("STS12", 3108, 750, 750, 459, 750, 399), "mteb/sts12-sts", part="source"),
    PublishedSet("STS13", _test("STS13", 1500, 189, 750, 561), "mteb/sts13-sts", part="source"),
    PublishedSet("STS14", _test("STS14", 3750, 450, 300, 750, 750, 750, 750), "mteb/sts14-sts", part="source"),
    PublishedSet("STS15", _test("STS15", 3000, 375, 750, 375, 750, 750), "mteb/sts15-sts", part="source"),
    PublishedSet("STS16", _test("STS16", 1186, 254, 249, 230, 244, 209), "mteb/sts16-sts", part="source"),
    PublishedSet(
        "SICK-R",
        (
            Split("train", "SICK/train.tsv", 4500),
            Split("dev", "SICK/trial.tsv", 500),
            Split("test", "SICK/test.tsv", 4927),
        ),
        "mteb/sickr-sts",
        also=("sick",),
        tag="entailment",
    ),
    PublishedSet(
        "STS17", _test("STS17_en", 250, on_hub="en-en"), "mteb/sts17-crosslingual-sts", also=("sts17en", "sts17enen")
    ),
    _track("ar-ar", "ar-ar"),
    _track("es-es", "es-es"),
    _track("ar-en", "en-ar"),
    _track("es-en", "es-en"),
    _track("es-en-wmt"),
    _track("tr-en", "en-tr"),
    PublishedSet("STS14-es", (Split("test", "STS14_es/test.tsv", 804, (324, 480)),), part="source"),
)
OTHER_SPLITS = {"validation": "dev", "valid": "dev", "trial": "dev"}


def load(
    name: str, split: str = "test", folder: Path | None = None, *, online: bool = False, text: str = RAW
) -> GradedPairs:
    """Load a split of a set by name, and check its counts against the published ones.

    SentEval's text of `STS12/test.tsv` is in `STS12/test_senteval.tsv`, and in the folder only.
    """
    chosen = find(name)
    part = find_split(chosen, split)
    return load_split(chosen, part, folder, online=online, text=text)


def load_split(
    chosen: PublishedSet, part: Split, folder: Path | None = None, *, online: bool = False, text: str = RAW
) -> GradedPairs:
    """Load a split of pairs, and check its counts."""
    return _whole(chosen, part, split_table(chosen, part, folder, online=online, text=text))


def split_table(
    chosen: PublishedSet, part: Split, folder: Path | None = None, *, online: bool = False, text: str = RAW
) -> Table:
    """Read the table of a split from the folder, the hub's cache, or the hub if allowed."""
    if text == SENTEVAL:
        part = replace(part, file=part.file.replace(".tsv", "_senteval.tsv"), on_hub=())
    in_folder = data_folder(folder)
    file = file_of(in_folder, part.file) if in_folder else None
    if file and file.is_file():
        table: Table | None = table_in(file)
    else:
        table = hub_table(chosen.hub_id, part.on_hub, online=online) if part.on_hub else None
    if table is None:
        reason = f"there is no {file}" if file else f"{VARIABLE} names no folder"
        if text == SENTEVAL:
            hub = "SentEval's text is read from a folder only"
        elif not chosen.hub_id:
            hub = "it is read from a folder only"
        elif not part.on_hub:
            hub = f"the hub's {chosen.hub_id} has no such split (it holds all 9927 pairs in one)"
        elif online:
            hub = f"{chosen.hub_id} could not be downloaded from the hub"
        else:
            hub = f"{chosen.hub_id} is not in the hub's cache, and the download is not allowed (online)"
        raise SetNotFound(
            f"{chosen.name} {part.name} is not available: {reason}, and {hub}. Set {VARIABLE} to a folder with "
            f"{part.file} in it (tab-separated, first line: {chosen.columns}), or use the sample pairs "
            "that ship with Strata.",
            # SentEval's text is not what is fetched under the name of the split, nor has a menu sets of other kinds
            (chosen.name, part.name) if text == RAW and chosen in SETS else None,
        )
    return table


def file_of(folder: Path, file: str) -> Path:
    """The file of a split in a folder: as it is called there, or in the layout of the hub, with another ending."""
    path = folder / file
    if path.is_file():
        return path
    endings = [f"{ending}{zipped}" for ending in ENDINGS for zipped in ("", ZIPPED)]
    plain = (path.with_name(f"{path.stem}{ending}") for ending in endings)
    # the hub cuts a table into parts, whose number is in each name; one part is the whole
    parts = (found for ending in endings for found in path.parent.glob(f"data/{path.stem}-00000-of-00001*{ending}"))
    return next((found for found in chain(plain, parts) if found.is_file()), path)


def files(name: str) -> tuple[Path, ...]:
    """The files that decide what the splits of a set hold, whether they exist or not."""
    from huggingface_hub import constants

    chosen, folder = find(name), data_folder()
    in_folder = (folder / split.file for split in chosen.splits) if folder else ()
    # of the hub's cache the file that says which version is read
    version = Path(constants.HF_HUB_CACHE) / _in_cache(chosen) / "refs" / "main"
    return (*in_folder, *[version] * bool(chosen.hub_id))


def _in_cache(chosen: PublishedSet) -> str:
    """The name of the folder of a set in the hub's cache."""
    return f"datasets--{chosen.hub_id.replace('/', '--')}"


def available(folder: Path | None = None) -> tuple[tuple[str, str], ...]:
    """(name, split) of everything in the folder, in the order of papers; empty without a folder."""
    folder = data_folder(folder)
    if folder is None:
        return ()
    return tuple(
        (known.name, split.name) for known in SETS for split in known.splits if (folder / split.file).is_file()
    )


def on_disk() -> frozenset[tuple[str, str]]:
    """(name, split) of everything in the folder or in the hub's cache, without opening a file."""
    from huggingface_hub import constants

    there: set[str] = set()
    with suppress(OSError):  # listed once: pages ask for this several times, and of most sets nothing is there
        there = {path.name for path in Path(constants.HF_HUB_CACHE).iterdir()}
    cached = [one for one in SETS if one.hub_id and _in_cache(one) in there and files(one.name)[-1].exists()]
    in_cache = ((one.name, split.name) for one in cached for split in one.splits if split.on_hub)
    return frozenset((*available(), *in_cache))


def menu() -> tuple[str, ...]:
    """The names of all splits, such as "STS-B dev", in the order of papers, those on this disk first."""
    here = on_disk()
    every = [(known.name, split.name) for known in SETS for split in known.splits]
    return tuple(" ".join(one) for one in sorted(every, key=lambda one: one not in here))


def name_and_split(title: str) -> tuple[str, str]:
    """Parse `STS-B dev` into set and split; without a split it is the test split."""
    name, _, split = title.strip().rpartition(" ")
    return (name, split) if name else (split, "test")


def find(name: str) -> PublishedSet:
    """The set with this name, ignoring case and punctuation."""
    return named(name, SETS)


def named(name: str, every: Sequence[PublishedSet], what: str = "set", advice: str = "") -> PublishedSet:
    """The one of these sets with a name, ignoring case and punctuation; the error suggests a name that is near."""
    if (exact := next((known for known in every if known.name == name), None)) is not None:
        return exact
    by_name = {as_plain: known for known in every for as_plain in (plain(known.name), *known.also)}
    if plain(name) in by_name:
        return by_name[plain(name)]
    near = difflib.get_close_matches(plain(name), by_name, n=1, cutoff=0.7)  # at 0.6 STS99 is near STS-B
    hint = f" Did you mean {by_name[near[0]].name!r}?" if near else ""
    raise SetNotFound(f"There is no {what} {name!r}.{hint} There are: {', '.join(s.name for s in every)}.{advice}")


def data_folder(folder: Path | None = None) -> Path | None:
    """The folder, by default the one that STRATA_DATA names; None without either."""
    stated = os.environ.get(VARIABLE)
    return folder or (given_path(stated) if stated else None)


def find_split(chosen: PublishedSet, name: str) -> Split:
    """The split of a set with this name or an equivalent one."""
    wanted = OTHER_SPLITS.get(name.lower(), name.lower())  # "validation" is "dev"
    found = next((split for split in chosen.splits if split.name == wanted), None)
    if found is not None:
        return found
    there = ", ".join(split.name for split in chosen.splits)
    raise SetNotFound(f"{chosen.name} has no split {name!r}. It has: {there}.")


def _whole(chosen: PublishedSet, split: Split, table: Table) -> GradedPairs:
    """The pairs of a table, if their counts are as published, in every sub-corpus."""
    title = f"{chosen.name} {split.name}"
    part = chosen.part if chosen.part in table.columns else None
    pairs, report = graded_pairs(table, guess(table, SCORED_PAIRS).corrected({"part": part}), title)
    advice = f"The file may be truncated or another version: replace it.\n{report}"
    if len(pairs) != split.rows:
        raise DataError(f"{title} has {len(pairs)} pairs here, but {split.rows} as published. {advice}")
    found = Counter(pairs.parts)
    # sizes only, since the names of the sub-corpora differ between publishers
    if part and split.sizes and sorted(found.values()) != sorted(split.sizes):
        here = ", ".join(f"{name} {count}" for name, count in found.items())
        raise DataError(
            f"{title} has sub-corpora of other sizes than published. Here: {here}; "
            f"published: {', '.join(map(str, split.sizes))}. {advice}"
        )
    if chosen.tag in table.columns and len(table.rows) == len(pairs):  # dropped rows would shift the tags
        return replace(pairs, tags=table.column(chosen.tag or ""))
    return pairs


def hub_table(hub_id: str, contains: Sequence[str], *, online: bool) -> Table | None:
    """The table in the file of a data set whose path contains one of these words; None if unavailable.

    Only the cache is used unless `online`. It is `huggingface_hub`'s cache, which `datasets` and `mteb` use too;
    `datasets` itself is not used, since it tries the network for 23 s even with `local_files_only`.
    """
    path = _path(hub_id, contains, online=False)
    if path is None and online:
        path = _path(hub_id, contains, online=True)
    if path is None:
        return None
    try:
        return _unzipped(path)
    except (OSError, EOFError, zlib.error) as error:  # no permission, truncated, damaged
        raise UnreadableFile(
            # the file behind the link, else the cache would return it again
            f"{path.name} in the hub's cache cannot be read: {error}. Delete {path.resolve()}, so that it is "
            "downloaded again."
        ) from error


def table_in(path: Path) -> Table:
    """The table in a file of a folder, which may be compressed."""
    if path.suffix != ZIPPED:
        return read_file(path)
    try:
        return _unzipped(path)
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableFile(f"{path} cannot be read: {error}. Replace it.") from error


def _unzipped(path: Path) -> Table:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ZIPPED else path.read_bytes()
    return read_bytes(path.name.removesuffix(ZIPPED), data)


def _path(hub_id: str, contains: Sequence[str], *, online: bool) -> Path | None:
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    wanted = [f"*{word}*{ending}{zipped}" for word in contains for ending in ENDINGS for zipped in ("", ZIPPED)]
    try:
        if online:  # a test request first, since `snapshot_download` waits forever for a host that does not answer
            HfApi().dataset_info(hub_id, timeout=PATIENCE)
        folder = snapshot_download(hub_id, repo_type="dataset", allow_patterns=wanted, local_files_only=not online)
    # OSError, errors of the HTTP library, and invalid JSON such as a captive portal's page
    except (*HfHubHTTPError.__bases__, ValueError):
        return None
    files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    fitting = (path for path in files if any(fnmatch(path.relative_to(folder).as_posix(), one) for one in wanted))
    return next(fitting, None)
