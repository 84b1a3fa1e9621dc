"""Files of vectors with a sentence for each: .npy with a text file, and parquet, read in order a block at a time.

The files are read, never mapped into memory: one that is saved again meanwhile would end the process.
"""

import math
import reprlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from explorer import typed_json
from explorer.data.tables import text_files
from explorer.data.vectors.embedding_folder import ABOUT
from explorer.errors import DataError, UnreadableFile, WrongColumns
from explorer.places import check_regular

AT_ONCE = 8192  # rows of a block
WIDEST = 2**16  # a block has to fit into memory; encoders have at most some thousand dimensions
TEXT_NAMES = ("text", "sentence")  # usual names of columns, tried in this order
VECTOR_NAMES = ("model default", "vector", "embedding", "embeddings")
LISTED = 12  # columns that an error names
_READERS = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}
# what numpy raises for a damaged header, which it evaluates as a literal of Python
_FAULTS = (ValueError, TypeError, SyntaxError, TokenError, RecursionError, MemoryError)

Numbers = NDArray[np.floating[Any]]
Block = tuple[Numbers, Sequence[str]]  # of rows with consecutive numbers: vectors (row, width) as stored, and sentences


@dataclass(frozen=True)
class VectorOrigin:
    """The encoder that made the vectors, as `embed` states it."""

    model: str
    model_digest: str
    max_length: int


class VectorFiles(ABC):
    """Vectors (row, width) in one or several files, with a sentence for each; only their headers are read at first."""

    name: str
    files: tuple[Path, ...]  # whose bytes decide the corpus, together with the columns
    columns: tuple[str, ...] = ()  # of the sentences and of the vectors, if the files have columns
    rows: int
    width: int
    dtype: np.dtype[Any]
    title: str | None = None  # layer & pooling, if `embed` wrote them
    origin: VectorOrigin | None = None
    checksums: tuple[str | None, ...] = ()  # that `embed` wrote for each of the files, if it did
    text_bytes: int = 0  # of the sentences, as far as a header states it

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """All rows in order."""


