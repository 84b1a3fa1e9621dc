"""Score predicted classes: accuracy, macro F1 with its interval, and Matthews' correlation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from explorer.measuring.scores.bootstrap import LEVEL, RESAMPLES, draw_counts, edges

Floats = NDArray[np.float64]

MEASURES = ("accuracy", "macro F1", "Matthews")  # of predicted classes


@dataclass(frozen=True)
class ClassScores:
    """The scores × 100 of predicted classes; higher is better."""

    rows: int
    accuracy: float  # the share of rows with the right class
    macro_f1: float  # the mean over classes of F1, each class counted the same
    matthews: float  # correlation of predicted and true classes: 100 is perfect, 0 as good as chance

    @property
    def words(self) -> str:
        """`accuracy 84.21, macro F1 81.02, Matthews 62.31 of 368 rows`."""
        return f"{', '.join(f'{name} {self.measure(name):.2f}' for name in MEASURES)} of {self.rows:,} rows"

    def measure(self, name: str) -> float:
        """The score with one of MEASURES as its name."""
        return (self.accuracy, self.macro_f1, self.matthews)[MEASURES.index(name)]


def class_scores(gold: Sequence[str], found: Sequence[str]) -> ClassScores:
    """The scores of predicted classes; Matthews' correlation is 0 if one side has a single class."""
    classes = sorted({*gold, *found})
    place = {name: at for at, name in enumerate(classes)}
    counts = np.zeros((len(classes), len(classes)))  # (true class, predicted class)
    np.add.at(counts, ([place[name] for name in gold], [place[name] for name in found]), 1)
    right, true, predicted, rows = counts.diagonal(), counts.sum(1), counts.sum(0), len(gold)
    f1 = 2 * right / (true + predicted)  # no class is without rows on both sides
    spread = math.sqrt((rows**2 - (predicted**2).sum()) * (rows**2 - (true**2).sum()))
    matthews = (right.sum() * rows - (true * predicted).sum()) / spread if spread else 0.0
    return ClassScores(rows, 100 * float(right.sum()) / rows, 100 * float(f1.mean()), 100 * float(matthews))


def macro_f1_ends(gold: NDArray[np.intp], predicted: NDArray[np.intp], seed: int = 0) -> tuple[float, float]:
    """The middle 95 % of the macro-F1 × 100 of resampled rows, averaged over predictions (prediction, row).

    As in scikit-learn, a class counts if a resample has it among its labels or its predictions.
    """
    classes = np.unique([*gold, *predicted.ravel()])

    def of_draws(times: NDArray[np.float32]) -> Floats:
        sums, present = np.zeros((2, len(predicted), times.shape[1]))
        for one in classes:
            there, named = gold == one, predicted == one
            hits, size = (there & named) @ times, there @ times + named @ times
            sums += np.divide(2 * hits, size, out=np.zeros_like(sums), where=size > 0)
            present += size > 0
        return np.asarray(100 * (sums / present).mean(axis=0))

    (score,) = of_draws(np.ones((len(gold), 1), dtype=np.float32))
    draws = draw_counts(len(gold), RESAMPLES, np.random.default_rng(seed))
    low, high = np.quantile(np.concatenate([of_draws(times) for times in draws]), edges(LEVEL))
    return min(float(low), float(score)), max(float(high), float(score))
