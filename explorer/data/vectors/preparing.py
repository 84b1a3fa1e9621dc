"""Check vectors on disk once, and write what makes any row of them quick to find.

The cache folder keeps a copy of every corpus: its sentences, and its vectors with length 1. The user's own files are
not used again, so they may change while the corpus is searched. The folder's name is the digest of the files, so a
changed file is another corpus.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import shutil
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from explorer import in_words, places, typed_json
from explorer.data.vectors.unit_length import unit
from explorer.data.vectors.vector_corpus import ENDS, TEXTS, VECTORS, ZERO, VectorCorpus
from explorer.data.vectors.vector_files import Numbers, VectorFiles, changed, damaged
from explorer.errors import DataError, NotWritable, UnreadableFile
from explorer.progress import Progress, Work

Floats = NDArray[np.float32]

FOLDER, ABOUT = "vectors", "corpus.json"
VERSION = "2"  # of what a folder holds; a new one if that changes, so that folders of the old one are not used
BYTES = 2**24  # of a file that are added to a digest at once
ROWS = 256  # that are normalised at once, in float64: they stay in the cache of a processor
SPARE = 2**26  # bytes of the disk that stay free
SETTLED = 10**9  # nanoseconds after a change in which another one could leave the same time
_digests: dict[tuple[tuple[int, ...], ...], tuple[str, ...]] = {}  # of files that have not changed since


@dataclass(frozen=True)
class About:
    """What a folder of the cache holds."""

    rows: int
    width: int


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
                raise damaged(path.name, files.name, "is another one than was written")
        if max(stat.st_ctime_ns for stat in stats) > now - SETTLED:
            return _hex(each, files.columns)
        _digests[stamps] = tuple(each)
    return _hex(_digests[stamps], files.columns)


def corpus(files: VectorFiles) -> Work[VectorCorpus]:
    """Check and copy all rows, or find that this was done before."""
    try:
        digest = yield from digest_of(files)
        folder = places.cache_folder() / FOLDER / _hex(VERSION, digest)[:32]
        found = _opened(files, digest, folder)
        if found is None:
            yield from _prepare(files, digest, folder)
            found = _opened(files, digest, folder)
    except OSError as error:
        raise UnreadableFile(f"{files.name} cannot be read: {error.strerror or error}.") from error
    if found is None:
        raise NotWritable(f"{folder} cannot be read back. Set STRATA_CACHE to a folder on another disk.")
    return found


def _hex(*parts: str | Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _opened(files: VectorFiles, digest: str, folder: Path) -> VectorCorpus | None:
    """The corpus in a folder of the cache; None if there is none, or a damaged one."""
    try:
        about = typed_json.read(About, typed_json.parsed((folder / ABOUT).read_bytes()))
        vectors, zero, ends = (np.load(folder / name, mmap_mode="r") for name in (VECTORS, ZERO, ENDS))
        with (folder / TEXTS).open("rb") as file:
            texts = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if ends[-1] else b""
    except (OSError, ValueError, EOFError, IndexError):
        return None
    if len(texts) != ends[-1] or about != About(files.rows, files.width) or vectors.shape != (files.rows, files.width):
        return None
    return VectorCorpus(files.name, digest, folder, vectors, zero, texts, ends, files.title, files.origin)


def _prepare(files: VectorFiles, digest: str, folder: Path) -> Work[None]:
    """Write the files of a corpus, which get their names together once the user's files are known to be the same."""
    _check_room(files, folder)
    ends, zero = np.empty(files.rows, dtype=np.int64), np.zeros(files.rows, dtype=bool)
    row = end = 0
    with ExitStack() as stack:
        # the first of them gets its name last: it says that the others are whole
        names = (ABOUT, TEXTS, VECTORS, ENDS, ZERO)
        about, texts, vectors, of_ends, of_zero = (
            stack.enter_context(places.whole_file(folder / name)) for name in names
        )
        shape = {"descr": "<f4", "fortran_order": False, "shape": (files.rows, files.width)}
        np.lib.format.write_array_header_2_0(vectors, shape)
        for block in files.blocks():
            some = slice(row, row := row + len(block.texts))
            if row > files.rows:
                raise changed(files.name)
            known = _unit(files.name, block.vectors, some.start)
            vectors.write(known.tobytes())
            zero[some] = ~known.any(axis=1)
            encoded = [text.encode("utf-8", "replace") for text in block.texts]
            texts.write(b"".join(encoded))
            ends[some] = end + np.cumsum([len(text) for text in encoded])
            end += sum(map(len, encoded))
            yield Progress(f"checking {files.name}", row, files.rows)
        try:
            same = row == files.rows and (yield from digest_of(files)) == digest
        except OSError:  # which the files of the cache would take for one of theirs
            same = False
        if not same:
            raise changed(files.name)
        if zero.all():
            raise DataError(f"Every vector of {files.name} is zero, which has no cosine. Encode its sentences again.")
        np.save(of_ends, ends)
        np.save(of_zero, np.flatnonzero(zero))
        about.write(json.dumps(asdict(About(files.rows, files.width))).encode())


def _unit(name: str, vectors: Numbers, first: int) -> Floats:
    """The vectors with length 1; an error for one that is not finite."""
    found = np.empty(vectors.shape, dtype=np.float32)
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
        found[start : start + ROWS] = unit(known)
    return found


def _check_room(files: VectorFiles, folder: Path) -> None:
    room = "Make room there, or set STRATA_CACHE to a folder on a larger disk."
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise NotWritable(f"{folder} cannot be written to: {error.strerror or error}. {room}") from error
    need = files.rows * (8 + 4 * files.width) + files.text_bytes
    if need + SPARE > free:
        raise NotWritable(
            f"{files.name} needs {in_words.size(need + SPARE)} in {folder.parent}, where {in_words.size(free)} are "
            f"free. {room}"
        )
