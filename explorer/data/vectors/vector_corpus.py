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
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer import in_words, places, typed_json
from explorer.data.vectors import embedding_folder, vector_files
from explorer.data.vectors.vector_files import VectorFiles, VectorOrigin, changed, damaged_shard
from explorer.errors import DataError, NotWritable, StrataError, UnreadableFile, WrongColumns
from explorer.places import check_regular, given_path
from explorer.progress import Progress, Work

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

NPY, PARQUET = ".npy", ".parquet"
ROLES = ("sentence", "vector")  # of columns
FOLDER, ABOUT = "vectors", "corpus.json"
TEXTS, ENDS, VECTORS, ZERO = "texts.bin", "ends.npy", "vectors.npy", "zero.npy"
VERSION = "2"  # of what a folder holds; a new one if that changes, so that folders of the old one are not used
BYTES = 2**24  # of a file that are added to a digest at once
ROWS = 256  # that are normalised at once, in float64: they stay in the cache of a processor
SPARE = 2**26  # bytes of the disk that stay free
SETTLED = 10**9  # nanoseconds after a change in which another one could leave the same time
NAMED = 5  # rows with a zero vector that are named
_digests: dict[tuple[tuple[int, ...], ...], tuple[str, ...]] = {}  # of files that have not changed since


def is_vectors(source: str) -> bool:
    """Whether a source names vectors: a file by its ending, or a folder that `embed` wrote."""
    with suppress(OSError, StrataError):  # the path of its manifest is too long, or its own cannot be looked up
        path = given_path(source)
        if path.suffix.lower() == NPY or (path / embedding_folder.NAME).is_file():
            return True
        if path.suffix.lower() == PARQUET and path.is_file():  # one of text alone is a table
            import pyarrow as pa
            import pyarrow.parquet as pq

            with suppress(pa.ArrowException, ValueError, OSError):
                return any(vector_files.is_vector(field.type) for field in pq.read_schema(path))
    return False


def opened(
    source: str | Path,
    text: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    title: str | None = None,
) -> VectorFiles:
    """The vectors of a source.

    `text` is the file of the sentences of a .npy, `columns` are names by role, and `title` is the layer & pooling
    whose vectors are taken of those that `embed` wrote.
    """
    path, ending = given_path(source), Path(source).suffix.lower()
    chosen = dict(columns or {})
    for role in chosen:
        if role not in ROLES:
            raise WrongColumns(f"Vectors have no role {role!r}; their roles are {' and '.join(ROLES)}.")
    if not path.exists():
        raise UnreadableFile(f"There is no {path}. Check the spelling, or give the full path.")
    if text is not None and ending != NPY:
        raise DataError(f"{path.name} holds its own sentences, so a text file cannot be given. Leave it out.")
    if path.is_dir():
        return _of_embed(path, chosen, title)
    if ending == PARQUET:
        return vector_files.ParquetFiles(path.name, [path], chosen.get("sentence"), chosen.get("vector"), title)
    if ending != NPY:
        raise UnreadableFile(
            f"{path.name} is no file of vectors. Choose a folder that `embed` wrote, a {PARQUET} file with columns of "
            f"sentences and vectors, or a {NPY} file with a .txt file of the same name."
        )
    if chosen:
        raise WrongColumns(f"{path.name} has no columns. Leave their names out.")
    return vector_files.NpyFile(path, given_path(text) if text is not None else None)


def _of_embed(folder: Path, columns: Mapping[str, str], title: str | None) -> VectorFiles:
    """The shards of an embedding, which has to be complete and to hold its sentences."""
    check_regular(folder / embedding_folder.NAME)
    manifest = embedding_folder.read_manifest(folder) if (folder / embedding_folder.NAME).is_file() else None
    if manifest is None:
        raise UnreadableFile(
            f"{folder} has no {embedding_folder.NAME}, so `embed` did not write it. Choose its folder --out, or a file."
        )
    there = embedding_folder.shards_in(folder)
    lost = next((number for number in range(manifest.shards) if number not in there), None)
    if lost is not None:
        count = manifest.shards - sum(number < manifest.shards for number in there)
        raise DataError(
            f"{folder.name} lacks {count:,} of {manifest.shards:,} shards, such as "
            f"{embedding_folder.shard_path(folder, lost).name}. Start the same `embed` command again: it embeds the "
            "rest."
        )
    if not manifest.with_text:
        raise DataError(
            f"{folder.name} was embedded without its sentences. Embed the text again with --with-text into another "
            "folder."
        )
    paths = [embedding_folder.shard_path(folder, number) for number in range(manifest.shards)]
    for number, path in enumerate(paths):
        if not embedding_folder.has_rows(path, manifest, *manifest.range_of(number)):
            raise damaged_shard(
                path.name, folder.name, f"does not have the rows that its {embedding_folder.NAME} states"
            )
    found = vector_files.ParquetFiles(
        folder.name, paths, columns.get("sentence", embedding_folder.TEXT), columns.get("vector"), title
    )
    found.checksums = tuple(embedding_folder.stated_checksum(folder, path) for path in paths)
    return found


