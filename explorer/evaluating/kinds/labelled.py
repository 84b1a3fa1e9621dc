"""The kind of labelled texts: rows with a class, scored by a classifier on their vectors."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.data.labelled import labelled_sets
from explorer.encoding.read.prompts import RolePrompts
from explorer.evaluating.kinds import JudgedSet
from explorer.evaluating.probes import ProbeData, logistic, order_of, probe_data
from explorer.measuring.scores.judge import Floats, Judge
from explorer.progress import finish

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.encoding.read.encoder import Encoder

SEED = 1  # of the folds of labelled texts


class LabelJudge(JudgedSet[labelled_sets.LabelledSet]):
    """A labelled set: the accuracy of logistic regression. An item is 1 for a row with the right class, else 0.

    With a `strength` (C), one classifier is fitted; without, C is chosen for the vectors at hand, which takes up to
    forty times as long.
    """

    data = labelled_sets.LabelledSet
    in_words = "texts with labels"
    has_protocol = True
    place = 1
    for_runs = False

    def __init__(self, given: labelled_sets.LabelledSet, strength: float | None = None) -> None:
        super().__init__(given)
        self.strength = strength

    @classmethod
    def read(cls, source: str, online: bool) -> labelled_sets.LabelledSet | None:
        """Load a published task, or a file or folder with labels."""
        return labelled_sets.load(source)[0] if labelled_sets.is_labelled(source) else None

    def with_prompts(self, encoder: Encoder, prompts: RolePrompts) -> Judge:
        """The set itself, if a classifier can be trained and scored on it."""
        labelled_sets.check_scored(self.given)
        return self

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The distinct texts of all splits."""
        return tuple(dict.fromkeys(self.given.texts))

    @property
    def is_settled(self) -> bool:
        """Whether the regularisation strength C is fixed."""
        return self.strength is not None

    def settled(self, vectors: Tensor) -> LabelJudge:
        """The same judge with the C that is best for these vectors, so that others are judged faster and alike."""
        return LabelJudge(self.given, logistic.strength(self._data(vectors), SEED))

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

    @cached_property
    def places(self) -> list[NDArray[np.intp]]:
        """Where the texts of all splits are among the distinct ones, and the order of the rows of each split."""
        place = {text: at for at, text in enumerate(self.texts)}
        return [np.array([place[text] for text in self.given.texts]), *map(order_of, self.given.splits.values())]

    def _data(self, vectors: Tensor) -> ProbeData:
        texts, *orders = self.places
        return probe_data(self.given, vectors.float().numpy()[texts], dict(zip(self.given.splits, orders, strict=True)))
