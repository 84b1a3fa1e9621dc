"""Cases of vectors on disk: files, shards and manifests are changed, then searched, or their embedding is resumed.

Besides an error in one line, a result has to be right: it is compared with a slow search in float64.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from explorer.data.vectors import vector_corpus
from explorer.data.vectors.embedding_folder import NAME
from explorer.data.vectors.opening import opened
from explorer.data.vectors.vector_corpus import VectorCorpus, unit
from explorer.encoding.locate.model_names import find
from explorer.encoding.read.pooling import OWN
from explorer.errors import StrataError
from explorer.measuring.neighbours.vector_search import searchable
from explorer.measuring.scores.measure import Settings, load_encoder
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish
from tests.fuzz import mutants
from tests.fuzz.cases import Fault
from tests.studies.embedding.desk import LINES, Desk, furnish

Floats = NDArray[np.float64]

ROWS, WIDTH = 24, 6
SIZES = (1.0, 1e-30, 1e30, 1e-300, 1e300, 1e-42, -3.0)
WHOLE = "whole"  # an embedding that nobody damaged


def prepare(folder: Path) -> None:
    """Embed a text with a tiny model."""
    furnish(folder).embed(WHOLE, with_text=True)


def attempt(seed: int, folder: Path, place: Path) -> None:
    """Make and damage vectors of one kind, and use them."""
    drawn = Random(seed)
    drawn.choice((_npy, _npy, _parquet, _json_lines, _searched_folder, _resumed))(drawn, folder, place)


def _npy(drawn: Random, folder: Path, place: Path) -> None:
    path, vectors = place / "mine.npy", _vectors(drawn)
    np.save(path, np.asarray(vectors, order=drawn.choice("CCF")))
    path.with_suffix(".txt").write_text("\n".join(_texts(len(vectors))), encoding="utf-8")
    damaged = drawn.random() < 0.6
    if damaged:
        header = drawn.random() < 0.5
        _damage(drawn, drawn.choice((path, path, path, path.with_suffix(".txt"))), 128 if header else None)
    found = _opened(path, damaged or not _searchable(vectors))
    exact = np.load(path).astype(np.float64)
    if drawn.random() < 0.3:
        before = path.stat()
        np.save(path, exact[::-1] if drawn.random() < 0.5 else exact[:3])
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        if len(other := np.load(path)) == len(exact) and not damaged:
            _check(drawn, _opened(path, False), other.astype(np.float64), _texts(len(other)))
    _check(drawn, found, exact, None if damaged else _texts(len(exact)))


def _parquet(drawn: Random, folder: Path, place: Path) -> None:
    path, vectors = place / "mine.parquet", _vectors(drawn)
    rows: list[Any] = vectors.tolist()
    usual = drawn.random() < 0.8
    if not usual:
        rows[drawn.randrange(len(rows))] = drawn.choice((None, [], [1.0], [None] * WIDTH, [1.0] * (WIDTH + 1)))
    kind = drawn.choice((pa.list_(pa.float64()), pa.large_list(pa.float64()), pa.list_(pa.float64(), WIDTH)))
    try:
        column = pa.array(rows, kind)
    except (pa.ArrowInvalid, ValueError):  # a list of another width among those of a fixed one
        return
    pq.write_table(pa.table({"text": _texts(len(rows)), "vector": column}), path, write_page_checksum=True)
    damaged = drawn.random() < 0.6
    if damaged:
        _damage(drawn, path)
    found = _opened(path, damaged or not usual or not _searchable(vectors))
    table, (text, vector) = pq.read_table(path), opened(path).columns  # their names may be damaged, too
    _check(drawn, found, np.array(table[vector].to_pylist(), dtype=float), table[text].to_pylist())


def _json_lines(drawn: Random, folder: Path, place: Path) -> None:
    """A model of vectors: a sentence has its own vector, and one that is not there is refused."""
    path, vectors = place / "mine.jsonl", _vectors(drawn).astype(np.float64)
    rows = zip(_texts(len(vectors)), vectors.tolist(), strict=True)
    path.write_text("".join(json.dumps({"text": text, "embedding": row}) + "\n" for text, row in rows))
    damaged = drawn.random() < 0.5
    if damaged:
        _damage(drawn, path)
    _opened(path, damaged or not _searchable(vectors))
    row = drawn.randrange(len(vectors) + 1)
    with _refused_only_if(damaged or row == len(vectors) or not vectors[row].any()):
        found = finish(of_reading(load_encoder(find(str(path)), Settings()), [f"Sentence {row}."], OWN))
        assert damaged or np.allclose(unit(found.astype(np.float64)), unit(vectors[row : row + 1]), atol=1e-5)


def _searched_folder(drawn: Random, folder: Path, place: Path) -> None:
    own, damaged = shutil.copytree(folder / WHOLE, place / "own"), drawn.random() < 0.9
    if damaged:
        drawn.choice((_damage_folder, lambda drawn, own: _restate(drawn, own / NAME)))(drawn, own)
    table = pq.read_table(folder / WHOLE / "vectors.parquet")
    _check(drawn, _opened(own, damaged), np.array(table["model default"].to_pylist(), dtype=float), LINES)


def _resumed(drawn: Random, folder: Path, place: Path) -> None:
    own = shutil.copytree(folder / WHOLE, place / "own")
    for _ in range(drawn.choice((0, 1, 1, 2))):
        _damage_folder(drawn, own)
    restated = drawn.random() < 0.3
    if restated:
        _restate(drawn, own / NAME)
    with _refused_only_if(restated):
        Desk(folder).embed(folder=own, with_text=True)
    for path in (folder / WHOLE).rglob("*.*"):
        inside = path.relative_to(folder / WHOLE)
        if inside.name != NAME:
            assert path.read_bytes() == (own / inside).read_bytes(), f"{inside} is another one"


def _vectors(drawn: Random) -> NDArray[np.floating[Any]]:
    """Vectors of several sizes, some of which are zero; rarely one that is not finite."""
    numbers = np.random.default_rng(drawn.randrange(2**32)).normal(size=(drawn.choice((1, 2, ROWS)), WIDTH))
    dtype = drawn.choice((np.float16, np.float32, np.float32, np.float64))
    for row in range(len(numbers)):
        numbers[row] *= drawn.choice((1.0, 1.0, 1.0, 0.0, *SIZES))
    if drawn.random() < 0.1:
        numbers[drawn.randrange(len(numbers)), 0] = drawn.choice((np.nan, np.inf, -np.inf))
    with np.errstate(over="ignore", under="ignore"):
        return numbers.astype(dtype)


def _texts(rows: int) -> list[str]:
    return [f"Sentence {row}." for row in range(rows)]


def _searchable(vectors: NDArray[np.floating[Any]]) -> bool:
    return bool(np.isfinite(vectors).all() and vectors.any())


def _damage(drawn: Random, path: Path, most: int | None = None) -> None:
    """Change some bytes of a file, cut it off, or put something else in its place."""
    data, way = path.read_bytes(), drawn.randrange(8)
    if way == 0:
        path.write_bytes(data[: drawn.randrange(len(data))])
    elif way == 1:
        path.unlink()
        os.mkfifo(path)
    elif way == 2:
        mutant = bytearray(data)
        mutant[drawn.randrange(min(len(data), most or len(data)))] ^= 1 << drawn.randrange(8)
        path.write_bytes(mutant)
    elif way == 3 and path.suffix == ".npy":
        shape = drawn.choice(("(-1, 6)", "(True, 6)", "(24, 0)", f"({10**18}, 6)", "(6, 24)", "(144,)", "(2, 12, 6)"))
        path.write_bytes(
            data[:10] + data[10:128].replace(b"(24, 6)", shape.encode())[:117].ljust(117) + b"\n" + data[128:]
        )
    else:
        path.write_bytes(mutants.of_bytes(drawn, data, most))


def _damage_folder(drawn: Random, folder: Path) -> None:
    """Damage a shard, a checksum or the merged file; or put one shard in the place of another."""
    shards = [path for path in sorted((folder / "shards").iterdir()) if path.is_file()]
    checksums = [path for path in sorted((folder / "checksums").iterdir()) if path.is_file()]
    way = drawn.randrange(6)
    if way == 0 and len(shards) > 1:
        shutil.copy(*drawn.sample(shards, 2))
    elif way == 1 and shards:
        drawn.choice(shards).unlink()
    elif way == 2 and checksums:
        _damage(drawn, drawn.choice(checksums))
    elif way == 3 and checksums:
        for path in checksums:
            path.unlink()
    elif way == 4 and (folder / "vectors.parquet").is_file():
        _damage(drawn, folder / "vectors.parquet")
    elif shards:
        _damage(drawn, drawn.choice(shards), drawn.choice((None, 400)))


def _restate(drawn: Random, path: Path) -> None:
    """Change the manifest."""
    stated, way = json.loads(path.read_bytes()), drawn.randrange(3)
    if way == 0:
        _damage(drawn, path)
        return
    if way == 1:
        stated[drawn.choice(("rows", "shards", "rows_per_shard"))] = drawn.choice((0, -1, True, 5, 7, 10**12, 10**30))
    else:
        stated = mutants.of_json(drawn, stated)
    path.write_bytes(mutants.text_of(drawn, stated).encode("utf-8", "surrogatepass"))


def _opened(path: Path, refusable: bool) -> VectorCorpus:
    with _refused_only_if(refusable):
        return finish(vector_corpus.prepared(opened(path)))


@contextmanager
def _refused_only_if(refusable: bool) -> Iterator[None]:
    """Find fault with an error that nothing explains."""
    try:
        yield
    except StrataError as error:
        if refusable:
            raise
        raise Fault(f"refused: {error}") from error


def _check(drawn: Random, corpus: VectorCorpus, exact: Floats, texts: list[str] | None) -> None:
    """Compare a search for a row, and for a vector, with slow ones in float64."""
    search = finish(searchable(corpus, drawn.choice(("flat", "flat", "ivf", "hnsw"))))
    most = drawn.choice((1, 5, ROWS))
    largest = np.abs(exact).max(axis=1, keepdims=True)
    (rows,) = np.nonzero(largest[:, 0])
    scaled = exact[rows] / largest[rows]
    unit = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
    assert corpus.zero.tolist() == sorted(set(range(len(exact))) - set(rows.tolist()))
    at = drawn.randrange(len(rows))
    query = np.random.default_rng(drawn.randrange(2**32)).normal(size=exact.shape[1]).astype(np.float32)
    for hits, cosines in (
        (search.found(int(rows[at]), most), np.where(np.arange(len(rows)) == at, -np.inf, unit @ unit[at])),
        (
            search.found(query * np.float32(drawn.choice((1.0, 1e-30, 1e30))), most),
            unit @ (query / np.linalg.norm(query)),
        ),
    ):
        assert len(hits) == len(set(hits.places.tolist())) == min(most, int(np.isfinite(cosines).sum()))
        assert np.allclose(hits.cosines, np.sort(cosines)[::-1][: len(hits)], atol=1e-6)
        assert np.allclose(hits.cosines, cosines[np.searchsorted(rows, hits.places)], atol=1e-6)
        assert texts is None or list(corpus.texts(hits.places.tolist())) == [texts[row] for row in hits.places.tolist()]
