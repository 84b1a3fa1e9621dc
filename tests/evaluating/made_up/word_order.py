"""A made-up kind of task: find each sentence among all sentences by its words in reversed order."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from explorer.data import sample
from explorer.data.text_sets import Sentences
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.evaluating.encoded import Vectors, encoded
from explorer.evaluating.results.scored_task import Items, Measured, Options
from explorer.evaluating.tasks import Subject, Suite, Task
from explorer.progress import Progress, Work


class WordOrder(Task[Sentences]):
    """Sentences, each found by its words in reversed order."""

    kind = "word order"
    suites = (Suite("word-order", ("Reversed words",), about="made up"),)
    decided_by = ("index",)

    @classmethod
    def load(cls, name: str, options: Options) -> WordOrder:
        """Take some sentences of the sample."""
        return cls(name, Sentences(name, sample.triplets().anchors[:30]))

    @classmethod
    def own(cls, source: str) -> WordOrder | None:
        """Read a text with a sentence in each line."""
        path = Path(source)
        lines = path.read_text("utf-8").splitlines() if path.suffix == ".txt" else ()
        return cls(source, Sentences(path.name, tuple(lines))) if lines else None

    @property
    def texts(self) -> Sequence[str]:
        """The sentences, then their words in reversed order."""
        return *self.data.texts, *(" ".join(text.split()[::-1]) for text in self.data.texts)

    def score(self, subject: Subject, options: Options) -> Work[Measured]:
        """The share of sentences that have the highest dot product with their own words."""
        started = time.perf_counter()
        yield Progress(f"loading {subject.found.name}", 0, 0)
        titles = self.titles(subject, options)
        found = yield from encoded(subject.encoder, self.texts, self.length(subject), titles)
        right = {title: self._found(found.of(title)) for title in found.titles}
        table = 100 * np.array([[[items.mean()]] for items in right.values()])
        items = Items(right[MODEL_DEFAULT], digest=self.data.digest)
        took = time.perf_counter() - started
        return Measured("all", found.titles, ("found",), table, items=items, seconds=took)

    def _found(self, vectors: Vectors) -> NDArray[np.float64]:
        first, second = vectors[: len(self.data)], vectors[len(self.data) :]
        return ((second @ first.T).argmax(axis=1) == np.arange(len(first))).astype(np.float64)
