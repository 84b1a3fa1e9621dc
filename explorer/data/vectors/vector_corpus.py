"""A corpus of vectors on disk: opened, checked and copied once, then mapped into memory.

The source is a folder of `embed`, a parquet file, or a .npy file with its text. The cache folder keeps a copy: its
sentences, and its vectors with length 1. The user's own files are not used again, so they may change while the corpus
is searched. The folder's name is the digest of the files, so a changed file is another corpus.
"""

import hashlib
import json
import mmap
import shutil
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer import in_words, places, typed_json
from explorer.data.vectors import vector_files
from explorer.data.vectors.sentence_rows import KeyList, SentenceRows, StoredSentences, encoded
from explorer.data.vectors.vector_files import VectorFiles, VectorOrigin, changed, damaged_shard
from explorer.errors import DataError, NotWritable, UnreadableFile
from explorer.progress import Progress, Work

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

FOLDER, ABOUT = "vectors", "corpus.json"
TEXTS, ENDS, VECTORS, ZERO = "texts.bin", "ends.npy", "vectors.npy", "zero.npy"
LENGTHS, KEYS, PLACES = "lengths.npy", "keys.npy", "places.npy"
VERSION = "3"  # of what a folder holds; a new one if that changes, so that folders of the old one are not used
BYTES = 2**24  # of a file that are added to a digest at once
ROWS = 256  # that are normalised at once, in float64: they stay in the cache of a processor
SPARE = 2**26  # bytes of the disk that stay free
SETTLED = 10**9  # nanoseconds after a change in which another one could leave the same time
SIZES = 1e-15, 1e15  # of a vector whose numbers have squares in float32
NAMED = 5  # rows with a zero vector that are named
_digests: dict[tuple[tuple[int, ...], ...], tuple[str, ...]] = {}  # of files that have not changed since


@dataclass(frozen=True, eq=False)
class VectorCorpus(StoredSentences):
    """Vectors (row, width) and their sentences; nothing of them is read before it is used.

    A zero vector has no cosine with any other: its row keeps its number, and is never searched.
    """

    name: str
    digest: str  # of the files
    folder: Path  # of the cache; an index of the vectors is kept there too
    vectors: Floats  # with length 1
    zero: Rows  # rows whose vector is zero
    lengths: NDArray[np.float64]  # of the vectors as they were given
    title: str | None = None  # layer & pooling, if `embed` wrote them
    origin: VectorOrigin | None = None

    @property
    def searched(self) -> int:
        """How many rows are searched."""
        return len(self) - len(self.zero)

    @property
    def width(self) -> int:
        """The dimension of the vectors."""
        return int(self.vectors.shape[1])

    @property
    def note(self) -> str:
        """What is searched, in words."""
        searched = f"{len(self):,} sentences of {self.name}, with vectors of width {self.width:,}."
        if not len(self.zero):
            return searched
        rows = ", ".join(f"{row:,}" for row in self.zero[:NAMED].tolist()) + (", …" if len(self.zero) > NAMED else "")
        if len(self.zero) == 1:
            return f"{searched} Row {rows} is left out: its vector is zero, which has no cosine."
        left_out = f"{len(self.zero):,} rows are left out: their vectors are zero, which has no cosine"
        return f"{searched} {left_out} (rows {rows})."

    def rows(self, which: slice | NDArray[np.integer[Any]]) -> Floats:
        """The vectors of some rows (row, width), with length 1."""
        return np.asarray(self.vectors[which])

    def rows_searched(self, places: Rows) -> Rows:
        """The rows at some places among those that are searched."""
        before = self.zero - np.arange(len(self.zero))  # of each zero vector: the rows before it that are searched
        return places + np.searchsorted(before, places, side="right")

    def drawn(self, most: int) -> Rows:
        """The rows that are searched, or so many of them, drawn and in order."""
        places = np.arange(self.searched)
        if len(places) > most:
            places = np.sort(np.random.default_rng(0).choice(self.searched, most, replace=False))
        return self.rows_searched(places)

    def zero_between(self, start: int, end: int) -> Rows:
        """The rows from `start` up to `end` whose vector is zero."""
        return self.zero[slice(*np.searchsorted(self.zero, (start, end)))]

    def given(self, rows: Rows) -> Floats:
        """The vectors of some rows (row, width) with their own lengths, as far as float32 can square these."""
        return np.asarray(self.vectors[rows] * np.clip(self.lengths[rows, None], *SIZES), dtype=np.float32)


