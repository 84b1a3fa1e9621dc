"""Nearest neighbours of sentence vectors with FAISS: settings of an index, an exact one, and what A and B share."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from explorer.encoding.read.pooling import Reading
from explorer.encoding.read.windows import Windows, windows
from explorer.errors import BadChoice
from explorer.measuring.scores.correlation import unit
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

Floats = NDArray[np.float32]
Places = NDArray[np.intp]

FLAT, IVF, HNSW = "flat", "ivf", "hnsw"  # exact, inverted lists, a graph
KINDS = (FLAT, IVF, HNSW)
PER_LIST = 39  # training vectors that FAISS wants for each list; with fewer it warns
MOST_EXACT = 200_000  # vectors up to which a search of all is quick enough to need no other index
MOST = 150  # most neighbours of a map: as many as t-SNE needs at its largest perplexity

# extra results requested of FAISS, whose order of summation can swap neighbours within 1e-7
_SPARE = 8
# queries at once, fewer for very many neighbours; below 128,000 values FAISS 1.15 processes them one by one, which is
# ten times as slow
_ROWS, _LEAST_ROWS, _ANSWERS = 1024, 64, 2**21
_PRODUCTS = 2**20  # values per block of the second computation, to fit into a processor's cache
COMPARED = 10  # neighbours that a map compares


@dataclass(frozen=True)
class IndexSetting:
    """The index to build, and how much of it a query searches."""

    kind: str = FLAT
    nlist: int = 1024  # inverted lists
    nprobe: int = 5  # lists that a query searches
    links: int = 16  # of each vector in the graph, FAISS's M
    ef: int = 64  # candidates that a query keeps in the graph, FAISS's efSearch

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BadChoice(f"There is no index '{self.kind}'. Choose one of {', '.join(KINDS)}.")
        if min(self.nlist, self.nprobe) < 1:
            raise BadChoice(f"nlist is {self.nlist} and nprobe {self.nprobe}; both have to be 1 or more.")
        if self.links < 2 or self.ef < 1:
            raise BadChoice(f"links is {self.links}, which has to be 2 or more, and ef {self.ef}, at least 1.")

    def adapted(self, documents: int) -> IndexSetting:
        """This setting with as many lists as so many documents can train."""
        if self.kind != IVF:
            return self
        nlist = max(1, min(self.nlist, documents // PER_LIST))
        return replace(self, nlist=nlist, nprobe=min(self.nprobe, nlist))


def suited(vectors: int, kind: str | None = None) -> IndexSetting:
    """A setting for so many vectors: exact if they are few, else inverted lists, which take the least time to build.

    The square root of their number of lists is the usual choice: about as many centroids are searched as vectors of a
    list.
    """
    chosen = kind or (FLAT if vectors <= MOST_EXACT else IVF)
    return IndexSetting(chosen, nlist=max(1, isqrt(vectors))).adapted(vectors)


def faiss_library() -> Any:
    """FAISS, ready to use."""
    import faiss

    if sys.platform == "darwin":
        faiss.omp_set_num_threads(1)  # its OpenMP together with torch's kills the process there (faiss-wheels issue 73)
    return faiss


@dataclass(frozen=True, eq=False)
class Hits:
    """The sentences nearest to one query, nearest first."""

    places: Places  # in the corpus
    cosines: Floats
    windows: tuple[str, ...] = ()  # of a corpus in windows the text of the best one of each; "" if it is the whole text

    def __len__(self) -> int:
        return len(self.places)


class Index:
    """The sentences of a corpus by their vectors (sentence, width) under one layer & pooling.

    Sentences with equal vectors are indexed once, since FAISS returns ties in no fixed order; here they are in the
    order of the corpus. Cosines are computed again pair by pair, so that they are the same for one query and for many.
    """

    in_windows = 0  # texts that were read in several windows

    def __init__(self, vectors: Floats) -> None:
        if not np.isfinite(vectors).all():
            raise BadChoice("Some sentences have vectors with NaN or infinite values. Choose another layer & pooling.")
        known = unit(vectors)
        heads: dict[bytes, int] = {}
        self._head_of = np.array([heads.setdefault(row.tobytes(), len(heads)) for row in known], dtype=np.intp)
        self._members = np.argsort(self._head_of, kind="stable")  # grouped by head
        self._sizes = np.bincount(self._head_of)
        self._starts = self._sizes.cumsum() - self._sizes
        known = known if len(heads) == len(known) else known[self._members[self._starts]]
        faiss = faiss_library()
        self._faiss: Any = faiss.IndexFlatIP(known.shape[1])  # exact, by inner product
        self._faiss.add(known)
        # a view of the index, so that vectors are in memory once
        self._heads: Floats = faiss.rev_swig_ptr(self._faiss.get_xb(), known.size).reshape(known.shape)

    def __len__(self) -> int:
        return len(self._head_of)

    def found(self, query: Floats | int, k: int) -> Hits:
        """The k sentences nearest to a vector (width,), or to one of the corpus, itself excluded; all if fewer."""
        if isinstance(query, int):
            places, cosines = self._others(np.array([query]), k)
        else:
            places, cosines = self._answers(unit(query[None]), min(k, len(self)))
        return Hits(places[0], cosines[0])

    def neighbours_of_all(self, k: int) -> Iterator[tuple[Places, Floats]]:
        """Positions and cosines (sentence, neighbour) of every sentence, in order, some hundreds at a time."""
        rows = min(_ROWS, max(_LEAST_ROWS, _ANSWERS // (k + 1)))
        # blocks of equal size
        for places in np.array_split(np.arange(len(self)), max(1, len(self) // rows)):
            yield self._others(places, k)

    def ranks(self, places: Places, query: Floats | int) -> list[int]:
        """The rank, from 1, of each of some sentences for a query; a query by position excludes itself."""
        own = query if isinstance(query, int) else None
        vector = self._heads[self._head_of[query]] if isinstance(query, int) else unit(query[None])[0]
        cosines = _cosines(self._heads, vector)[self._head_of]
        order = np.lexsort((self._head_of, -cosines))  # stable: equal vectors in the order of the corpus
        rank = np.empty(len(self), dtype=np.intp)
        rank[order[order != own] if own is not None else order] = np.arange(1, len(self) + (own is None))
        return [int(rank[place]) for place in places]

    def _others(self, places: Places, k: int) -> tuple[Places, Floats]:
        """The neighbours of some sentences of the corpus (sentence, neighbour), each itself excluded."""
        found, cosines = self._answers(self._heads[self._head_of[places]], min(k + 1, len(self)))
        others = found != places[:, None]
        # a sentence can be missing from its own results if enough equal ones come first
        others[others.all(1), -1] = False
        shape = (len(places), found.shape[1] - 1)
        return found[others].reshape(shape), cosines[others].reshape(shape)

    def _answers(self, queries: Floats, k: int) -> tuple[Places, Floats]:
        """The k nearest (query, sentence) of unit vectors (query, width)."""
        _, heads = self._faiss.search(np.ascontiguousarray(queries), min(k + _SPARE, len(self._heads)))
        cosines = np.empty(heads.shape, dtype=np.float32)
        rows = max(1, _PRODUCTS // (heads.shape[1] * self._heads.shape[1]))
        for start in range(0, len(queries), rows):
            some = slice(start, start + rows)
            cosines[some] = _cosines(self._heads[heads[some]], queries[some, None])
        order = np.lexsort((heads, -cosines))  # equal cosines in the order of the corpus
        heads, cosines = (np.take_along_axis(one, order, axis=1) for one in (heads, cosines))
        # repeat every head by its number of members, at most k, and take the first k
        times = np.minimum(self._sizes[heads], k)
        firsts = (times.cumsum() - times.ravel()).reshape(times.shape)
        taken = firsts[:, :1] + np.arange(k)
        which = np.repeat(np.arange(heads.size), times.ravel())[taken]
        member = taken - firsts.ravel()[which]
        return self._members[self._starts[heads.ravel()[which]] + member], cosines.ravel()[which]


class WindowIndex(Index):
    """Passages by the vectors of their windows (window, width): the cosine of a passage is that of its best window.

    A passage of the corpus as a query is read like any other query, so by its first window.
    """

    def __init__(self, vectors: Floats, windows: Windows) -> None:
        super().__init__(vectors)
        self._windows, self.in_windows = windows, windows.cut

    def __len__(self) -> int:
        return len(self._windows.starts)

    def found(self, query: Floats | int, k: int) -> Hits:
        """The k passages nearest to a vector (width,), or to one of the corpus, itself excluded; all if fewer."""
        cosines, order = self._ranking(query)
        places, best = order[:k], self._of_windows(query)
        texts = []
        for place in places.tolist():
            of = self._windows.of(place)
            texts.append(self._windows.texts[of[best[of].argmax()]] if len(of) > 1 else "")
        return Hits(places, cosines[places], tuple(texts))

    def ranks(self, places: Places, query: Floats | int) -> list[int]:
        """The rank, from 1, of each of some passages for a query; a query by position excludes itself."""
        _, order = self._ranking(query)
        rank = np.empty(len(self), dtype=np.intp)
        rank[order] = np.arange(1, len(order) + 1)
        return [int(rank[place]) for place in places]

    def neighbours_of_all(self, k: int) -> Iterator[tuple[Places, Floats]]:
        """Refused: it would take each passage as a query, which is read by its first window alone."""
        raise BadChoice("Passages in windows are not compared with each other. Leave the windows out.")

    def passages(self, places: Sequence[int]) -> tuple[Floats, Windows]:
        """The unit vectors (window, width) of some passages of the corpus, and their windows."""
        of = [self._windows.of(place) for place in places]
        rows = np.concatenate(of)
        texts = tuple(self._windows.texts[row] for row in rows)
        return self._heads[self._head_of[rows]], Windows(texts, np.repeat(np.arange(len(of)), list(map(len, of))))

    def _of_windows(self, query: Floats | int) -> Floats:
        """The cosine of each window."""
        if isinstance(query, int):
            vector = self._heads[self._head_of[self._windows.starts[query]]]
        else:
            vector = unit(query[None])[0]
        return _cosines(self._heads, vector)[self._head_of]

    def _ranking(self, query: Floats | int) -> tuple[Floats, Places]:
        """The cosine of each passage, and all passages by it, the nearest first."""
        cosines: Floats = np.maximum.reduceat(self._of_windows(query), self._windows.starts)
        order = np.argsort(-cosines, kind="stable")
        return cosines, order[order != query] if isinstance(query, int) else order


def indexed(vectors: NDArray[np.float32]) -> Work[Index]:
    """Build the index of vectors in one step."""
    yield Progress("indexing", 0, 0)
    return Index(vectors)


def indexed_in_windows(
    encoder: Encoder, texts: Sequence[str], reading: Reading, max_length: int | None = None
) -> Work[WindowIndex]:
    """Cut texts into windows, each read after the prompt that the model puts before any sentence, and index these."""
    cut = yield from windows(encoder, texts, max_length, encoder.default_head.prompt)
    vectors = yield from of_reading(encoder, cut.texts, reading, max_length)
    yield Progress("indexing", 0, 0)
    return WindowIndex(vectors, cut)


def _cosines(one: Floats, other: Floats) -> Floats:
    """Dot products of unit vectors (…, width), each computed alone, so that the batch size does not change them."""
    return np.asarray(np.clip(np.vecdot(one, other), -1, 1), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """The nearest neighbours of every sentence by cosine, nearest first, without itself."""

    places: NDArray[np.int32]  # (sentence, neighbour)
    distances: NDArray[np.float32]  # (sentence, neighbour): 1 - cosine

    def __len__(self) -> int:
        return len(self.places)


def neighbourhoods(
    vectors: NDArray[np.float32], stage: str = "finding neighbours", most: int = MOST
) -> Work[Neighbourhoods]:
    """Find the neighbours of vectors (sentence, width): up to `most`, or all others."""
    yield Progress(stage, 0, len(vectors))
    nearest = min(most, max(0, len(vectors) - 1))
    places = np.empty((len(vectors), nearest), dtype=np.int32)
    distances = np.empty((len(vectors), nearest), dtype=np.float32)
    if not nearest:
        return Neighbourhoods(places, distances)
    done = 0
    for found, cosines in Index(vectors).neighbours_of_all(nearest):
        block = slice(done, done := done + len(found))
        places[block], distances[block] = found, 1 - cosines
        yield Progress(stage, done, len(vectors))
    return Neighbourhoods(places, distances)


@dataclass(frozen=True, eq=False)
class Overlap:
    """The number of common k nearest neighbours of each sentence in A and B."""

    kept: NDArray[np.intp]
    k: int  # less than requested if the corpus is smaller

    @cached_property
    def jaccard(self) -> NDArray[np.float64]:
        """Jaccard index of each sentence: neighbours in both divided by neighbours in either; NaN without any."""
        if not self.k:
            return np.full(len(self.kept), np.nan)
        return self.kept / (2 * self.k - self.kept)

    @property
    def mean(self) -> float:
        """The mean over all sentences; NaN if none has a neighbour."""
        return float(self.jaccard.mean()) if self.k and len(self.kept) else float("nan")

    def counts(self) -> NDArray[np.intp]:
        """The number of sentences that kept 0, 1, … k neighbours."""
        return np.bincount(self.kept, minlength=self.k + 1)

    def order(self, *, most_changed: bool) -> NDArray[np.intp]:
        """All sentences, most or least changed first; ties in the order of the corpus."""
        return np.argsort(self.kept if most_changed else -self.kept, kind="stable")


def overlap(one: Index, other: Index, k: int) -> Work[Overlap]:
    """Use every sentence as a query, itself excluded, and count common neighbours."""
    if len(one) != len(other):
        raise BadChoice(f"A holds {len(one):,} sentences and B {len(other):,}. Use the same corpus for both.")
    kept, done = [], 0
    yield Progress("finding neighbours", 0, len(one))
    for (in_one, _), (in_other, _) in zip(one.neighbours_of_all(k), other.neighbours_of_all(k), strict=True):
        kept.append(overlap_of(in_one, in_other).kept)
        done += len(in_one)
        yield Progress("finding neighbours", done, len(one))
    return Overlap(np.concatenate(kept), max(0, min(k, len(one) - 1)))


def overlap_of(one: NDArray[Any], other: NDArray[Any]) -> Overlap:
    """Compute the overlap of given neighbours (sentence, neighbour)."""
    both = np.sort(np.concatenate([one, other], axis=1), axis=1)  # common neighbours are in it twice
    return Overlap((both[:, 1:] == both[:, :-1]).sum(1), one.shape[1])
