"""Rank documents for queries, and measure rankings: nDCG, MRR, recall and MAP, as BEIR and MTEB define them.

The documents nearest to many queries at once are searched with FAISS, in a flat or an inverted-file index, and timed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.data.retrieval_sets import Judged
from explorer.encoding.read.windows import Windows
from explorer.errors import BadChoice
from explorer.measuring.neighbours.vector_index import FLAT, IVF, IndexSetting, faiss_library
from explorer.measuring.scores import correlation
from explorer.progress import Phase, Progress, Work

Floats = NDArray[np.float64]
Vectors = NDArray[np.float32]
Places = NDArray[np.int64]

NDCG, MRR, MAP = "nDCG@10", "MRR@10", "MAP@100"
RECALLS = {f"Recall@{k}": k for k in (1, 10, 100)}
MEASURES = (NDCG, MRR, *RECALLS, MAP)  # the first is the main one
TOP = 10
DEPTH = 100  # documents of a ranking

INDEXES = (FLAT, IVF)  # those that are built for one search
AT_ONCE = 8192  # queries between two progress reports
_ORDERED = 1024  # queries whose results are ordered at once, to limit memory


def measures(places: Places, judgements: Sequence[Judged]) -> Floats:
    """Each measure of each query (measure, query), 0 to 1, from the documents found (query, rank), -1 for none."""
    of_each = grades(places, judgements)
    hits, relevant = of_each > 0, np.array([len(judged) for judged in judgements])
    recalls = [hits[:, :k].sum(axis=1) / relevant for k in RECALLS.values()]
    # nDCG: the grades of the first ten, discounted by the logarithm of the rank, as a share of the best order of all
    best = np.zeros((len(judgements), TOP))
    for query, judged in enumerate(judgements):
        first = sorted(judged.values(), reverse=True)[:TOP]
        best[query, : len(first)] = first
    gained, possible = (
        (some / np.log2(np.arange(2, some.shape[1] + 2))).sum(axis=1) for some in (of_each[:, :TOP], best)
    )
    # MAP: the mean precision at the ranks of the relevant documents; those that are not found count as 0
    found = hits[:, :DEPTH]
    precision = np.cumsum(found, axis=1) / np.arange(1, found.shape[1] + 1)
    average = (precision * found).sum(axis=1) / np.minimum(relevant, DEPTH)
    return np.stack([gained / possible, _reciprocal_rank(hits), *recalls, average])


def reciprocal_ranks(places: Places, judgements: Sequence[Judged]) -> Floats:
    """1 / rank of the first relevant document of every query among its first ten; 0 if there is none."""
    return _reciprocal_rank(grades(places, judgements) > 0)


def grades(places: Places, judgements: Sequence[Judged]) -> Floats:
    """The grade of every document found (query, rank), 0 for what is not relevant or not judged."""
    rows = zip(places.tolist(), judgements, strict=True)
    return np.array([[judged.get(place, 0) for place in found] for found, judged in rows], dtype=np.float64)


def _reciprocal_rank(hits: NDArray[np.bool_]) -> Floats:
    first = hits[:, :TOP]
    return np.where(first.any(axis=1), 1 / (first.argmax(axis=1) + 1), 0.0)


def of_queries(
    documents: NDArray[np.float32],
    queries: NDArray[np.float32],
    judgements: Sequence[Judged],
    measure: str = NDCG,
    windows: Windows | None = None,
) -> Work[Floats]:
    """The measure of each query from unit vectors (text, width), by an exact search; NaN if nothing can be ranked.

    The documents may be in windows, whose vectors are given in their place.
    """
    if not rankable(documents, queries):
        return np.full(len(queries), np.nan)
    found = yield from passage_search(documents, queries, TOP, IndexSetting(), windows)
    of_each: Floats = measures(found.places, judgements)[MEASURES.index(measure)]
    return of_each


@dataclass(frozen=True, eq=False)
class FoundDocuments:
    """The documents found for every query, nearest first, and what the search cost."""

    places: Places  # (query, result); -1 where the searched lists hold fewer documents
    seconds: float  # of the search alone
    index_bytes: int
    threads: int


def rankable(documents: Vectors, queries: Vectors) -> bool:
    """Whether documents can be ranked: all are finite, and not all have one vector, as under [CLS] of layer 0."""
    finite = np.isfinite(documents).all() and np.isfinite(queries).all()
    return bool(finite and np.ptp(documents, axis=0).max() > correlation.SAME_VECTOR)


def batch_search(documents: Vectors, queries: Vectors, k: int, setting: IndexSetting) -> Work[FoundDocuments]:
    """Search the k documents with the highest inner product for every query; all vectors have length 1.

    Documents at equal distances are in their own order, as far as FAISS returns them.
    """
    if setting.kind not in INDEXES:
        raise BadChoice(f"This search has no index '{setting.kind}'. Choose one of {', '.join(INDEXES)}.")
    faiss = faiss_library()
    yield Progress(Phase.INDEXING, 0, 0)
    index = _built(documents, setting)
    count, width = len(documents), int(documents.shape[1])
    # the vectors and, with inverted lists, their centroids and an id of each document
    index_bytes = 4 * count * width + (0 if setting.kind == FLAT else 8 * count + 4 * setting.nlist * width)
    k = min(k, len(documents))
    index.search(queries[:1], k)  # the first search starts FAISS's threads
    seconds = 0.0
    found = []
    for start in range(0, len(queries), AT_ONCE):
        yield Progress(Phase.SEARCHING, start, len(queries))
        some = queries[start : start + AT_ONCE]
        started = time.perf_counter()
        _, places = index.search(some, k)
        seconds += time.perf_counter() - started
        found.append(_in_order(documents, some, places))
    return FoundDocuments(np.concatenate(found), seconds, index_bytes, faiss.omp_get_max_threads())


def passage_search(
    vectors: Vectors, queries: Vectors, k: int, setting: IndexSetting, windows: Windows | None = None
) -> Work[FoundDocuments]:
    """Search the k passages whose best window has the highest inner product, from vectors of windows (window, width).

    Windows are searched until they are of k passages: the first window of a passage in the ranking is its best one.
    """
    if windows is None or not windows.cut:
        return (yield from batch_search(vectors, queries, k, setting))
    wanted = k = min(k, len(windows.starts))
    places = np.full((len(queries), k), -1)
    left = np.arange(len(queries))
    seconds, found = 0.0, None
    while len(left) and wanted < 2 * len(vectors):
        wanted *= 2
        found = yield from batch_search(vectors, queries[left], wanted, setting)
        seconds += found.seconds
        # the first k different passages of the windows in their order; -1 is no window
        passages = (windows.passages[some[some >= 0]].tolist() for some in found.places)
        done = [list(dict.fromkeys(some))[:k] for some in passages]
        for query, some in zip(left, done, strict=True):
            places[query, : len(some)] = some
        left = left[[len(some) < k for some in done]]
    assert found is not None, "there are queries"
    return FoundDocuments(places, seconds, found.index_bytes, found.threads)


def _built(documents: Vectors, setting: IndexSetting) -> Any:
    import faiss

    width = documents.shape[1]
    index: Any = faiss.IndexFlatIP(width)
    if setting.kind == FLAT:
        index.add(_centred(documents))
        return index
    index = faiss.IndexIVFFlat(index, width, setting.nlist, faiss.METRIC_INNER_PRODUCT)
    index.train(documents)
    index.nprobe = setting.nprobe
    index.add(documents)
    return index


def _centred(documents: Vectors) -> Vectors:
    """The documents, with length 1 in float64, minus their mean.

    This takes the same from all products of a query, so no ranking changes. But where all vectors are nearly equal, as
    those of [CLS] in low layers are, their products in float32 would be equal too.
    """
    mean = documents.mean(axis=0, dtype=np.float64)
    centred = np.empty_like(documents)
    for start in range(0, len(documents), AT_ONCE):
        exact = documents[start : start + AT_ONCE].astype(np.float64)
        lengths = np.linalg.norm(exact, axis=1, keepdims=True)
        centred[start : start + AT_ONCE] = exact / np.where(lengths > 0, lengths, 1) - mean
    return centred


def _in_order(documents: Vectors, queries: Vectors, places: Places) -> Places:
    """The results by distance in float64: FAISS's products in float32 can swap neighbours within 1e-7."""
    ordered = np.empty_like(places)
    for start in range(0, len(queries), _ORDERED):
        some = slice(start, start + _ORDERED)
        apart = documents[places[some]].astype(np.float64) - queries[some, None]
        distances = np.where(places[some] < 0, np.inf, np.vecdot(apart, apart))
        order = np.lexsort((places[some], distances))
        ordered[some] = np.take_along_axis(places[some], order, axis=1)
    return ordered
