"""Judge vectors by a labelled set: the share of rows whose class logistic regression predicts from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.data.labelled.labelled_set import LabelledSet, check
from explorer.evaluating.probes import logistic
from explorer.evaluating.tasks.transfer import order_of, probe_data
from explorer.measuring.scores.bootstrap import Interval, mean_difference
from explorer.measuring.scores.judge import Judge
from explorer.measuring.scores.metrics import ACCURACY
from explorer.progress import finish

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.evaluating.probes.probe_data import ProbeData

Floats = NDArray[np.float64]

SEED = 1  # of the folds


class LabelJudge(Judge):
    """A labelled set: the accuracy of logistic regression. An item is 1 for a row with the right class, else 0.

    With a `strength` (C), one classifier is fitted; without, C is chosen for the vectors at hand, which takes up to
    forty times as long.
    """

    measure = ACCURACY
    items_named = "row", "rows"

    def __init__(self, task: LabelledSet, strength: float | None = None) -> None:
        self.task, self.strength = check(task), strength
        self.name, self.digest = task.name, task.digest
        rows = task.texts
        self.texts = self.sentences = tuple(dict.fromkeys(rows))
        place = {text: at for at, text in enumerate(self.texts)}
        self._places = np.array([place[text] for text in rows], dtype=np.intp)
        self._order = {split: order_of(rows) for split, rows in task.splits.items()}

    def __len__(self) -> int:
        return len(self.task.scored)

    @property
    def is_settled(self) -> bool:
        """Whether C is known."""
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

    def score(self, items: Floats, precision: str = "float32") -> float:
        """The accuracy × 100."""
        return 100 * float(items.mean())

    def difference(self, one: Floats, other: Floats) -> Interval:
        """The interval is that of a paired bootstrap over rows."""
        return mean_difference(one, other)

    def alike(self, vectors: Tensor) -> Floats:
        """Nothing: rows of one class need not be similar."""
        return np.empty(0)

    def _data(self, vectors: Tensor) -> ProbeData:
        return probe_data(self.task, vectors.float().numpy()[self._places], self._order)
