"""Read pairs of questions labelled as duplicates, and turn them into a search task: queries, documents, gold answers.

The protocol is that of the Quora search in the layer-attention pooling paper (Oh et al. 2022, Table 3): the second
questions are the documents, the first ones the queries, and the answers to a query are the second questions of its
pairs with label 1. A question with the same id, or without ids the same text, is one query or one document.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from explorer.data.graded import sts
from explorer.data.retrieval_sets import RetrievalSet, retrieval_set
from explorer.data.set_items import QUERY, PairSet
from explorer.data.tables.files import read_file
from explorer.data.tables.table import Table
from explorer.errors import BadScores, SetNotFound, TooFewRows, WrongColumns

TASK = "Quora search"
FILE = "QQP/dev.tsv"
# names of columns: of this file, and of the file that Quora published
LABELS = ("label", "is_duplicate")
FIRST = ("sentence1", "question1")
SECOND = ("sentence2", "question2")
IDS = ("qid1", "qid2")
EXAMPLE = "Expected: label (1 for a duplicate, else 0), sentence1 and sentence2, in a file with a header"
SHOWN = 5  # lines named in a message


@dataclass(frozen=True)
class QuestionPairs(PairSet):
    """Two questions per row, and whether they are duplicates; the keys say which questions are the same one."""

    name: str
    split: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    duplicate: tuple[bool, ...]
    ids: tuple[tuple[str, ...], tuple[str, ...]] | None = None  # of both sides; None: the text is the key
    dropped: int = 0  # rows without one of the questions, or with another number of fields
    item: ClassVar[str] = QUERY
    scored_as_whole: ClassVar[bool] = True

    @property
    def pool(self) -> int:
        """The number of documents."""
        return self.collection.pool

    @property
    def digest(self) -> str:
        """The digest of queries, documents and answers."""
        return self.collection.digest

    @cached_property
    def collection(self) -> RetrievalSet:
        """The pairs as queries and documents."""
        first, second = self.ids or (self.first, self.second)
        pairs = zip(first, second, self.duplicate, strict=True)
        grades = {(query, document): 1 for query, document, same in pairs if same}
        queries, documents = _by_key(first, self.first), _by_key(second, self.second)
        return retrieval_set(self.name, self.split, queries, documents, grades)


def path(folder: Path | None = None) -> Path | None:
    """The path of the Quora questions, whether the file exists or not; None without a folder."""
    folder = sts.data_folder(folder)
    return folder / FILE if folder else None


def load(folder: Path | None = None) -> QuestionPairs:
    """Load the Quora questions in a folder, by default the one that STRATA_DATA names."""
    file = path(folder)
    if file is None or not file.is_file():
        reason = f"there is no {file}" if file else f"{sts.VARIABLE} names no folder"
        raise SetNotFound(
            f"{TASK} is not available: {reason}. Set {sts.VARIABLE} to a folder with {FILE} in it "
            "(tab-separated, first line: label sentence1 sentence2), or give a file of your own."
        )
    return read(file, TASK, "dev")


def read(path: str | Path, name: str = "", split: str = "all") -> QuestionPairs:
    """Read question pairs from a file; they are called as given, by default like the file."""
    table = read_file(path)
    label, first, second = (_column(table, names) for names in (LABELS, FIRST, SECOND))
    kept = [at for at, row in enumerate(zip(first, second, strict=True)) if all(row)]
    if not kept:
        raise TooFewRows(f"{table.name} has {len(table.rows)} rows, and none with two questions. {EXAMPLE}.")
    wrong = [at for at in kept if label[at] not in ("0", "1")]
    if wrong:
        lines = ", ".join(str(table.lines[at]) for at in wrong[:SHOWN])
        raise BadScores(
            f"{table.name}: {len(wrong):,} labels are neither 0 nor 1, such as {label[wrong[0]]!r} "
            f"(line {lines}{', …' if len(wrong) > SHOWN else ''}). Expected: 1 for a duplicate, else 0."
        )
    duplicate = tuple(label[at] == "1" for at in kept)
    if not any(duplicate):
        raise TooFewRows(
            f"{table.name} has no pair with label 1 among {len(kept):,} pairs, so no query has an answer. "
            "Expected: at least one pair of duplicates. Add some, or choose another file."
        )
    ids = None
    if {*IDS} <= {*table.columns}:
        one, other = (table.column(name) for name in IDS)
        ids = tuple(one[at] for at in kept), tuple(other[at] for at in kept)
    return QuestionPairs(
        name or table.name,
        split,
        tuple(first[at] for at in kept),
        tuple(second[at] for at in kept),
        duplicate,
        ids,
        dropped=len(table.rows) - len(kept) + len(table.ragged),
    )


def _column(table: Table, names: tuple[str, ...]) -> tuple[str, ...]:
    """The cells of the first of these columns that exists, with single spaces between words."""
    name = next((name for name in names if name in table.columns), None)
    if name is None:
        raise WrongColumns(f"{table.name} has no column {' or '.join(names)}. {EXAMPLE}. {table.inventory()}")
    return tuple(" ".join(cell.split()) for cell in table.column(name))


def _by_key(keys: Iterable[str], texts: Iterable[str]) -> dict[str, str]:
    """The first text of every key."""
    found: dict[str, str] = {}
    for key, text in zip(keys, texts, strict=True):
        found.setdefault(key, text)
    return found
