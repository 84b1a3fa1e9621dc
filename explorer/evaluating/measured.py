"""What one task measured of one model: a score for every layer & pooling, what each item contributed, and the cost."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.progress import Progress

Setting = str | int | float | bool | None
COSTS = ("ms per query", "index MB")  # measures that are no scores: in units of their own, and lower is better


@dataclass(frozen=True, eq=False)
class Items:
    """What a paired test of two models needs of each item, under the model default."""

    values: NDArray[np.float64]  # (item): a cosine, 1 for a correct label, a reciprocal rank
    gold: NDArray[np.float64] | None = None  # (item): human scores, if the metric is a correlation with them
    parts: tuple[str, ...] = ()  # the sub-corpus of each item
    digest: str = ""  # of the items: models are compared only on the same ones


@dataclass(frozen=True)
class QueryChoice:
    """The layer & pooling that half of the queries choose, and scores × 100 on the other half."""

    title: str
    score: float
    default_score: float  # of the model default
    difference: float
    low: float  # of the difference, 95 % CI
    high: float


@dataclass(frozen=True)
class QueryIntervals:
    """The 95 % CI of the model default on a retrieval set, and the choice if every layer & pooling was scored."""

    low: float
    high: float
    choice: QueryChoice | None = None


@dataclass(frozen=True, eq=False)
class Measured:
    """The scores × 100 of one model on one task, and costs in their units; NaN where there is none."""

    split: str  # "test"; "all" for folds over the whole set
    titles: tuple[str, ...]  # of every layer & pooling: "mean of layer 6", …, "model default"
    measures: tuple[str, ...]  # "spearman", "pearson", …; the first is the main one
    table: NDArray[np.float64]  # (layer & pooling, measure, seed)
    seeds: tuple[int, ...] = (0,)  # of what is drawn, such as a classifier's first weights
    setting: Mapping[str, Setting] = field(default_factory=dict)  # what else decides the scores
    items: Items | None = None
    seconds: float = 0.0
    intervals: QueryIntervals | None = None  # of a retrieval set

    def score(self, title: str = MODEL_DEFAULT, measure: str | None = None) -> float:
        """The mean over seeds of a measure, by default the main one; NaN for what was not measured."""
        if title not in self.titles:
            return float("nan")
        return float(self.table[self.titles.index(title), self.measures.index(measure or self.measures[0])].mean())


@dataclass(frozen=True, eq=False)
class SoFar(Progress):
    """Progress of long work with what is measured so far, so that it can be kept if the work is stopped."""

    measured: Measured = field(kw_only=True)


@dataclass(frozen=True)
class TaskCost:
    """What a task takes on this machine, in seconds and bytes."""

    texts: int  # distinct ones, each encoded once
    fits: int  # trainings of the probe
    encoding: float
    probing: float
    probing_at_most: float  # if no training of SentEval's classifier stops early
    disk: int  # bytes of the temporary file of vectors

    @property
    def seconds(self) -> float:
        """The expected time of everything."""
        return self.encoding + self.probing

    @property
    def at_most(self) -> float:
        """The time if no training of SentEval's classifier stops early."""
        return self.encoding + self.probing_at_most
