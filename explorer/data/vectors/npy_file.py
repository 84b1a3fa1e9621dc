"""Vectors in a .npy file, with a text file of one sentence a line.

The file is read, never mapped into memory: one that is saved again meanwhile would end the process.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy_format

from explorer.data.tables import streamed_text
from explorer.data.tables.regular_files import check_regular
from explorer.data.vectors.vector_files import AT_ONCE, Block, Numbers, VectorFiles, changed, check_shape
from explorer.errors import DataError, UnreadableFile

_READERS = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}
# what numpy raises for a damaged header, which it evaluates as a literal of Python
_FAULTS = (ValueError, TypeError, SyntaxError, TokenError, RecursionError, MemoryError)


@dataclass(frozen=True)
class Header:
    """What a file states of its numbers, and where they begin."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    by_column: bool  # all numbers of a column, then those of the next one
    offset: int


class NpyFile(VectorFiles):
    """The two files; a pickle in the first is never opened."""

    def __init__(self, path: Path, text: Path | None = None) -> None:
        self._path, self._text = path, text or path.with_suffix(".txt")
        self._header = _header(path)
        check_regular(self._text)
        if not self._text.is_file():
            raise UnreadableFile(
                f"{path.name} needs its sentences, and there is no file {self._text}. Write them there, one a line "
                "in the order of the vectors; `search` takes another file with --text."
            )
        self.name, self.files, self.dtype = path.name, (path, self._text), self._header.dtype
        self.rows, self.width = self._header.shape
        self.text_bytes = self._text.stat().st_size

    def blocks(self) -> Iterator[Block]:
        """All rows in order; an error if the text has more lines or fewer."""
        sentences = (text for _, text in streamed_text.sentences(self._text))
        if _header(self._path) != self._header:
            raise changed(self.name)
        try:
            with self._path.open("rb") as file:
                for start in range(0, self.rows, AT_ONCE):
                    vectors = self._read(file, start, min(AT_ONCE, self.rows - start))
                    texts = list(islice(sentences, len(vectors)))
                    if len(texts) < len(vectors):
                        raise self._other_count(start + len(texts))
                    yield Block(vectors, texts)
        except OSError as error:
            raise _closed(self._path, error) from error
        more = sum(1 for _ in sentences)
        if more:
            raise self._other_count(self.rows + more)

    def _read(self, file: BinaryIO, start: int, rows: int) -> Numbers:
        if not self._header.by_column:
            return self._numbers(file, start * self.width, rows * self.width).reshape(rows, self.width)
        columns = [self._numbers(file, column * self.rows + start, rows) for column in range(self.width)]
        return np.stack(columns, axis=1)

    def _numbers(self, file: BinaryIO, first: int, count: int) -> Numbers:
        """Some numbers in the order of the file."""
        file.seek(self._header.offset + first * self.dtype.itemsize)
        data = file.read(count * self.dtype.itemsize)
        if len(data) < count * self.dtype.itemsize:
            raise changed(self.name)
        return np.frombuffer(data, dtype=self.dtype)

    def _other_count(self, lines: int) -> DataError:
        return DataError(
            f"{self._path.name} has {self.rows:,} vectors, but {self._text.name} has {lines:,} lines. Each line has to "
            "be the sentence of one vector, in the same order."
        )


def _header(path: Path) -> Header:
    """What a file states, if it holds vectors and has as many bytes as they take."""
    check_regular(path)
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(0)
            if file.read(2) == b"PK":
                raise _unreadable(path, "it is an archive of several arrays")
            file.seek(0)
            version = npy_format.read_magic(file)
            if version not in _READERS:
                raise _unreadable(path, f"its format is {version[0]}.{version[1]}, that of arrays with named fields")
            shape, by_column, dtype = _READERS[version](file)
            found = Header(shape, dtype, by_column, file.tell())
    except OSError as error:
        raise _closed(path, error) from error
    except _FAULTS as error:
        raise _unreadable(path, str(error) or type(error).__name__) from None
    if dtype.hasobject:
        raise DataError(
            f"{path.name} holds Python objects, which are never unpickled. Save the vectors as numbers: "
            "numpy.save(path, numpy.stack(vectors).astype('float32'))."
        )
    if any(type(length) is not int or length < 0 for length in shape):  # True is an int, too
        raise _unreadable(path, f"its header states the shape {reprlib.repr(shape)}")
    check_shape(path.name, shape, dtype)
    needed = found.offset + math.prod(shape) * dtype.itemsize
    if size != needed:
        raise UnreadableFile(
            f"{path.name} has {size:,} bytes; with the shape {reprlib.repr(shape)} of {dtype} it would have "
            f"{reprlib.repr(needed)}. It is cut off or damaged: write it again with numpy.save."
        )
    return found


def _closed(path: Path, error: OSError) -> UnreadableFile:
    return UnreadableFile(f"{path} cannot be read: {error.strerror or error}. Check its permissions.")


def _unreadable(path: Path, reason: str) -> UnreadableFile:
    reason = reason.partition("\n")[0][:120]
    return UnreadableFile(f"{path.name} is not a .npy file ({reason}). Write it with numpy.save.")
