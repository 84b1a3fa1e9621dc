"""Judge vectors by a retrieval set: how high the documents that are relevant to a query are ranked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.data.retrieval.retrieval_set import Judged, RetrievalSet
from explorer.measuring.neighbours.batch_search import batch_search, rankable
from explorer.measuring.neighbours.index_setting import IndexSetting
from explorer.measuring.neighbours.ranking_measures import DEPTH, MEASURES, NDCG, TOP, first_ranks, measures
from explorer.measuring.scores.bootstrap import Interval, mean_difference
from explorer.measuring.scores.correlation import unit
from explorer.measuring.scores.judge import COSINE, RANK, Judge
from explorer.progress import Work, finish

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float64]


def of_queries(
    documents: NDArray[np.float32], queries: NDArray[np.float32], judgements: Sequence[Judged], measure: str = NDCG
) -> Work[Floats]:
    """The measure of each query from unit vectors (text, width), by an exact search; NaN if nothing can be ranked."""
    if not rankable(documents, queries):
        return np.full(len(queries), np.nan)
    found = yield from batch_search(documents, queries, TOP, IndexSetting())
    of_each: Floats = measures(found.places, judgements)[MEASURES.index(measure)]
    return of_each


class RankingJudge(Judge):
    """A retrieval set: the mean over queries of a measure of their first ten documents, by an exact search.

    An item is the measure of a query, from 0 to 1.
    """

    items_named = "query", "queries"

    def __init__(
        self, task: RetrievalSet, measure: str = NDCG, query_prompt: str = "", document_prompt: str = ""
    ) -> None:
        documents = [document_prompt + text for text in task.documents]
        queries = [query_prompt + text for text in task.queries]
        self.name, self.digest, self.measure = task.name, task.digest, measure
        self.sentences = task.texts
        self.texts = tuple(dict.fromkeys((*documents, *queries)))
        place = {text: at for at, text in enumerate(self.texts)}
        self._documents, self._queries = (np.array([place[text] for text in some]) for some in (documents, queries))
        self._judgements = task.judgements
        self.prompted = bool(query_prompt or document_prompt)

    def __len__(self) -> int:
        return len(self._judgements)

    def items(self, vectors: Tensor) -> Floats:
        """The measure of each query; NaN if all documents have one vector, such as [CLS] of layer 0."""
        return finish(of_queries(*self._unit(vectors), self._judgements, self.measure))

    def by_measure(self, vectors: Tensor) -> dict[str, Floats]:
        """Every measure of each query, the rank of its first relevant document among the first hundred, and the cosine
        to the nearest relevant one."""
        names = (self.measure, *(name for name in MEASURES if name != self.measure))
        documents, queries = self._unit(vectors)
        if not rankable(documents, queries):
            return dict.fromkeys((*names, RANK, COSINE), np.full(len(self), np.nan))
        places = finish(batch_search(documents, queries, DEPTH, IndexSetting())).places
        found = dict(zip(MEASURES, measures(places, self._judgements), strict=True))
        nearest = [
            float((documents[list(judged)].astype(np.float64) @ query).max())
            for judged, query in zip(self._judgements, queries, strict=True)
        ]
        details = {RANK: first_ranks(places, self._judgements), COSINE: np.array(nearest)}
        return {name: found[name] for name in names} | details

    def score(self, items: Floats, precision: str = "float32") -> float:
        """The mean × 100; ranks do not depend on the precision in another way than vectors do."""
        return 100 * float(items.mean())

    def difference(self, one: Floats, other: Floats) -> Interval:
        """The interval is that of a paired bootstrap over queries."""
        return mean_difference(one, other)

    def alike(self, vectors: Tensor) -> Floats:
        """The cosines of each query and the documents relevant to it."""
        documents, queries = self._unit(vectors)
        related = ((query, place) for query, judged in enumerate(self._judgements) for place in judged)
        asked, answers = map(list, zip(*related, strict=True))
        cosines: Floats = (queries[asked] * documents[answers]).sum(axis=1, dtype=np.float64)
        return cosines

    def _unit(self, vectors: Tensor) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        every = unit(vectors.float().numpy())
        return every[self._documents], every[self._queries]
