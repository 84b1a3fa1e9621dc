"""Check vectors on disk once, and write what makes any row of them quick to find.

The cache folder keeps, for every corpus, its sentences, the length of each vector, and the vectors themselves if their
file is compressed (parquet). The folder's name is the digest of the files, so a changed file is another corpus.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from explorer import in_words, places, typed_json
from explorer.data.vectors.vector_corpus import ENDS, LENGTHS, TEXTS, VECTORS, VectorCorpus
from explorer.data.vectors.vector_files import Numbers, VectorFiles
from explorer.errors import DataError, NotWritable, UnreadableFile
from explorer.progress import Progress, Work

Floats = NDArray[np.float32]

FOLDER, ABOUT = "vectors", "corpus.json"
BYTES = 2**24  # of a file that are added to a digest at once
SPARE = 2**26  # bytes of the disk that stay free
_digests: dict[tuple[tuple[str, int, int], ...], str] = {}  # of files that have not changed since


@dataclass(frozen=True)
class About:
    """What a folder of the cache holds."""

    rows: int
    width: int
    copied: bool  # the vectors are in the folder, not only in their own file


def digest_of(files: VectorFiles) -> Work[str]:
    """The SHA-256 of the files and of the chosen columns; read once, until a file changes."""
    stats = [path.stat() for path in files.files]
    key = tuple((str(path), stat.st_size, stat.st_mtime_ns) for path, stat in zip(files.files, stats, strict=True))
    if key not in _digests:
        sha, done, total = hashlib.sha256(), 0, sum(stat.st_size for stat in stats)
        for path, stat in zip(files.files, stats, strict=True):
            sha.update(stat.st_size.to_bytes(8, "little"))
            with path.open("rb") as file:
                while some := file.read(BYTES):
                    sha.update(some)
                    done += len(some)
                    yield Progress(f"reading {files.name}", done, total, "bytes")
        _digests[key] = sha.hexdigest()
    whole = hashlib.sha256("\n".join((_digests[key], *files.columns)).encode("utf-8", "replace"))
    return whole.hexdigest()


def corpus(files: VectorFiles) -> Work[VectorCorpus]:
    """Check all rows and note where each sentence is, or find that this was done before."""
    try:
        digest = yield from digest_of(files)
    except OSError as error:
        raise UnreadableFile(f"{files.name} cannot be read: {error.strerror or error}.") from error
    folder = places.cache_folder() / FOLDER / digest[:32]
    if _known(folder, files) is None:
        yield from _prepare(files, folder)
        if (yield from digest_of(files)) != digest:
            (folder / ABOUT).unlink(missing_ok=True)
            raise DataError(f"{files.name} changed while it was read. Search it again when it is complete.")
    own = files.mapped()
    vectors = np.load(folder / VECTORS, mmap_mode="r") if own is None else own
    return VectorCorpus(files.name, digest, folder, vectors, files.title, files.origin)


def _known(folder: Path, files: VectorFiles) -> About | None:
    try:
        about = typed_json.read(About, typed_json.parsed((folder / ABOUT).read_bytes()))
    except (OSError, ValueError):
        return None
    return about if about and (about.rows, about.width) == (files.rows, files.width) else None


def _prepare(files: VectorFiles, folder: Path) -> Work[None]:
    """Write the files of a corpus, and last the one that says they are whole."""
    copied = files.mapped() is None
    _check_room(files, folder, copied)
    lengths, ends = np.empty(files.rows, dtype=np.float32), np.empty(files.rows, dtype=np.int64)
    row = end = 0
    with ExitStack() as stack:
        texts = stack.enter_context(places.whole_file(folder / TEXTS))
        vectors = stack.enter_context(places.whole_file(folder / VECTORS)) if copied else None
        if vectors is not None:
            shape = {"descr": files.dtype.str, "fortran_order": False, "shape": (files.rows, files.width)}
            np.lib.format.write_array_header_2_0(vectors, shape)
        for block in files.blocks():
            some = slice(row, row := row + len(block.texts))
            lengths[some] = _lengths(files.name, block.vectors, some.start)
            encoded = [text.encode("utf-8", "replace") for text in block.texts]
            texts.write(b"".join(encoded))
            ends[some] = end + np.cumsum([len(text) for text in encoded])
            end = int(ends[row - 1])
            if vectors is not None:
                vectors.write(np.ascontiguousarray(block.vectors).tobytes())
            yield Progress(f"checking {files.name}", row, files.rows)
    places.write_whole(folder / LENGTHS, lambda file: np.save(file, lengths))
    places.write_whole(folder / ENDS, lambda file: np.save(file, ends))
    about = json.dumps(asdict(About(files.rows, files.width, copied)))
    places.write_whole(folder / ABOUT, lambda file: file.write(about.encode()))


def _lengths(name: str, vectors: Numbers, first: int) -> Floats:
    """The length of each vector in float32; an error for one that is not finite."""
    known = np.asarray(vectors, dtype=np.float32)
    finite = np.isfinite(known).all(1)
    if not finite.all():
        row = int(np.argmin(finite))
        value = known[row][~np.isfinite(known[row])][0]
        raise DataError(
            f"Row {first + row:,} of {name} has the number {value} in its vector. Every number has to be finite: leave "
            "such rows out, or encode their sentences again."
        )
    found = np.linalg.norm(known, axis=1)
    return np.where(found > 0, found, np.float32(1)).astype(np.float32)


def _check_room(files: VectorFiles, folder: Path, copied: bool) -> None:
    room = "Make room there, or set STRATA_CACHE to a folder on a larger disk."
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise NotWritable(f"{folder} cannot be written to: {error.strerror or error}. {room}") from error
    text = 0 if copied else files.files[-1].stat().st_size
    need = files.rows * (12 + (files.width * files.dtype.itemsize if copied else 0)) + text
    if need + SPARE > free:
        raise NotWritable(
            f"{files.name} needs {in_words.size(need)} in {folder.parent}, where {in_words.size(free)} are free. {room}"
        )