@dataclass(frozen=True, eq=False)
class VectorCorpus:
    """Vectors (row, width) and their sentences; nothing of them is read before it is used.

    A zero vector has no cosine with any other: its row keeps its number, and is never searched.
    """

    name: str
    digest: str  # of the files
    folder: Path  # of the cache; an index of the vectors is kept there too
    vectors: Floats  # with length 1
    zero: Rows  # rows whose vector is zero
    text_bytes: mmap.mmap | bytes  # all sentences in UTF-8, one after the other
    ends: Rows  # of each sentence in them
    title: str | None = None  # layer & pooling, if `embed` wrote them
    origin: VectorOrigin | None = None

    def __len__(self) -> int:
        return len(self.vectors)

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

    def text(self, row: int) -> str:
        """The sentence of a row."""
        return self.text_bytes[self._start(row) : int(self.ends[row])].decode("utf-8")

    def texts(self, rows: Sequence[int]) -> tuple[str, ...]:
        """The sentences of some rows."""
        return tuple(self.text(int(row)) for row in rows)

    def place_of(self, sentence: str) -> int | None:
        """The first row with this sentence; None if there is none."""
        wanted = sentence.encode("utf-8", "replace")
        at = self.text_bytes.find(wanted) if wanted else -1
        while at >= 0:
            row = int(np.searchsorted(self.ends, at, side="right"))
            if (self._start(row), int(self.ends[row])) == (at, at + len(wanted)):
                return row
            at = self.text_bytes.find(wanted, at + 1)
        return None

    def _start(self, row: int) -> int:
        return int(self.ends[row - 1]) if row else 0


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
        found = _opened(files, digest, folder)
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
        about = typed_json.parsed((folder / ABOUT).read_bytes())
        vectors, zero, ends = (np.load(folder / name, mmap_mode="r") for name in (VECTORS, ZERO, ENDS))
        with (folder / TEXTS).open("rb") as file:
            texts = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if ends[-1] else b""
    except (OSError, ValueError, EOFError, IndexError):
        return None
    if len(texts) != ends[-1] or about != _about(files) or vectors.shape != (files.rows, files.width):
        return None
    return VectorCorpus(files.name, digest, folder, vectors, zero, texts, ends, files.title, files.origin)


def _about(files: VectorFiles) -> dict[str, int]:
    return {"rows": files.rows, "width": files.width}


def _prepare(files: VectorFiles, digest: str, folder: Path) -> Work[None]:
    """Write the files of a corpus, which get their names together once the user's files are known to be the same."""
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
        for numbers, sentences in files.blocks():
            some = slice(row, row := row + len(sentences))
            if row > files.rows:
                raise changed(files.name)
            known = _unit_rows(files.name, numbers, some.start)
            vectors.write(known.tobytes())
            zero[some] = ~known.any(axis=1)
            encoded = [text.encode("utf-8", "replace") for text in sentences]
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
        about.write(json.dumps(_about(files)).encode())


def _unit_rows(name: str, vectors: vector_files.Numbers, first: int) -> Floats:
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


def unit(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """Normalise vectors (sentence, width) to length 1; a zero vector is unchanged."""
    largest = np.maximum(vectors.max(axis=1, keepdims=True, initial=0), -vectors.min(axis=1, keepdims=True, initial=0))
    # the power of two at or below it: dividing by that changes no digit. In float32 the squares of numbers from 2e19 on
    # would be infinite, and those of numbers below 3e-23 would be 0
    power = np.ldexp(largest.dtype.type(1), np.frexp(largest)[1] - 1)
    scaled = vectors / power
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.ascontiguousarray(scaled / np.where(lengths > 0, lengths, 1), dtype=np.float32)
