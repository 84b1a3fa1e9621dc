"""Load published STS sets and check them against their published sizes.

A set is searched in a folder, then in the hub's cache, then on the hub if allowed. The hub's STS12 to STS16 do not
name the sub-corpus of a pair: their parts are all "", so of the aggregations (all, mean, wmean) only "all" is possible.
Its SICK-R has all 9927 pairs in one split instead of the 4927 test pairs of papers, so SICK-R is read from a folder
only.
"""

import difflib
import os
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from explorer.data.graded import published_sets
from explorer.data.graded.published_sets import PublishedSet, Split
from explorer.data.tables.columns import guess, named_column, plain
from explorer.data.tables.hub_files import ADDRESS, cached, file_of, fitting, hub_table, table_in, version_file
from explorer.data.tables.table import Table, joined
from explorer.data.tables.text_rows import graded_pairs
from explorer.data.text_sets import SCORED_PAIRS, GradedPairs
from explorer.errors import DataError, SetNotFound
from explorer.places import given_path

VARIABLE = "STRATA_DATA"  # the environment variable that names the folder
RAW, SENTEVAL = "raw", "senteval"  # text as published, or tokenised and lower-cased as SentEval scores it
LANGUAGE = "lang"  # the column of a file of several languages
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
        part = replace(part, file=part.file.replace(".tsv", "_senteval.tsv"), on_hub=(), joined=())
    in_folder = data_folder(folder)
    there = _in_folder(chosen, part, in_folder) if in_folder else ()
    if there:
        table: Table | None = joined([table_in(file) for file in there])
    else:
        table = hub_table(chosen.hub_id, part.on_hub, chosen.revision, online=online) if part.on_hub else None
    if table is None:
        raise SetNotFound(
            _not_available(chosen, part, in_folder, online=online, text=text),
            # SentEval's text is not what is fetched under the name of the split, nor has a menu sets of other kinds
            (chosen.name, part.name) if text == RAW and chosen in published_sets.SETS else None,
        )
    return _of_language(chosen, _of_two_columns(chosen, table))


def _in_folder(chosen: PublishedSet, part: Split, folder: Path) -> tuple[Path, ...]:
    """The files of a split in a folder: its own, several that are the split together, or a copy of the hub's folder."""
    home, of_hub = folder / Path(part.file).parts[0], folder / Path(chosen.hub_id).name
    if home.is_dir():
        file = file_of(folder, part.file)
        if file.is_file():
            return (file,)
        several = tuple(folder / one for one in part.joined)
        if several and all(one.is_file() for one in several):
            return several
    found = fitting(of_hub, part.on_hub) if part.on_hub and of_hub.is_dir() else None
    return () if found is None else (found,)


def _not_available(chosen: PublishedSet, part: Split, folder: Path | None, *, online: bool, text: str) -> str:
    """Why a split is not there, what is expected, and where it is found."""
    reason = f"there is no {folder / part.file}" if folder else f"{VARIABLE} names no folder"
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
    together = f" or with {', '.join(part.joined)}," * bool(part.joined)
    copy = f" or with a copy of {ADDRESS}/{chosen.hub_id}," * bool(part.on_hub)
    return (
        f"{chosen.name} {part.name} is not available: {reason}, and {hub}. Set {VARIABLE} to a folder with "
        f"{part.file} in it (tab-separated, first line: {chosen.columns}),{together}{copy} or use the sample pairs "
        "that ship with Strata."
    )


def _of_language(chosen: PublishedSet, table: Table) -> Table:
    """The rows of the language of a set, if the table has several."""
    column = named_column(table, [LANGUAGE]) if chosen.language else None
    if column is None:
        return table
    languages = table.column(column)
    kept = [at for at, language in enumerate(languages) if language == chosen.language]
    if not kept:
        raise DataError(
            f"{chosen.name}: no row of {table.name} has {chosen.language!r} under {column!r}, which holds "
            f"{', '.join(dict.fromkeys(languages))}. Replace the file by that of {ADDRESS}/{chosen.hub_id}."
        )
    return replace(table, rows=tuple(table.rows[at] for at in kept), lines=tuple(table.lines[at] for at in kept))


def _of_two_columns(chosen: PublishedSet, table: Table) -> Table:
    """The table with each sentence in a column of its own, if the set has both in one cell, a line each."""
    if not chosen.both or chosen.both not in table.columns:
        return table
    cells = [cell.strip().splitlines() for cell in table.column(chosen.both)]
    wrong = next((line for line, cell in zip(table.lines, cells, strict=True) if len(cell) != 2), None)
    if wrong is not None:
        raise DataError(
            f"{table.name}, line {wrong}: {chosen.both!r} does not hold two sentences, a line each. Replace the file "
            f"by that of {ADDRESS}/{chosen.hub_id}."
        )
    at = table.columns.index(chosen.both)
    columns, *rows = (
        (*row[:at], *cell, *row[at + 1 :])
        for row, cell in zip((table.columns, *table.rows), (("sentence1", "sentence2"), *cells), strict=True)
    )
    return replace(table, columns=columns, rows=tuple(rows))


def files(name: str) -> tuple[Path, ...]:
    """The files that decide what the splits of a set hold, whether they exist or not."""
    chosen, folder = find(name), data_folder()
    in_folder: list[Path] = []
    if folder:
        in_folder += [path for one in chosen.splits for path in (folder / one.file, *_in_folder(chosen, one, folder))]
    return (*in_folder, *[version_file(chosen.hub_id, chosen.revision)] * bool(chosen.hub_id))


def available(folder: Path | None = None) -> tuple[tuple[str, str], ...]:
    """(name, split) of everything in the folder, in the order of papers; empty without a folder."""
    folder = data_folder(folder)
    if folder is None:
        return ()
    every = ((known, split) for known in published_sets.SETS for split in known.splits)
    return tuple((known.name, split.name) for known, split in every if _in_folder(known, split, folder))


def on_disk() -> frozenset[tuple[str, str]]:
    """(name, split) of everything in the folder or in the hub's cache, without opening a file."""
    from huggingface_hub import constants

    there: set[str] = set()
    with suppress(OSError):  # listed once: pages ask for this several times, and of most sets nothing is there
        there = {path.name for path in Path(constants.HF_HUB_CACHE).iterdir()}
    of_hub = [one for one in published_sets.SETS if one.hub_id and cached(one.hub_id).name in there]
    known = [one for one in of_hub if version_file(one.hub_id, one.revision).exists()]
    in_cache = ((one.name, split.name) for one in known for split in one.splits if split.on_hub)
    return frozenset((*available(), *in_cache))


def menu() -> tuple[str, ...]:
    """The names of all splits, such as "STS-B dev", in the order of papers, those on this disk first."""
    here = on_disk()
    every = [(known.name, split.name) for known in published_sets.SETS for split in known.splits]
    return tuple(" ".join(one) for one in sorted(every, key=lambda one: one not in here))


def name_and_split(title: str) -> tuple[str, str]:
    """Parse `STS-B dev` into set and split; without a split it is the test split."""
    name, _, split = title.strip().rpartition(" ")
    return (name, split) if name else (split, "test")


def find(name: str) -> PublishedSet:
    """The set with this name, ignoring case and punctuation."""
    return named(name, published_sets.SETS)


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
    roles = guess(table, SCORED_PAIRS).corrected({"part": part})
    pairs, report = graded_pairs(table, roles, title, as_written=chosen.as_written)
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
