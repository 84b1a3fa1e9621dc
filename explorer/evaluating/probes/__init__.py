"""Classifiers on fixed sentence vectors, and the features and classes of a labelled set that they are fitted on."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from explorer.data.labelled.labelled_sets import FOLDS, LabelledSet
from explorer.data.text_sets import Labelled

Features = NDArray[np.float32]  # (row, width)
Classes = NDArray[np.intp]  # (row)
Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Rows:
    """Features and classes of some rows."""

    x: Features
    y: Classes

    def at(self, places: Places) -> Rows:
        """Some of the rows."""
        return Rows(self.x[places], self.y[places])

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True, eq=False)
class ProbeData:
    """The splits of a set; without a test split, every row of `train` is scored by folds."""

    train: Rows
    dev: Rows | None
    test: Rows | None
    classes: int

    @property
    def scored(self) -> Rows:
        """The rows that a prediction is wanted for."""
        return self.train if self.test is None else self.test

    @property
    def is_finite(self) -> bool:
        """Whether every feature is a number, which a model of a low precision may not give."""
        splits = (rows for rows in (self.train, self.dev, self.test) if rows is not None)
        return all(bool(np.isfinite(rows.x).all()) for rows in splits)


def pair_features(first: Features, second: Features) -> Features:
    """The features of a pair, as in SentEval: [|u - v|, u * v]."""
    return np.concatenate((np.abs(first - second), first * second), axis=1)


def fold_count(labels: Iterable[Hashable]) -> int:
    """How many stratified folds there are: ten, or fewer where no class has ten rows."""
    return min(FOLDS, max(Counter(labels).values()))


def folds(classes: Classes, seed: int) -> list[tuple[Places, Places]]:
    """The rows to train on and to test on, for each of some stratified folds; of a small class some have no row."""
    from sklearn.model_selection import StratifiedKFold

    splitter = StratifiedKFold(n_splits=fold_count(classes.tolist()), shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)  # the file's report says so
        return list(splitter.split(np.zeros(len(classes)), classes))


def order_of(rows: Labelled) -> NDArray[np.intp]:
    """SentEval's order of rows, by their numbers of words, then by class: folds and batches depend on it."""
    columns = [rows.texts, rows.second] if rows.second else [rows.texts]
    words = [[len(text.split()) for text in column] for column in columns]
    return np.lexsort([np.array(rows.labels), *map(np.array, reversed(words))])


def probe_data(task: LabelledSet, every: Features, order: Mapping[str, NDArray[np.intp]]) -> ProbeData:
    """Features and classes of each split, from the vectors of `task.texts`, with the rows of a split in this order."""
    start = 0
    splits: dict[str, Rows] = {}
    for split, rows in task.splits.items():
        x = every[start : start + len(rows)]
        start += len(rows)
        if rows.second:
            x = pair_features(x, every[start : start + len(rows)])
            start += len(rows)
        y = np.searchsorted(task.classes, rows.labels)
        splits[split] = Rows(x, y).at(order[split])
    train = splits["all"] if task.test is None else splits["train"]
    return ProbeData(train, splits.get("dev"), splits.get("test"), len(task.classes))
