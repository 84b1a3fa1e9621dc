"""Compare two models query by query: which judged queries improved or got worse, by their length and shared words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from explorer.data.retrieval.retrieval_set import RetrievalSet
from explorer.measuring.comparing.pair_traits import words_of
from explorer.measuring.scores.bootstrap import Interval, mean_difference
from explorer.measuring.table_cells import Rows, rounded

Floats = NDArray[np.float64]

SAME = 1e-9  # scores that differ by less are equal
LENGTHS = ((1, 4), (5, 8), (9, 1_000_000))  # words of a query
SHARES = (("none of its words", 0.0, 0.0), ("up to half", 0.0, 0.5), ("more than half", 0.5, 1.0))


@dataclass(frozen=True, eq=False)
class QueryChanges:
    """The score of each query, from 0 to 1, under A and under B."""

    task: RetrievalSet
    one: Floats
    other: Floats

    @cached_property
    def gaps(self) -> Floats:
        """B - A of each query."""
        return self.other - self.one

    @cached_property
    def difference(self) -> Interval:
        """B - A × 100, the mean over queries with its interval."""
        return mean_difference(self.one, self.other)

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many queries improved, got worse, and stayed the same."""
        better, worse = int((self.gaps > SAME).sum()), int((self.gaps < -SAME).sum())
        return better, worse, len(self.gaps) - better - worse

    def changed(self, *, improved: bool) -> list[int]:
        """The queries that improved or got worse, the most changed first."""
        sign = 1 if improved else -1
        order = np.argsort(-sign * self.gaps, kind="stable")
        return [int(query) for query in order if sign * self.gaps[query] > SAME]

    @cached_property
    def words(self) -> NDArray[np.int_]:
        """The number of words of each query."""
        return np.array([len(words_of(query)) for query in self.task.queries])

    @cached_property
    def shared(self) -> Floats:
        """The share of each query's words that are in a document relevant to it; of several the most."""
        found = []
        for query, judged in zip(self.task.queries, self.task.judgements, strict=True):
            own = set(words_of(query))
            shares = [len(own & set(words_of(self.task.documents[place]))) / max(1, len(own)) for place in judged]
            found.append(max(shares))
        return np.array(found)

    def rows(self) -> Rows:
        """A row for each query, in the order of the set."""
        return [
            {
                "query": query,
                "words": int(self.words[number]),
                "words in a relevant document": rounded(self.shared[number]),
                "A": rounded(100 * self.one[number], 2),
                "B": rounded(100 * self.other[number], 2),
                "B - A": rounded(100 * self.gaps[number], 2),
            }
            for number, query in enumerate(self.task.queries)
        ]

    def groups(self) -> Rows:
        """A row for each group of queries, by length and by shared words: both means and the difference."""
        return [
            {
                "queries": name,
                "number": int(inside.sum()),
                "A": rounded(100 * self.one[inside].mean(), 2),
                "B": rounded(100 * self.other[inside].mean(), 2),
                "B - A": rounded(float(gap.difference), 2),
                "95 % CI": f"{float(gap.low):+.2f} to {float(gap.high):+.2f}",
            }
            for name, inside in self._groups()
            if inside.any()
            for gap in [mean_difference(self.one[inside], self.other[inside])]
        ]

    def _groups(self) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        for low, high in LENGTHS:
            told = f"{low} words or more" if high > 1000 else f"{low} to {high} words"
            yield told, (self.words >= low) & (self.words <= high)
        for name, over, most in SHARES:
            least = self.shared >= 0 if over == most else self.shared > over
            yield f"{name} in a relevant document", least & (self.shared <= most)