def digest_of(files: VectorFiles) -> Work[str]:
    """The SHA-256 of the files and of the chosen columns; read once, until a file changes."""
    now, stamps = time.time_ns(), tuple(map(places.stamp, files.files))
    if stamps not in _digests:
        stats = [path.stat() for path in files.files]
        each, done, total = [], 0, sum(stat.st_size for stat in stats)
        for path, checksum in zip_longest(files.files, files.checksums):
            sha = hashlib.sha256()
            with path.open("rb") as file:
                while some := file.read(BYTES):
                    sha.update(some)
                    done += len(some)
                    yield Progress(f"reading {files.name}", done, total, "bytes")
            each.append(sha.hexdigest())
            if checksum is not None and checksum != each[-1]:
                raise damaged_shard(path.name, files.name, "is another one than was written")
        if max(stat.st_ctime_ns for stat in stats) > now - SETTLED:
            return _hex(each, files.columns)
        _digests[stamps] = tuple(each)
    return _hex(_digests[stamps], files.columns)


def prepared(files: VectorFiles) -> Work[VectorCorpus]:
    """Check and copy all rows, or find that this was done before."""
    try:
        digest = yield from digest_of(files)
        folder = places.cache_folder() / FOLDER / _hex(VERSION, digest)[:32]
        found = _stored_for(files, folder)
        if found is None:
            room = "Make room there, or set STRATA_CACHE to a folder on a larger disk."
            with places.writing(folder, room):
                folder.mkdir(parents=True, exist_ok=True)
                free = shutil.disk_usage(folder).free
            need = files.rows * (8 + 4 * files.width) + files.text_bytes
            if need + SPARE > free:
                raise NotWritable(
                    f"{files.name} needs {in_words.size(need + SPARE)} in {folder.parent}, where "
                    f"{in_words.size(free)} are free. {room}"
                )
            yield from _prepare(files, digest, folder)
            found = _stored_for(files, folder)
    except OSError as error:
        raise UnreadableFile(f"{files.name} cannot be read: {error.strerror or error}.") from error
    if found is None:
        raise NotWritable(f"{folder} cannot be read back. Set STRATA_CACHE to a folder on another disk.")
    return found