def check_shape(name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Refuse what is no array of vectors."""
    if dtype.kind != "f" or dtype.itemsize > 8:
        raise DataError(f"{name} holds {dtype}. Vectors are float16, float32 or float64: convert them with astype.")
    if len(shape) != 2:
        raise DataError(
            f"{name} has the shape {shape}. Vectors have two axes, (sentence, width): save one row per sentence."
        )
    if min(shape) < 1:
        raise DataError(f"{name} has the shape {shape}, so no number is in it. Choose a file with at least one vector.")
    if shape[1] > WIDEST:
        raise DataError(f"{name} has vectors of width {shape[1]:,}; at most {WIDEST:,} is possible. Check its axes.")


def changed(name: str) -> DataError:
    """The error for files that were written to while they were read."""
    return DataError(f"{name} changed while it was read. Search it again when it is complete.")


def damaged_shard(file: str, folder: str, how: str) -> DataError:
    """The error for a shard of an embedding that is not as `embed` wrote it."""
    return DataError(f"{file} of {folder} {how}. Start the same `embed` command again: it writes damaged shards again.")


def text_of(path: Path, text: Path | None) -> Path:
    """The text file with the sentences of vectors: the given one, else the one with the name of the vectors."""
    lines = text or path.with_suffix(".txt")
    check_regular(lines)
    if not lines.is_file():
        raise UnreadableFile(
            f"{path.name} needs its sentences, and there is no file {lines}. Write them there, one a line in the order "
            "of the vectors; `search` and `verify` take another file with --text."
        )
    return lines


def own_sentences(name: str) -> DataError:
    """The error for a text file of sentences that the file of the vectors holds itself."""
    return DataError(f"{name} holds its own sentences, so a text file cannot be given. Leave it out.")


def other_count(name: str, rows: int, text: Path, lines: int) -> DataError:
    """The error for vectors whose text file has more lines, or fewer."""
    return DataError(
        f"{name} has {rows:,} vectors, but {text.name} has {lines:,} lines. Each line has to be the sentence of one "
        "vector, in the same order."
    )


class NpyFile(VectorFiles):
    """A .npy file and the text file of its sentences; a pickle in the first is never opened."""

    def __init__(self, path: Path, text: Path | None = None) -> None:
        self._path, self._header = path, _npy_header(path)
        self._text = text_of(path, text)
        self.name, self.files = path.name, (path, self._text)
        (self.rows, self.width), self.dtype, self._by_column, self._offset = self._header
        self.text_bytes = self._text.stat().st_size

    def blocks(self) -> Iterator[Block]:
        """All rows in order; an error if the text has more lines or fewer."""
        sentences = (text for _, text in text_files.sentences(self._text))
        if _npy_header(self._path) != self._header:
            raise changed(self.name)
        try:
            with self._path.open("rb") as file:
                for start in range(0, self.rows, AT_ONCE):
                    rows = min(AT_ONCE, self.rows - start)
                    if self._by_column:
                        firsts = range(start, self.width * self.rows, self.rows)
                        vectors = np.stack([self._numbers(file, first, rows) for first in firsts], axis=1)
                    else:
                        vectors = self._numbers(file, start * self.width, rows * self.width).reshape(rows, self.width)
                    texts = list(islice(sentences, len(vectors)))
                    if len(texts) < len(vectors):
                        raise other_count(self.name, self.rows, self._text, start + len(texts))
                    yield vectors, texts
        except OSError as error:
            raise closed(self._path, error) from error
        more = sum(1 for _ in sentences)
        if more:
            raise other_count(self.name, self.rows, self._text, self.rows + more)

    def _numbers(self, file: BinaryIO, first: int, count: int) -> Numbers:
        """Some numbers in the order of the file."""
        file.seek(self._offset + first * self.dtype.itemsize)
        data = file.read(count * self.dtype.itemsize)
        if len(data) < count * self.dtype.itemsize:
            raise changed(self.name)
        return np.frombuffer(data, dtype=self.dtype)


def _npy_header(path: Path) -> tuple[tuple[int, ...], np.dtype[Any], bool, int]:
    """Shape, type, whether all numbers of a column come before those of the next, and the offset of the numbers.

    An error if the file holds no vectors, or has another number of bytes than they take.
    """
    check_regular(path)
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(0)
            if file.read(2) == b"PK":
                raise _damaged_npy(path, "it is an archive of several arrays")
            file.seek(0)
            version = npy_format.read_magic(file)
            if version not in _READERS:
                raise _damaged_npy(path, f"its format is {version[0]}.{version[1]}, that of arrays with named fields")
            shape, by_column, dtype = _READERS[version](file)
            offset = file.tell()
    except OSError as error:
        raise closed(path, error) from error
    except _FAULTS as error:
        raise _damaged_npy(path, str(error) or type(error).__name__) from None
    if dtype.hasobject:
        raise DataError(
            f"{path.name} holds Python objects, which are never unpickled. Save the vectors as numbers: "
            "numpy.save(path, numpy.stack(vectors).astype('float32'))."
        )
    if any(type(length) is not int or length < 0 for length in shape):  # True is an int, too
        raise _damaged_npy(path, f"its header states the shape {reprlib.repr(shape)}")
    check_shape(path.name, shape, dtype)
    needed = offset + math.prod(shape) * dtype.itemsize
    if size != needed:
        raise UnreadableFile(
            f"{path.name} has {size:,} bytes; with the shape {reprlib.repr(shape)} of {dtype} it would have "
            f"{reprlib.repr(needed)}. It is cut off or damaged: write it again with numpy.save."
        )
    return shape, dtype, by_column, offset


def closed(path: Path, error: OSError) -> UnreadableFile:
    """The error for a file that the system does not let read."""
    return UnreadableFile(f"{path} cannot be read: {error.strerror or error}. Check its permissions.")


def _damaged_npy(path: Path, reason: str) -> UnreadableFile:
    reason = reason.partition("\n")[0][:120]
    return UnreadableFile(f"{path.name} is not a .npy file ({reason}). Write it with numpy.save.")


class ParquetFiles(VectorFiles):
    """Parquet files with the same columns, one after the other; columns that are not named are recognised."""

    def __init__(
        self,
        name: str,
        paths: Sequence[Path],
        text: str | None = None,
        vectors: str | None = None,
        title: str | None = None,
    ) -> None:
        import pyarrow as pa

        self.name, self.files = name, tuple(paths)
        schema = _opened_parquet(paths[0]).schema_arrow
        try:
            stated = typed_json.parsed((schema.metadata or {}).get(ABOUT, b"null"))
        except ValueError:
            stated = None
        self.origin = typed_json.read(VectorOrigin, stated)
        if self.origin is not None:  # `embed` names columns of vectors by their layer & pooling
            vectors = vectors or title
        kinds = {field.name: field.type for field in schema}
        stored = {name: kind.value_type if pa.types.is_dictionary(kind) else kind for name, kind in kinds.items()}
        texts = [name for name, kind in stored.items() if pa.types.is_string(kind) or pa.types.is_large_string(kind)]
        lists = [column for column, kind in kinds.items() if is_vector(kind)]
        self._text = chosen(name, "text", "sentences", texts, text, TEXT_NAMES)
        self._vectors = chosen(name, "lists of floats", "vectors", lists, vectors, VECTOR_NAMES)
        self.columns = self._text, self._vectors
        kind = kinds[self._vectors]
        self.dtype = np.dtype(kind.value_type.to_pandas_dtype())
        self.rows = sum(_opened_parquet(path).metadata.num_rows for path in paths)
        self.width = kind.list_size if pa.types.is_fixed_size_list(kind) else self._first_width()
        check_shape(name, (self.rows, self.width), self.dtype)
        self.title = self._vectors if self.origin else None

    def blocks(self) -> Iterator[Block]:
        """All rows in order."""
        import pyarrow as pa

        row = 0
        for path in self.files:
            try:
                for batch in _opened_parquet(path).iter_batches(AT_ONCE, columns=list(self.columns)):
                    vectors = self._values(batch.column(self._vectors), row)
                    texts = [
                        text if text and not text.isspace() else "" for text in batch.column(self._text).to_pylist()
                    ]
                    row += len(texts)
                    yield vectors, texts
            except KeyError:
                raise WrongColumns(
                    f"{path.name} lacks '{self._text}' or '{self._vectors}', which {self.files[0].name} has. All files "
                    "need the same columns."
                ) from None
            except (OSError, ValueError, pa.ArrowException) as error:
                raise _damaged_parquet(path, error) from None

    def _values(self, column: Any, row: int) -> Numbers:
        """The vectors of a column; one that is missing or of another width is an error."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_fixed_size_list(column.type):
            widths = np.where(column.is_valid().to_numpy(zero_copy_only=False), self.width, -1)
        else:
            widths = pc.fill_null(pc.list_value_length(column), -1).to_numpy(zero_copy_only=False)
        (others,) = np.nonzero(widths != self.width)
        if len(others):
            width = int(widths[others[0]])
            found = "no vector" if width < 0 else f"a vector of width {width:,}; that of row 0 is {self.width:,}"
            raise DataError(
                f"Row {row + int(others[0]):,} of {self.name} has {found}. Every row of '{self._vectors}' needs a "
                "vector of the same width."
            )
        numbers = column.flatten().to_numpy(zero_copy_only=False)  # a missing number becomes NaN
        return np.asarray(numbers, dtype=self.dtype).reshape(len(column), self.width)

    def _first_width(self) -> int:
        import pyarrow as pa

        for path in self.files:
            try:
                for batch in _opened_parquet(path).iter_batches(1, columns=[self._vectors]):
                    return len(batch.column(0)[0].as_py() or ())
            except (OSError, ValueError, pa.ArrowException) as error:
                raise _damaged_parquet(path, error) from None
        return 0


def _opened_parquet(path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    check_regular(path)
    try:
        return pq.ParquetFile(path, page_checksum_verification=True)  # `embed` writes the checksums
    except (OSError, ValueError, pa.ArrowException) as error:
        raise _damaged_parquet(path, error) from None


def is_vector(kind: Any) -> bool:
    """Whether a column of this type holds vectors: lists of floats."""
    import pyarrow as pa

    lists = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return bool(lists and pa.types.is_floating(kind.value_type))


def chosen(name: str, kind: str, what: str, there: Sequence[str], asked: str | None, usual: Sequence[str]) -> str:
    """The column that is asked for; else the one with a usual name, or the only one."""
    listed = ", ".join(f"'{one}'" for one in there[:LISTED]) or "none"
    if asked is not None and asked not in there:
        raise WrongColumns(f"{name} has no column '{asked}' of {kind} for the {what}. Columns of {kind}: {listed}.")
    found = asked or next((one for one in usual if one in there), there[0] if len(there) == 1 else None)
    if found is None:
        step = "Rename the right one to" if there else "Add one, named"
        raise WrongColumns(
            f"{name} has {len(there)} columns of {kind} that could hold the {what}: {listed}. {step} '{usual[-1]}'; "
            "`search` and `verify` take its name with --column."
        )
    return found


def _damaged_parquet(path: Path, error: Exception) -> UnreadableFile:
    reason = str(error).partition("\n")[0][:200]
    return UnreadableFile(f"{path.name} is not a readable Parquet file ({reason}). Write it again.")
