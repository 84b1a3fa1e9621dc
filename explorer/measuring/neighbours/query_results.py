"""Search results of a query under A and B, with ranks on the other side."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.data.retrieval.retrieval_set import Judged
from explorer.encoding.read.readings import Reading
from explorer.errors import BadChoice
from explorer.measuring.neighbours.neighbour_overlap import exchange
from explorer.measuring.neighbours.ranking_measures import TOP, measures
from explorer.measuring.neighbours.vector_index import Hits, Index
from explorer.measuring.sentences import finite_vectors, sentence_vectors
from explorer.progress import finish

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

KEPT, LOST, GAINED = "kept", "lost", "gained"
SIZES = (5, 10, 20, 50)


@dataclass(frozen=True)
class FoundSentence:
    """A result on one side."""

    place: int  # in the corpus
    rank: int
    cosine: float
    elsewhere: int | None  # its rank on the other side; None without another side
    mark: str  # kept, lost or gained; "" without another side


@dataclass(frozen=True, eq=False)
class SearchSide:
    """A corpus under one layer & pooling, and a query: a sentence of it by position, or the vector of another."""

    index: Index
    query: NDArray[np.float32] | int

    def hits(self, k: int) -> Hits:
        """The nearest sentences; a sentence of the corpus does not find itself."""
        if isinstance(self.query, int):
            return self.index.neighbours(self.query, k)
        return self.index.nearest(self.query, k)


@dataclass(frozen=True)
class SearchResults:
    """The results of A, and of B if there is one."""

    one: tuple[FoundSentence, ...]
    other: tuple[FoundSentence, ...] | None = None
    kept: int = 0
    jaccard: float = float("nan")


@dataclass(frozen=True)
class QueryScore:
    """How high a side ranks the documents that are judged relevant to a query."""

    ndcg: float  # nDCG@10, from 0 to 1
    ranks: tuple[int, ...]  # of the relevant documents, the best first


def scored(side: SearchSide, relevant: Judged) -> QueryScore:
    """The score of a side on a query; `relevant` has the grades of relevant documents by their position."""
    found = side.hits(TOP).places
    ranks = side.index.ranks(np.array(list(relevant)), side.query)
    return QueryScore(float(measures(found[None], [relevant])[0, 0]), tuple(sorted(ranks)))


def asked(query: str) -> str:
    """Normalise the spaces of a query as in a corpus; refuse an empty one."""
    squeezed = " ".join(query.split())
    if not squeezed:
        raise BadChoice("The query is empty. Enter a sentence.")
    return squeezed


def place_of(query: str, sentences: Sequence[str]) -> int | None:
    """The position of a query in the corpus; None if absent."""
    return sentences.index(query) if query in sentences else None


def vector_of(encoder: Encoder, query: str, reading: Reading, max_length: int | None = None) -> NDArray[np.float32]:
    """The vector (width,) of a query; one that has no cosine with any other is refused."""
    vectors: NDArray[np.float32] = finish(sentence_vectors.of_reading(encoder, [query], reading, max_length))
    finite_vectors.check(encoder, [query], reading, vectors, max_length)
    if not vectors.any():
        raise BadChoice(
            f"'{encoder.name}' gives the query a zero vector under {reading.title}, which has no cosine. Choose "
            "another layer & pooling, or ask in other words."
        )
    vector: NDArray[np.float32] = vectors[0]
    return vector


def search(one: SearchSide, other: SearchSide | None, k: int) -> SearchResults:
    """The k nearest on each side, each with its rank on the other."""
    hits = one.hits(k)
    if other is None:
        return SearchResults(_results(hits))
    beside = other.hits(k)
    between = exchange(hits.places.tolist(), beside.places.tolist())
    kept = set(between.kept)
    return SearchResults(
        _results(hits, other, kept, LOST), _results(beside, one, kept, GAINED), len(between.kept), between.jaccard
    )


def _results(
    hits: Hits, other: SearchSide | None = None, kept: Collection[int] = (), alone: str = ""
) -> tuple[FoundSentence, ...]:
    """Results with their ranks on the other side; `alone` is the mark of those it did not find."""
    places = hits.places.tolist()
    elsewhere = [None] * len(places) if other is None else other.index.ranks(hits.places, other.query)
    marks = [KEPT if place in kept else alone for place in places]
    told = zip(places, hits.cosines.tolist(), elsewhere, marks, strict=True)
    return tuple(FoundSentence(place, rank, *more) for rank, (place, *more) in enumerate(told, start=1))
