"""Search the nearest documents of many queries at once with FAISS, in a flat or an inverted-file index, and time it."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.errors import BadChoice
from explorer.measuring.neighbours.vector_index import FLAT, IVF, IndexSetting, faiss_library
from explorer.measuring.scores.correlation import SAME_VECTOR
from explorer.progress import Phase, Progress, Work

Floats = NDArray[np.float32]
Places = NDArray[np.int64]

INDEXES = (FLAT, IVF)  # those that are built for one search
AT_ONCE = 8192  # queries between two progress reports
_ORDERED = 1024  # queries whose results are ordered at once, to limit memory


@dataclass(frozen=True, eq=False)
class FoundDocuments:
    """The documents found for every query, nearest first, and what the search cost."""

    places: Places  # (query, result); -1 where the searched lists hold fewer documents
    seconds: float  # of the search alone
    index_bytes: int
    threads: int


def rankable(documents: Floats, queries: Floats) -> bool:
    """Whether documents can be ranked: all are finite, and not all have one vector, as under [CLS] of layer 0."""
    finite = np.isfinite(documents).all() and np.isfinite(queries).all()
    return bool(finite and np.ptp(documents, axis=0).max() > SAME_VECTOR)


def batch_search(documents: Floats, queries: Floats, k: int, setting: IndexSetting) -> Work[FoundDocuments]:
    """Search the k documents with the highest inner product for every query; all vectors have length 1.

    Documents at equal distances are in their own order, as far as FAISS returns them.
    """
    if setting.kind not in INDEXES:
        raise BadChoice(f"This search has no index '{setting.kind}'. Choose one of {', '.join(INDEXES)}.")
    faiss = faiss_library()
    yield Progress(Phase.INDEXING, 0, 0)
    index = _built(documents, setting)
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
    return FoundDocuments(np.concatenate(found), seconds, _bytes(documents, setting), faiss.omp_get_max_threads())


def _built(documents: Floats, setting: IndexSetting) -> Any:
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


def _centred(documents: Floats) -> Floats:
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


def _bytes(documents: Floats, setting: IndexSetting) -> int:
    """The bytes of the vectors and, with inverted lists, of their centroids and of an id per document."""
    count, width = len(documents), int(documents.shape[1])
    return 4 * count * width + (0 if setting.kind == FLAT else 8 * count + 4 * setting.nlist * width)


def _in_order(documents: Floats, queries: Floats, places: Places) -> Places:
    """The results by distance in float64: FAISS's products in float32 can swap neighbours within 1e-7."""
    ordered = np.empty_like(places)
    for start in range(0, len(queries), _ORDERED):
        some = slice(start, start + _ORDERED)
        apart = documents[places[some]].astype(np.float64) - queries[some, None]
        distances = np.where(places[some] < 0, np.inf, np.vecdot(apart, apart))
        order = np.lexsort((places[some], distances))
        ordered[some] = np.take_along_axis(places[some], order, axis=1)
    return ordered