def _hex(*parts: str | Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def stored(
    folder: Path, name: str, title: str | None = None, origin: VectorOrigin | None = None
) -> VectorCorpus | None:
    """The corpus in a folder of the cache; None if there is none, or a damaged one."""
    try:
        about = typed_json.parsed((folder / ABOUT).read_bytes())
        mapped = (np.load(folder / name, mmap_mode="r") for name in (VECTORS, ZERO, ENDS, LENGTHS, KEYS, PLACES))
        vectors, zero, ends, lengths, keys, rows = mapped
        with (folder / TEXTS).open("rb") as file:
            texts = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if ends[-1] else b""
        digest = about["digest"]
    except (OSError, ValueError, EOFError, IndexError, KeyError, TypeError):
        return None
    if len(texts) != ends[-1] or vectors.ndim != 2 or about != _about(len(ends), vectors.shape[1], digest):
        return None
    return VectorCorpus(
        texts, ends, SentenceRows(keys, rows), name, digest, folder, vectors, zero, lengths, title, origin
    )


def _stored_for(files: VectorFiles, folder: Path) -> VectorCorpus | None:
    """The corpus of some files in a folder of the cache."""
    found = stored(folder, files.name, files.title, files.origin)
    return found if found is not None and found.vectors.shape == (files.rows, files.width) else None


def _about(rows: int, width: int, digest: str) -> dict[str, int | str]:
    return {"rows": rows, "width": width, "digest": digest}


def _prepare(files: VectorFiles, digest: str, folder: Path) -> Work[None]:
    """Write the files of a corpus, which get their names together once the user's files are known to be the same."""
    ends, zero = np.empty(files.rows, dtype=np.int64), np.zeros(files.rows, dtype=bool)
    lengths, keys = np.empty(files.rows), KeyList()
    row = end = 0
    with ExitStack() as stack:
        # the first of them gets its name last: it says that the others are whole
        names = (ABOUT, TEXTS, VECTORS, ENDS, ZERO, LENGTHS, KEYS, PLACES)
        about, texts, vectors, *arrays = (stack.enter_context(places.whole_file(folder / name)) for name in names)
        shape = {"descr": "<f4", "fortran_order": False, "shape": (files.rows, files.width)}
        np.lib.format.write_array_header_2_0(vectors, shape)
        for numbers, sentences in files.blocks():
            some = slice(row, row := row + len(sentences))
            if row > files.rows:
                raise changed(files.name)
            known, lengths[some] = _unit_rows(files.name, numbers, some.start)
            vectors.write(known.tobytes())
            zero[some] = ~known.any(axis=1)
            written = [encoded(text) for text in sentences]
            texts.write(b"".join(written))
            ends[some] = end + np.cumsum([len(text) for text in written])
            end += sum(map(len, written))
            keys.add(sentences)
            yield Progress(f"checking {files.name}", row, files.rows)
        try:
            same = row == files.rows and (yield from digest_of(files)) == digest
        except OSError:  # which the files of the cache would take for one of theirs
            same = False
        if not same:
            raise changed(files.name)
        if zero.all():
            raise DataError(f"Every vector of {files.name} is zero, which has no cosine. Encode its sentences again.")
        for file, array in zip(arrays, (ends, np.flatnonzero(zero), lengths, *keys.sorted()), strict=True):
            np.save(file, array)
        about.write(json.dumps(_about(files.rows, files.width, digest)).encode())


def _unit_rows(name: str, vectors: vector_files.Numbers, first: int) -> tuple[Floats, NDArray[np.float64]]:
    """The vectors with length 1, and their lengths; an error for one that is not finite."""
    found, lengths = np.empty(vectors.shape, dtype=np.float32), np.empty(len(vectors))
    for start in range(0, len(vectors), ROWS):
        known = vectors[start : start + ROWS].astype(np.float64)
        finite = np.isfinite(known).all(axis=1)
        if not finite.all():
            row = int(np.argmin(finite))
            value = known[row][~np.isfinite(known[row])][0]
            raise DataError(
                f"Row {first + start + row:,} of {name} has the number {value} in its vector. Every number has to be "
                "finite: leave such rows out, or encode their sentences again."
            )
        some = slice(start, start + ROWS)
        found[some] = unit(known)
        lengths[some] = (known * found[some]).sum(axis=1)
    return found, lengths


def unit(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """Normalise vectors (sentence, width) to length 1; a zero vector is unchanged."""
    largest = np.maximum(vectors.max(axis=1, keepdims=True, initial=0), -vectors.min(axis=1, keepdims=True, initial=0))
    # the power of two at or below it: dividing by that changes no digit. In float32 the squares of numbers from 2e19 on
    # would be infinite, and those of numbers below 3e-23 would be 0
    power = np.ldexp(largest.dtype.type(1), np.frexp(largest)[1] - 1)
    scaled = vectors / power
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.ascontiguousarray(scaled / np.where(lengths > 0, lengths, 1), dtype=np.float32)
