"""Judge vectors of labelled texts by a classifier on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.data.labelled import labelled_sets
from explorer.evaluating.probes import ProbeData, logistic
from explorer.evaluating.tasks import transfer
from explorer.measuring.scores.judge import Judge
from explorer.measuring.scores.metrics import ACCURACY
from explorer.progress import finish

if TYPE_CHECKING:
    from torch import Tensor


Floats = NDArray[np.float64]

SEED = 1  # of the folds of labelled texts


class LabelJudge(Judge):
    """A labelled set: the accuracy of logistic regression. An item is 1 for a row with the right class, else 0.

    With a `strength` (C), one classifier is fitted; without, C is chosen for the vectors at hand, which takes up to
    forty times as long.
    """

    measure = ACCURACY

    def __init__(self, task: labelled_sets.LabelledSet, strength: float | None = None) -> None:
        self.task, self.strength = labelled_sets.check_scored(task), strength
        self.name, self.digest, self.item = task.name, task.digest, task.item
        rows = task.texts
        self.texts = self.sentences = tuple(dict.fromkeys(rows))
        place = {text: at for at, text in enumerate(self.texts)}
        self._places = np.array([place[text] for text in rows], dtype=np.intp)
        self._order = {split: transfer.order_of(rows) for split, rows in task.splits.items()}

    def __len__(self) -> int:
        return len(self.task.scored)

    @property
    def is_settled(self) -> bool:
        """Whether the regularisation strength C is fixed."""
        return self.strength is not None

    def settled(self, vectors: Tensor) -> LabelJudge:
        """The same judge with the C that is best for these vectors, so that others are judged faster and alike."""
        return LabelJudge(self.task, logistic.strength(self._data(vectors), SEED))

    def items(self, vectors: Tensor) -> Floats:
        """Whether each row gets its class; NaN if a vector has a value that is not a number."""
        data = self._data(vectors)
        if not data.is_finite:
            return np.full(len(self), np.nan)
        if self.strength is None:
            found = finish(logistic.predictions(data, SEED))
        else:
            found = logistic.predictions_with(data, SEED, self.strength)
        right: Floats = (found == data.scored.y).astype(np.float64)
        return right

    def alike(self, vectors: Tensor) -> Floats:
        """Nothing: rows of one class need not be similar."""
        return np.empty(0)

    def _data(self, vectors: Tensor) -> ProbeData:
        return transfer.probe_data(self.task, vectors.float().numpy()[self._places], self._order)
