"""A labelled set with its splits, and the check that a classifier can be trained and scored on it."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from explorer.data.text_sets import Labelled, digest_of
from explorer.errors import DataError, TooFewRows

FOLDS = 10
LEAST_ROWS = 10  # rows of a fold, below which its accuracy moves by more than 10 points with one row
MORE = "Add rows, or give a folder with a train, a dev and a test file, which needs no folds."


@dataclass(frozen=True)
class LabelledSet:
    """The splits of a set; without a test split all rows are in `train`, and scores come from folds over them."""

    name: str
    train: Labelled
    dev: Labelled | None = None
    test: Labelled | None = None

    @property
    def scored(self) -> Labelled:
        """The rows that a classifier is scored on."""
        return self.train if self.test is None else self.test

    @property
    def split(self) -> str:
        """The name of the scored split: "test", or "all" for folds over all rows."""
        return "all" if self.test is None else "test"

    @property
    def splits(self) -> dict[str, Labelled]:
        """The splits by name."""
        whole = self.test is None and self.dev is None
        by_name = {"all" if whole else "train": self.train, "dev": self.dev, "test": self.test}
        return {name: rows for name, rows in by_name.items() if rows is not None}

    @property
    def texts(self) -> list[str]:
        """All sentences, split by split: the first ones, then the second ones."""
        return [text for rows in self.splits.values() for text in (*rows.texts, *rows.second)]

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, sorted."""
        return self.train.classes

    @property
    def is_pairs(self) -> bool:
        """Whether a row is a pair of sentences."""
        return bool(self.train.second)

    def __len__(self) -> int:
        return len(self.scored)

    @cached_property
    def digest(self) -> str:
        """The digest of all texts and labels, independent of the names."""
        return digest_of(f"{name} {rows.digest}" for name, rows in self.splits.items())


def check(given: LabelledSet, folds: bool = True) -> LabelledSet:
    """The set itself, if a classifier can be trained and scored on it.

    Without `folds`, its rows are only divided once, so fewer are enough, and a dev split alone is too.
    """
    if folds and given.dev is not None and given.test is None:
        raise DataError(f"{given.name} has a dev split and no test split. Add a test split, or leave out dev.")
    for split, rows in given.splits.items():
        _check_split(given, split, rows)
    if folds and given.dev is None:  # settings are chosen by folds over the train split
        _check_folds(given.train)
    return given


def _check_split(given: LabelledSet, split: str, rows: Labelled) -> None:
    if not len(rows):
        raise TooFewRows(f"The {split} split of {given.name} has no rows; at least one is needed. Add rows.")
    if bool(rows.second) != given.is_pairs:
        raise DataError(
            f"{given.name} has one sentence per row in one split and two in another. Give both the same columns."
        )
    if split != "test" and len(rows.classes) < 2:
        raise DataError(
            f"Every row of the {split} split of {given.name} has the label {rows.labels[0]!r}; a classifier needs at "
            "least two classes. Choose another column for label, or add rows of another class."
        )
    unknown = sorted(set(rows.classes) - set(given.classes))
    if unknown:
        raise DataError(
            f"The {split} split of {given.name} has the labels {_listed(unknown)}, which no row of its train split "
            f"has. The labels there: {_listed(given.classes)}. Spell them alike, or add such rows to train."
        )


def _check_folds(rows: Labelled) -> None:
    least = FOLDS * LEAST_ROWS
    if len(rows) < least:
        raise TooFewRows(f"{rows.name} has {len(rows)} rows; {FOLDS} folds need at least {least}. {MORE}")
    counts = Counter(rows.labels)
    rare = [f"{label!r} {counts[label]}" for label in rows.classes if counts[label] < FOLDS]
    if rare:
        raise TooFewRows(
            f"{rows.name} has classes with fewer than {FOLDS} rows, one for each of {FOLDS} folds: "
            f"{_short(rare)}. Add rows of them, or remove these classes."
        )


def _listed(labels: list[str] | tuple[str, ...]) -> str:
    return _short([repr(label) for label in labels])


def _short(parts: list[str]) -> str:
    more = [f"and {len(parts) - 10} more"] if len(parts) > 10 else []
    return ", ".join([*parts[:10], *more])
