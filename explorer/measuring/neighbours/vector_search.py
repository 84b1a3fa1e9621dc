"""Search vectors on disk: all of them, or the candidates of an index, whose cosines are computed again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.data.vectors.vector_corpus import VectorCorpus
from explorer.data.vectors.vector_files import AT_ONCE
from explorer.errors import BadChoice
from explorer.measuring.neighbours.index_setting import FLAT, HNSW, IVF, IndexSetting, faiss_library
from explorer.measuring.neighbours.vector_index import Hits
from explorer.measuring.scores.correlation import unit
from explorer.progress import Progress, Work, finish

Floats = NDArray[np.float32]
Places = NDArray[np.int64]

SPARE = 8  # further candidates: products in float32 can swap neighbours within 1e-7
CANDIDATES, LEAST = 4, 40  # for each result, and at least: the index holds vectors in 8 bits per number


@dataclass(frozen=True)
class IndexFacts:
    """An index as it was built and measured."""

    setting: IndexSetting
    seconds: float = 0.0  # to build it
    bytes: int = 0  # of its file; 0 if all vectors are searched
    recall: float | None = None  # share of the 10 nearest that it finds, as measured; None if all are searched
    queries: int = 0  # vectors of the corpus on which the recall was measured

    @property
    def exact(self) -> bool:
        """Whether all vectors are searched."""
        return self.setting.kind == FLAT


@dataclass(frozen=True, eq=False)
class VectorSearch:
    """A corpus on disk with an index; `faiss` is None if all vectors are searched."""

    corpus: VectorCorpus
    facts: IndexFacts
    faiss: Any = None

    def found(self, query: Floats | int, k: int) -> Hits:
        """The k sentences nearest to a vector, or to a row of the corpus."""
        return self.neighbours(query, k) if isinstance(query, int) else self.nearest(query, k)

    def nearest(self, query: Floats, k: int) -> Hits:
        """The k sentences nearest to a vector (width,)."""
        if len(query) != self.corpus.width:
            raise BadChoice(
                f"The query has {len(query):,} dimensions and the vectors of {self.corpus.name} "
                f"{self.corpus.width:,}. Choose the encoder and the layer & pooling that made them."
            )
        return self._hits(unit(query[None]), k, None)

    def neighbours(self, place: int, k: int) -> Hits:
        """The k sentences nearest to one of the corpus, itself excluded."""
        query = self.corpus.rows(np.array([place]))
        if not query.any():
            raise BadChoice(
                f"The query is row {place:,} of {self.corpus.name}, whose vector is zero: it has no cosine. Ask for "
                "another sentence."
            )
        return self._hits(query, k, np.array([place]))

    def _hits(self, queries: Floats, k: int, without: Places | None) -> Hits:
        if self.faiss is None:
            places, cosines = finish(all_searched(self.corpus, queries, k, without))
        else:
            places, cosines = candidates_ranked(self.corpus, self.faiss, queries, k, without)
        there = places[0] >= 0
        return Hits(places[0][there], cosines[0][there])


def all_searched(
    corpus: VectorCorpus, queries: Floats, k: int, without: Places | None = None, stage: str = "searching"
) -> Work[tuple[Places, Floats]]:
    """Positions and cosines (query, result) of the nearest of all rows; `without` is left out of each query's."""
    kept = min(corpus.searched, k + SPARE + (without is not None))
    places = np.zeros((0, len(queries)), dtype=np.int64)
    products = np.zeros((0, len(queries)), dtype=np.float32)
    for start in range(0, len(corpus), AT_ONCE):
        yield Progress(stage, start, len(corpus))
        some = slice(start, min(start + AT_ONCE, len(corpus)))
        found = corpus.rows(some) @ queries.T
        found[corpus.zero_between(some.start, some.stop) - start] = -np.inf
        if len(found) > kept:
            best = np.argpartition(found, len(found) - kept, axis=0)[-kept:]
            found = np.take_along_axis(found, best, axis=0)
        else:
            best = np.repeat(np.arange(len(found))[:, None], len(queries), axis=1)
        places, products = np.concatenate([places, best + start]), np.concatenate([products, found])
        if len(places) > kept:
            best = np.argpartition(products, len(products) - kept, axis=0)[-kept:]
            places = np.take_along_axis(places, best, axis=0)
            products = np.take_along_axis(products, best, axis=0)
    return _ranked(corpus, queries, np.ascontiguousarray(places.T), k, without)


def candidates_ranked(
    corpus: VectorCorpus, index: Any, queries: Floats, k: int, without: Places | None = None
) -> tuple[Places, Floats]:
    """The same of the candidates that an index finds; where they are fewer, positions are -1."""
    wanted = min(corpus.searched, max(CANDIDATES * k, LEAST) + (without is not None))
    _, places = index.search(np.ascontiguousarray(queries), wanted)
    return _ranked(corpus, queries, corpus.rows_searched(places), k, without)


def set_effort(index: Any, setting: IndexSetting) -> None:
    """Set how much of an index a query searches."""
    if setting.kind == IVF:
        index.nprobe = setting.nprobe
    elif setting.kind == HNSW:
        faiss_library().downcast_index(index).hnsw.efSearch = setting.ef


def _ranked(
    corpus: VectorCorpus, queries: Floats, places: Places, k: int, without: Places | None
) -> tuple[Places, Floats]:
    """The k nearest of the candidates (query, candidate), by cosines of pairs; equal ones in the order of the rows."""
    if without is not None:
        places = np.where(places == without[:, None], -1, places)
    cosines = np.empty(places.shape, dtype=np.float32)
    for at, (of_query, query) in enumerate(zip(places, queries, strict=True)):
        of_each = np.clip(np.vecdot(corpus.rows(np.maximum(of_query, 0)), query), -1, 1)
        cosines[at] = np.where(of_query < 0, -np.inf, of_each)
    order = np.lexsort((places, -cosines))[:, : min(k, corpus.searched - (without is not None))]
    return np.take_along_axis(places, order, axis=1), np.take_along_axis(cosines, order, axis=1)
