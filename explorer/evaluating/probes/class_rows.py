"""Judge a model by the classes of labelled rows: those it predicts itself, or a layer on its vectors does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from explorer.data.text_sets import Corpus, digest_of
from explorer.evaluating.probes import pair_features
from explorer.measuring.scores.judge import Floats, Judge
from explorer.measuring.scores.metrics import ACCURACY

if TYPE_CHECKING:
    from torch import Tensor


class RowsJudge(Judge):
    """Labelled rows: the share with the right class. An item is 1 for a row with the right class, else 0.

    Vectors are judged by a logistic layer, which for each fold is fitted to the rows of the others; without folds, only
    classes that are predicted can be judged.
    """

    measure = ACCURACY

    def __init__(self, rows: Corpus, classes: tuple[str, ...], folds: Sequence[Sequence[int]] = ()) -> None:
        super().__init__(rows)
        self.rows, self.folds = rows, folds
        self.digest = digest_of((rows.digest, *map(repr, folds)))
        self._numbers = {word: number for number, word in enumerate(classes)}

    def items(self, vectors: Tensor) -> Floats:
        """Whether each row gets its class from a layer that was not fitted to it; NaN without folds."""
        found = np.full(len(self), np.nan)
        place = {text: at for at, text in enumerate(self.texts)}
        sides = [vectors[[place[text] for text in column]] for column in self.rows.texts]
        x = features(sides)
        from explorer.methods import ClassLayer

        for fold in self.folds:
            held = list(fold)
            others = sorted({*range(len(self))}.difference(held))
            words = ClassLayer.fitted(x[others], [self.rows.labels[row] for row in others]).predicted(x[held])
            found[held] = [word == self.rows.labels[row] for word, row in zip(words, held, strict=True)]
        return found

    def numbers(self, words: Sequence[str]) -> Floats:
        """Predicted classes as numbers."""
        return np.array([self._numbers[word] for word in words], dtype=np.float64)

    def words(self, numbers: Floats) -> tuple[str, ...]:
        """The classes with these numbers."""
        every = list(self._numbers)
        return tuple(every[int(number)] for number in numbers)


def features(sides: Sequence[Tensor]) -> Tensor:
    """The features of rows from the vectors of their one or two sentences, those of two as in SentEval."""
    import torch

    return sides[0] if len(sides) == 1 else torch.from_numpy(pair_features(*(side.numpy() for side in sides)))
