"""Build an index of vectors on disk, measure its recall, save it, and open it mapped into memory."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from explorer import places, typed_json
from explorer.data.vectors.vector_corpus import VectorCorpus
from explorer.measuring.neighbours.index_recall import tuned
from explorer.measuring.neighbours.index_setting import FLAT, IVF, IndexSetting, faiss_library, suited
from explorer.measuring.neighbours.vector_search import IndexFacts, VectorSearch, set_effort
from explorer.progress import Progress, Work

TRAINED_ON = 64  # vectors for each list
FOR_GRAPH = 65_536  # vectors from which the 8-bit steps of the graph's vectors are determined
ROUNDS = 10  # of k-means, as many as FAISS makes by default in an inverted file
CONSTRUCTION = 80  # efConstruction: candidates for the links of a new vector
ADDED = 2048  # vectors between two progress reports


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
    index = yield from (_trained_lists if setting.kind == IVF else _trained_graph)(corpus, setting)
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


def _trained_lists(corpus: VectorCorpus, setting: IndexSetting) -> Work[Any]:
    """Empty inverted lists around centroids of k-means, a round at a time."""
    faiss = faiss_library()
    sample, centroids = _sample(corpus, TRAINED_ON * setting.nlist), None
    for done in range(ROUNDS):
        yield Progress("training the index", done, ROUNDS)
        means = faiss.Kmeans(corpus.width, setting.nlist, niter=1, spherical=True, seed=0)
        means.train(sample, init_centroids=centroids)
        centroids = means.centroids
    lists = faiss.IndexFlatIP(corpus.width)
    lists.add(centroids)
    index = faiss.IndexIVFScalarQuantizer(
        lists, corpus.width, setting.nlist, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
    )
    index.train(sample)
    return index


def _trained_graph(corpus: VectorCorpus, setting: IndexSetting) -> Work[Any]:
    """An empty graph; its vectors have 8 bits per number."""
    faiss = faiss_library()
    yield Progress("training the index", 0, 0)
    index = faiss.IndexHNSWSQ(corpus.width, faiss.ScalarQuantizer.QT_8bit, setting.links, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = CONSTRUCTION
    index.train(_sample(corpus, FOR_GRAPH))
    return index


def _sample(corpus: VectorCorpus, most: int) -> Any:
    drawn = np.arange(corpus.searched)
    if len(drawn) > most:
        drawn = np.sort(np.random.default_rng(0).choice(corpus.searched, most, replace=False))
    return corpus.rows(corpus.rows_searched(drawn))
