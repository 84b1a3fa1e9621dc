"""Which sentences lie nearest to a query? Found by FAISS, exactly: every vector is compared with every other."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.errors import BadChoice
from explorer.progress import Progress, Work

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

# asked of FAISS beyond what is wanted: it computes in float32, so that neighbours within 1e-7 may change places
_SPARE = 8
# queries at once; below 128,000 numbers FAISS 1.15 takes them one by one, which takes ten times as long
_ROWS = 1024


@dataclass(frozen=True, eq=False)
class Hits:
    """The sentences nearest to one query, nearest first."""

    places: Places  # in the corpus
    cosines: Floats

    def __len__(self) -> int:
        return len(self.places)


class Index:
    """The sentences of a corpus by their vectors (sentence, width) under one reading.

    Sentences with equal vectors are indexed once, since FAISS gives equal distances in no order that can be relied
    on; they stand in the order of the corpus here. What FAISS finds is measured again in float64, so that a cosine
    is the same whether one query is asked or all.
    """

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        if not np.isfinite(vectors).all():
            raise BadChoice(
                "Some sentences have vectors that are no numbers, so nothing is near to them. Read another."
            )
        unit = unit_vectors(vectors)
        groups: dict[bytes, list[int]] = {}
        for place, row in enumerate(unit):
            groups.setdefault(row.tobytes(), []).append(place)
        self._groups = list(groups.values())
        self._head_of = np.empty(len(unit), dtype=np.intp)
        for head, group in enumerate(self._groups):
            self._head_of[group] = head
        self._faiss, self._heads = _flat(unit[[group[0] for group in self._groups]])

    def __len__(self) -> int:
        return len(self._head_of)

    def nearest(self, query: NDArray[np.float32], k: int) -> Hits:
        """The k sentences nearest to a vector (width,), all there are where there are fewer."""
        return next(self._answers(unit_vectors(query[None]), k, [None]))

    def neighbours(self, place: int, k: int) -> Hits:
        """The k sentences nearest to one of the corpus, itself left out."""
        return next(self._answers(self._heads[self._head_of[[place]]], k, [place]))

    def neighbours_of_all(self, k: int) -> Iterator[list[Hits]]:
        """Those of every sentence of the corpus, in its order, some hundreds at a time."""
        for places in np.array_split(
            np.arange(len(self)), max(1, len(self) // _ROWS)
        ):  # alike: no short one at the end
            yield list(self._answers(self._heads[self._head_of[places]], k, places.tolist()))

    def ranks(self, places: Places, query: NDArray[np.float32] | int) -> list[int]:
        """The rank, from 1, that each of some sentences has among all for a query; a place leaves itself out."""
        own = query if isinstance(query, int) else None
        vector = self._heads[self._head_of[query]] if isinstance(query, int) else unit_vectors(query[None])[0]
        cosines = _cosines(self._heads, vector)
        order = np.lexsort((np.arange(len(cosines)), -cosines))
        rank = np.empty(len(self), dtype=np.intp)
        rank[[place for head in order for place in self._groups[head] if place != own]] = np.arange(
            1, len(self) + (own is None)
        )
        return [int(rank[place]) for place in places]

    def _answers(self, queries: NDArray[np.float32], k: int, own: list[int | None]) -> Iterator[Hits]:
        """Hits of unit vectors (query, width), each without the sentence it may itself be."""
        wanted = min(k + 1 + _SPARE, len(self._groups))
        _, candidates = self._faiss.search(np.ascontiguousarray(queries), wanted)
        for query, heads, without in zip(queries, candidates, own, strict=True):
            cosines = _cosines(self._heads[heads], query)
            order = np.lexsort((heads, -cosines))  # equal cosines in the order of the corpus
            named = ((place, cosines[at]) for at in order for place in self._groups[heads[at]] if place != without)
            found = list(islice(named, k))
            yield Hits(np.array([place for place, _ in found], np.intp), np.array([cosine for _, cosine in found]))


def unit_vectors(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Vectors (sentence, width) brought to length 1; one of length 0 stays as it is."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.ascontiguousarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)


def indexed(vectors: NDArray[np.float32]) -> Work[Index]:
    """The index of vectors, made in one step."""
    yield Progress("indexing", 0, 0)
    return Index(vectors)


def _cosines(rows: NDArray[np.float32], query: NDArray[np.float32]) -> Floats:
    """Of unit vectors (row, width) with another (width,)."""
    products: Floats = (rows.astype(np.float64) * query.astype(np.float64)).sum(1)
    return np.clip(products, -1.0, 1.0)


def _flat(unit: NDArray[np.float32]) -> tuple[Any, NDArray[np.float32]]:
    """An exact index by inner product, and the vectors as they lie in it: large corpora are not held twice."""
    import faiss

    if sys.platform == "darwin":
        faiss.omp_set_num_threads(1)  # its OpenMP beside torch's ends the process there (faiss-wheels issue 73)
    index = faiss.IndexFlatIP(unit.shape[1])
    index.add(unit)
    return index, faiss.rev_swig_ptr(index.get_xb(), unit.size).reshape(unit.shape)
