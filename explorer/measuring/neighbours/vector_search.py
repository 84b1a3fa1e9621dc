"""Search vectors on disk: all of them, or the candidates of a FAISS index, whose cosines are computed again.

An index is built once, saved next to the vectors and mapped into memory. Its recall is measured against a search of all
vectors, and decides how much of the index a query searches.
"""

import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer import places, typed_json
from explorer.data.vectors.vector_corpus import VectorCorpus
from explorer.data.vectors.vector_files import AT_ONCE
from explorer.errors import BadChoice
from explorer.knobs import Knobs, knob
from explorer.measuring.neighbours.vector_index import FLAT, HNSW, IVF, Hits, IndexSetting, faiss_library, suited
from explorer.measuring.scores.correlation import unit
from explorer.progress import Progress, Work, finish

Floats = NDArray[np.float32]
Places = NDArray[np.int64]
Truth = tuple[Places, Floats, int]  # rows as queries, of each the cosine of its last true neighbour, their number

SPARE = 8  # further candidates: products in float32 can swap neighbours within 1e-7
CANDIDATES, LEAST = 4, 40  # for each result, and at least: the index holds vectors in 8 bits per number

TRAINED_ON = 64  # vectors for each list
FOR_GRAPH = 65_536  # vectors from which the 8-bit steps of the graph's vectors are determined
ROUNDS = 10  # of k-means, as many as FAISS makes by default in an inverted file
CONSTRUCTION = 80  # efConstruction: candidates for the links of a new vector
ADDED = 2048  # vectors between two progress reports

NEAREST = 10
QUERIES = 200  # vectors of the corpus; as many others choose the effort
ENOUGH = 0.95  # recall at which the effort grows no further
LEAST_PROBES, MOST_PROBES = 8, 256
LEAST_EF, MOST_EF = 64, 512
EXACT = "exact"
INDEXES = {EXACT: FLAT, IVF: IVF, HNSW: HNSW}  # by the name that a user chooses
SAME = 1e-6  # cosines that differ by less are those of equal vectors


@dataclass(frozen=True)
class VectorOptions(Knobs):
    """Vectors on disk that are searched in place of a text, and the index."""

    vectors: str | None = knob(
        None,
        metavar="FOLDER|FILE",
        excludes=("corpus", "other_reading", "whole", "windows"),
        help="Search vectors on disk instead of a text: a folder of `embed --with-text`, a .parquet file with columns "
        "of sentences and vectors, or a .npy file. The model and the layer & pooling of a folder are those it states.",
    )
    text: str | None = knob(
        None, metavar="FILE", empty="its name with .txt", needs="vectors", help="The sentences of a .npy, one a line."
    )
    column: tuple[str, ...] = knob(
        (),
        metavar="ROLE=NAME",
        repeated=True,
        needs="vectors",
        help="Of a .parquet file, the column that has a role: sentence, vector.",
    )
    index: str | None = knob(
        None,
        choices=tuple(INDEXES),
        empty=f"{EXACT} up to 200,000 vectors, IVF beyond",
        titles={IVF: "IVF", HNSW: "HNSW"},
        needs="vectors",
        help="Of vectors on disk: exact compares every vector. IVF searches the nearest of many lists, HNSW follows "
        "the links of a graph; both are built once and miss some neighbours, which is measured.",
    )


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
        """The k sentences nearest to a vector (width,), or to a row of the corpus, itself excluded."""
        without = np.array([query]) if isinstance(query, int) else None
        if isinstance(query, int):
            queries = self.corpus.rows(np.array([query]))
            if not queries.any():
                raise BadChoice(
                    f"The query is row {query:,} of {self.corpus.name}, whose vector is zero: it has no cosine. Ask "
                    "for another sentence."
                )
        elif len(query) != self.corpus.width:
            raise BadChoice(
                f"The query has {len(query):,} dimensions and the vectors of {self.corpus.name} "
                f"{self.corpus.width:,}. Choose the encoder and the layer & pooling that made them."
            )
        else:
            queries = unit(query[None])
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
    """Positions and cosines (query, result) of the nearest candidates of an index; where they are fewer, -1."""
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


def searchable(corpus: VectorCorpus, kind: str | None = None) -> Work[VectorSearch]:
    """The corpus with an index of a kind, or of that which suits its size; built only if it is not saved."""
    setting = suited(corpus.searched, kind)
    if setting.kind == FLAT:
        return VectorSearch(corpus, IndexFacts(setting))
    saved = _opened(corpus, setting)
    return (yield from _built(corpus, setting)) if saved is None else saved


def _files(corpus: VectorCorpus, setting: IndexSetting) -> tuple[Path, Path]:
    """The files of the index and of its facts."""
    size = f"{setting.nlist}-lists" if setting.kind == IVF else f"{setting.links}-links"
    stem = corpus.folder / f"{setting.kind}-{size}"
    return stem.with_suffix(".faiss"), stem.with_suffix(".json")


