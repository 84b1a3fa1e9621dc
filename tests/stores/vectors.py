"""The stores of vectors on disk, by their name in docs/architecture.md."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from explorer.data.vectors import opening, vector_corpus
from explorer.data.vectors.embedding_folder import Manifest, StoredReading
from explorer.data.vectors.vector_corpus import unit
from explorer.data.vectors.vector_files import NpyFile
from explorer.encoding.locate import stored_vectors
from explorer.encoding.locate.model_names import find
from explorer.measuring.maps.projection import MapSettings
from explorer.measuring.neighbours import vector_search
from explorer.measuring.neighbours.vector_index import HNSW, IVF, suited
from explorer.progress import finish
from explorer.studies.embedding.corpus import TextSource
from explorer.ui.access import cached
from explorer.ui.map import vectors_view
from tests.stores import drawn
from tests.stores.drawn import one_of
from tests.stores.in_memory import CONTENT, SECONDS, answered, key_of
from tests.stores.store import Desk, Store

VECTORS = one_of(((1.0, 2.0), (3.0, 4.0)), ((1.0, 2.0), (4.0, 3.0)), ((2.0, 1.0), (3.0, 4.0)))
TEXTS = one_of(("one", "two"), ("two", "one"), ("one", "ten"))


def npy(desk: Desk, x: Any, path: str) -> NpyFile:
    """The two files, whose times of modification say nothing."""
    file = desk.put(f"{path}.npy", "", x.seconds)
    np.save(file, np.array(x.vectors))
    os.utime(file, (x.seconds, x.seconds))
    return NpyFile(file, desk.put(f"{path}.txt", "\n".join(x.texts), x.seconds))


def searched(desk: Desk, x: Any) -> Hashable:
    found = finish(vector_corpus.prepared(npy(desk, x, f"{x.folder}/{x.name}")))
    assert np.allclose(found.vectors, unit(np.array(x.vectors)))
    assert found.texts(range(len(found))) == x.texts
    return found.folder


def index(desk: Desk, x: Any) -> Hashable:
    return vector_search._files(SimpleNamespace(folder=desk.folder / x.corpus, name=x.name), x.setting)


def embedding(desk: Desk, x: Any) -> Hashable:
    columns = tuple(StoredReading(title, width) for title, width in x.columns)
    of_text = x.text, x.rows, -(-x.rows // x.rows_per_shard), x.rows_per_shard
    settings = columns, x.max_length, x.precision, x.dtype, x.with_text, x.windows
    return Manifest(x.name, x.model, (x.folder,), *of_text, *settings, {"torch": x.release}).key


def opened(desk: Desk, x: Any) -> Hashable:
    path = npy(desk, x, "mine").files[0]
    desk.patch.setattr(cached.jobs, "result", lambda key, *_: keys.append(key))
    keys: list[str] = []
    cached.corpus_on_disk(str(path), "mean of layer 1")
    return answered(desk, keys[0], (x.vectors, x.texts))


def as_model(desk: Desk, x: Any) -> Hashable:
    path = npy(desk, x, "mine").files[0]
    before = set(stored_vectors._read)
    assert find(str(path)).digest == finish(vector_corpus.digest_of(NpyFile(path)))
    (key,) = set(stored_vectors._read) - before or {(str(path), opening.stamps(str(path)))}
    return answered(desk, key, (x.vectors, x.texts))


def large_map(desk: Desk, x: Any) -> Hashable:
    corpus = SimpleNamespace(digest=x.corpus, name=x.name)
    return key_of(desk, vectors_view, lambda: vectors_view._large_map(corpus, x.settings))


STORES: Mapping[str, Store] = {
    "Searched vectors": Store(
        {"vectors": VECTORS, "texts": TEXTS}, {"name": drawn.name, "folder": drawn.name, **SECONDS}, searched, bases=3
    ),
    "Search indexes": Store(
        {"corpus": drawn.digest, "setting": one_of(suited(10**4, HNSW), suited(10**4, IVF), suited(10**6, IVF))},
        {"name": drawn.name},
        index,
    ),
    "Embeddings": Store(
        {"model": drawn.digest, "text": drawn.digest, "rows": one_of(10, 20), "rows_per_shard": one_of(5, 7),
         "columns": one_of((("mean of layer 1", 8),), (("mean of layer 1", 9),), (("cls of layer 1", 8),)),
         "max_length": one_of(64, 128), "precision": one_of("float32", "bfloat16"),
         "dtype": one_of("float32", "float16"), "with_text": one_of(True, False),
         "windows": one_of(True, False)},
        {"name": drawn.name, "folder": drawn.name, "release": one_of("1", "2")},
        embedding,
    ),
    "Opened vectors": Store({"vectors": VECTORS, "texts": TEXTS}, SECONDS, opened, bases=4),
    "Vectors as a model": Store({"vectors": VECTORS, "texts": TEXTS}, SECONDS, as_model, bases=4),
    "Maps of vectors": Store(
        {"corpus": drawn.digest, "settings": one_of(MapSettings("PCA"), MapSettings("PCA", seed=1),
                                                    MapSettings("UMAP"), MapSettings("UMAP", min_dist=0.5))},
        {"name": drawn.name},
        large_map,
    ),
    "Texts of embeddings": Store(
        {"content": CONTENT},
        SECONDS,
        lambda desk, x: answered(desk, TextSource(str(desk.put("text.txt", x.content, x.seconds))).stamp, x.content),
    ),
}  # fmt: skip
