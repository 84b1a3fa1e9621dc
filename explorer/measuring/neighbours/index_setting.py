"""The settings of a FAISS index: flat (exact), inverted lists (IVF) or a graph (HNSW)."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any

from explorer.errors import BadChoice

FLAT, IVF, HNSW = "flat", "ivf", "hnsw"
KINDS = (FLAT, IVF, HNSW)
PER_LIST = 39  # training vectors that FAISS wants for each list; with fewer it warns
MOST_EXACT = 200_000  # vectors up to which a search of all is quick enough to need no other index


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
        """The same with as many lists as this many documents can train."""
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
