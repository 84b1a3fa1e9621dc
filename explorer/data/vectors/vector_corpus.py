"""A corpus of vectors on disk, mapped into memory: any row and its sentence at once."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.data.vectors.vector_files import AT_ONCE, Numbers, Origin

Floats = NDArray[np.float32]

TEXTS, ENDS, LENGTHS, VECTORS = "texts.bin", "ends.npy", "lengths.npy", "vectors.npy"


@dataclass(frozen=True, eq=False)
class VectorCorpus:
    """Vectors (row, width) and their sentences; nothing of them is read before it is used."""

    name: str
    digest: str  # of the files
    folder: Path  # of the cache; an index of the vectors is kept there too
    vectors: Numbers  # as stored; use `block` or `rows` for length 1
    title: str | None = None  # layer & pooling, if `embed` wrote them
    origin: Origin | None = None

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def width(self) -> int:
        """The dimension of the vectors."""
        return int(self.vectors.shape[1])

    @property
    def note(self) -> str:
        """What is searched, in words."""
        return f"{len(self):,} sentences of {self.name}, with vectors of width {self.width:,}."

    @cached_property
    def lengths(self) -> Floats:
        """The length of each vector as stored; 1 for a zero vector, which stays one."""
        found: Floats = np.load(self.folder / LENGTHS, mmap_mode="r")
        return found

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        found: NDArray[np.int64] = np.load(self.folder / ENDS, mmap_mode="r")
        return found

    @cached_property
    def _texts(self) -> mmap.mmap | bytes:
        with (self.folder / TEXTS).open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if self._ends[-1] else b""

    def rows(self, which: slice | NDArray[np.integer[Any]]) -> Floats:
        """Some rows (row, width), with length 1."""
        return np.asarray(self.vectors[which], dtype=np.float32) / self.lengths[which][:, None]

    def text(self, row: int) -> str:
        """The sentence of a row."""
        return self._texts[self._start(row) : int(self._ends[row])].decode("utf-8")

    def texts(self, rows: Sequence[int]) -> tuple[str, ...]:
        """The sentences of some rows."""
        return tuple(self.text(int(row)) for row in rows)

    def place_of(self, sentence: str) -> int | None:
        """The first row with this sentence; None if there is none."""
        wanted = sentence.encode("utf-8", "replace")
        at = self._texts.find(wanted) if wanted else -1
        while at >= 0:
            row = int(np.searchsorted(self._ends, at, side="right"))
            if (self._start(row), int(self._ends[row])) == (at, at + len(wanted)):
                return row
            at = self._texts.find(wanted, at + 1)
        return None

    def blocks(self) -> Iterator[tuple[int, Floats]]:
        """All rows in order, with length 1, and the number of the first of each block."""
        for start in range(0, len(self), AT_ONCE):
            yield start, self.rows(slice(start, start + AT_ONCE))

    def _start(self, row: int) -> int:
        return int(self._ends[row - 1]) if row else 0
