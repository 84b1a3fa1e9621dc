"""A corpus of vectors on disk, mapped into memory: any row and its sentence at once."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.data.vectors.vector_files import VectorOrigin

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

TEXTS, ENDS, VECTORS, ZERO = "texts.bin", "ends.npy", "vectors.npy", "zero.npy"
NAMED = 5  # rows with a zero vector that are named


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
        return f"{len(self):,} sentences of {self.name}, with vectors of width {self.width:,}.{self._left_out}"

    @property
    def _left_out(self) -> str:
        if not len(self.zero):
            return ""
        rows = ", ".join(f"{row:,}" for row in self.zero[:NAMED].tolist()) + (", …" if len(self.zero) > NAMED else "")
        if len(self.zero) == 1:
            return f" Row {rows} is left out: its vector is zero, which has no cosine."
        return f" {len(self.zero):,} rows are left out: their vectors are zero, which has no cosine (rows {rows})."

    def rows(self, which: slice | NDArray[np.integer[Any]]) -> Floats:
        """The vectors of some rows (row, width), with length 1."""
        return np.asarray(self.vectors[which])

    def rows_searched(self, places: Rows) -> Rows:
        """The rows at some places among those that are searched."""
        before = self.zero - np.arange(len(self.zero))  # of each zero vector: the rows before it that are searched
        return places + np.searchsorted(before, places, side="right")

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