def _opened(corpus: VectorCorpus, setting: IndexSetting) -> VectorSearch | None:
    """The saved index; None if there is none, or a damaged one."""
    faiss = faiss_library()
    path, about = _files(corpus, setting)
    try:
        stated = typed_json.read(IndexFacts, typed_json.parsed(about.read_bytes()))
        if stated is None or path.stat().st_size != stated.bytes:
            return None
        # inverted lists are read when they are searched, vectors and links of a graph are mapped
        index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP if setting.kind == IVF else faiss.IO_FLAG_MMAP_IFC)
    except (OSError, ValueError, RuntimeError):
        return None
    if index.ntotal != corpus.searched or index.d != corpus.width:
        return None
    set_effort(index, stated.setting)
    return VectorSearch(corpus, stated, index)


def _built(corpus: VectorCorpus, setting: IndexSetting) -> Work[VectorSearch]:
    started = time.monotonic()
    index = yield from _trained(corpus, setting)
    for start in range(0, len(corpus), ADDED):
        yield Progress("building the index", start, len(corpus))
        vectors = corpus.rows(slice(start, start + ADDED))
        index.add(np.delete(vectors, corpus.zero_between(start, start + ADDED) - start, axis=0))
    seconds = time.monotonic() - started
    setting, recall, queries = yield from tuned(corpus, index, setting)
    path, about = _files(corpus, setting)
    yield Progress("saving the index", 0, 0)
    with places.whole_file(path) as file:
        faiss = faiss_library()
        faiss.write_index(index, faiss.PyCallbackIOWriter(file.write))
    facts = IndexFacts(setting, seconds, path.stat().st_size, recall, queries)
    places.write_whole(about, lambda file: file.write(json.dumps(asdict(facts)).encode()))
    saved = _opened(corpus, setting)
    return VectorSearch(corpus, facts, index) if saved is None else saved


def _trained(corpus: VectorCorpus, setting: IndexSetting) -> Work[Any]:
    """An empty index whose vectors have 8 bits per number: inverted lists, or a graph."""
    faiss = faiss_library()
    bits, product = faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
    if setting.kind == HNSW:
        yield Progress("training the index", 0, 0)
        index = faiss.IndexHNSWSQ(corpus.width, bits, setting.links, product)
        index.hnsw.efConstruction = CONSTRUCTION
        index.train(corpus.rows(corpus.drawn(FOR_GRAPH)))
        return index
    sample, centroids = corpus.rows(corpus.drawn(TRAINED_ON * setting.nlist)), None
    for done in range(ROUNDS):  # of k-means
        yield Progress("training the index", done, ROUNDS)
        means = faiss.Kmeans(corpus.width, setting.nlist, niter=1, spherical=True, seed=0)
        means.train(sample, init_centroids=centroids)
        centroids = means.centroids
    lists = faiss.IndexFlatIP(corpus.width)
    lists.add(centroids)
    index = faiss.IndexIVFScalarQuantizer(lists, corpus.width, setting.nlist, bits, product)
    index.train(sample)
    return index


def tuned(corpus: VectorCorpus, index: Any, setting: IndexSetting) -> Work[tuple[IndexSetting, float | None, int]]:
    """The setting with the least effort that has enough recall, its recall on other queries, and their number."""
    if corpus.searched < 4:
        return setting, None, 0
    count, nearest = min(QUERIES, corpus.searched // 2), min(NEAREST, corpus.searched - 1)
    drawn = corpus.rows_searched(np.random.default_rng(0).choice(corpus.searched, 2 * count, replace=False))
    stage = "searching all vectors for true neighbours"
    _, cosines = yield from all_searched(corpus, corpus.rows(drawn), nearest, drawn, stage)
    choosing, stating = ((drawn[some], cosines[some, -1], nearest) for some in (slice(count), slice(count, None)))
    chosen = setting
    for chosen in _efforts(setting):
        yield Progress("measuring the recall of the index", 0, 0)
        if recall(corpus, index, chosen, choosing) >= ENOUGH:
            break
    yield Progress("measuring the recall of the index", 0, 0)
    return chosen, recall(corpus, index, chosen, stating), len(stating[0])


def recall(corpus: VectorCorpus, index: Any, setting: IndexSetting, truth: Truth) -> float:
    """The share of true neighbours that an index finds; of neighbours with equal cosines any counts."""
    queries, least, nearest = truth
    set_effort(index, setting)
    _, cosines = candidates_ranked(corpus, index, corpus.rows(queries), nearest, queries)
    return float((cosines >= least[:, None] - SAME).mean())


def _efforts(setting: IndexSetting) -> list[IndexSetting]:
    """The setting with more and more effort: twice as much each time."""
    graph = setting.kind == HNSW
    least, most = (LEAST_EF, MOST_EF) if graph else (LEAST_PROBES, min(setting.nlist, MOST_PROBES))
    efforts = []
    while least < most:
        efforts.append(least)
        least *= 2
    efforts.append(most)
    return [replace(setting, ef=each) if graph else replace(setting, nprobe=each) for each in efforts]
