"""Texts with labels whose clusters are compared with the labels: published sets of MTEB, and own folders.

MTEB's older files have a row for each set of texts, with the lists `sentences` and `labels`: each set is clustered on
its own. Its newer ones have a row for each text; of these and of tasks called `.v2`, a sample is encoded, from which
texts are drawn several times. Samples are those of MTEB, of the same seed.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from explorer.data.graded import sts
from explorer.data.graded.published_sets import PublishedSet, Split
from explorer.data.labelled.labelled_sets import TEXTS
from explorer.data.labelled.split_folders import TEST, table_of_test
from explorer.data.tables.columns import LABEL_NAMES, PAIR_NAMES, SENTENCE_NAMES, named_column
from explorer.data.tables.table import Table
from explorer.data.tables.text_rows import squeezed
from explorer.data.text_sets import Labelled, digest_of
from explorer.errors import DataError, TooFewRows

SEED = 42  # MTEB's
ENCODED = 2_048  # texts of an own set that are encoded at most, as of most of MTEB's
SHARE = 0.04  # of the texts of a published set called `.v2`


@dataclass(frozen=True)
class ClusteringSet(Labelled):
    """Texts with the names of their classes, each in one of several sets, or a sample from which texts are drawn."""

    sets: tuple[int, ...] = ()  # the number of the set of each text; () if texts are drawn
    total: int = 0  # texts that these were sampled from; 0 if none was left out
    scored_as_whole: ClassVar[bool] = True

    @cached_property
    def digest(self) -> str:
        """The digest of texts, labels and sets, independent of the name."""
        return digest_of(("clustering", str(self.total), *self.texts, *self.labels, *map(str, self.sets)))

    def drawn(self, draws: int, size: int) -> list[Sequence[int]]:
        """The rows of each set; without sets, of so many draws of `size` texts with replacement, as MTEB draws them."""
        if self.sets:
            return [[row for row, of in enumerate(self.sets) if of == one] for one in dict.fromkeys(self.sets)]
        # MTEB draws with the state that the generator has after the sample
        stream = random.Random(SEED)
        if self.total:
            stream.sample(range(self.total), k=len(self))
        return [stream.choices(range(len(self)), k=size) for _ in range(draws)]


# Sizes: MTEB's descriptive statistics.
NEWSGROUPS = PublishedSet(
    "TwentyNewsgroupsClustering",
    (Split("test", f"TwentyNewsgroupsClustering/{TEST}", 59_545, on_hub=("test",)),),
    "mteb/twentynewsgroups-clustering",
    about="subjects of posts in 20 newsgroups (Lang 1995), in 10 sets",
    classes=20,
    columns=TEXTS,
)
SETS = (NEWSGROUPS,)
FAST = ".v2"  # the end of the names of MTEB's tasks of which a sample is encoded


def names() -> tuple[str, ...]:
    """The names of the tasks: each set with its own protocol, and with that of a sample."""
    return tuple(name for known in SETS for name in (known.name, known.name + FAST))


def load(name: str, *, online: bool = False) -> ClusteringSet:
    """Load a published task by its name, and check its counts against the published ones."""
    chosen = sts.named(name.removesuffix(FAST), SETS, "clustering set")
    (split,) = chosen.splits
    found = _read(sts.split_table(chosen, split, online=online), f"{name} {split.name}")
    if (len(found), len(found.classes)) != (split.rows, chosen.classes):
        raise DataError(
            f"{name} has {len(found):,} texts of {len(found.classes)} classes here, but {split.rows:,} of "
            f"{chosen.classes} as published. The file may be truncated or another version: replace it."
        )
    return _sampled(found, int(SHARE * len(found))) if name.endswith(FAST) else found


def read(folder: Path) -> ClusteringSet | None:
    """Read the texts in the test file of a folder; None without such a file, or if it has no label of single texts."""
    table = table_of_test(folder)
    if table is None or not _are_labelled_texts(table):
        return None
    found = _read(table, folder.name)
    return found if found.sets or len(found) <= ENCODED else _sampled(found, ENCODED)


def _are_labelled_texts(table: Table) -> bool:
    """Whether a table has a column of sentences and one of labels by their names, and no pair of sentences."""
    are_pairs = any(named_column(table, [one]) and named_column(table, [other]) for one, other in PAIR_NAMES)
    return bool(named_column(table, SENTENCE_NAMES) and named_column(table, LABEL_NAMES)) and not are_pairs


def _read(table: Table, name: str) -> ClusteringSet:
    """The texts and labels of a table; rows of one record are a set."""
    texts, labels = (
        tuple(map(squeezed, table.column(named_column(table, known) or known[0])))
        for known in (SENTENCE_NAMES, LABEL_NAMES)
    )
    if "" in labels:
        line = table.lines[labels.index("")]
        raise DataError(f"{table.name}, line {line} has a text without a label. Add its label, or remove it.")
    if len({*labels}) < 2:
        raise DataError(
            f"Every text of {name} has the label {labels[0]!r}, so there is nothing to cluster by. Add texts of "
            "another class."
        )
    if 2 * len({*labels}) > len(labels):
        raise TooFewRows(
            f"{name} has {len({*labels}):,} labels of {len(labels):,} texts; clusters need two texts or more on "
            "average. Add texts, or choose another file."
        )
    lists = {line: place for place, line in enumerate(dict.fromkeys(table.lines))}
    sets = tuple(lists[line] for line in table.lines) if len(lists) < len(table.lines) else ()
    return ClusteringSet(name, texts, labels, sets=sets)


def _sampled(given: ClusteringSet, count: int) -> ClusteringSet:
    """Some of the texts, as MTEB samples them."""
    rows = random.Random(SEED).sample(range(len(given)), k=count)
    texts, labels = (tuple(cells[row] for row in rows) for cells in (given.texts, given.labels))
    return ClusteringSet(given.name, texts, labels, total=len(given))
