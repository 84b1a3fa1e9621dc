"""What a file format of vectors with sentences offers: rows in order, a block at a time, and what they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.errors import DataError

AT_ONCE = 8192  # rows of a block
WIDEST = 2**16  # a block has to fit into memory; encoders have at most some thousand dimensions

Numbers = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class VectorOrigin:
    """The encoder that made the vectors, as `embed` states it."""

    model: str
    model_digest: str
    max_length: int


@dataclass(frozen=True, eq=False)
class Block:
    """Rows with consecutive numbers: their vectors (row, width) as stored, and their sentences."""

    vectors: Numbers
    texts: Sequence[str]


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


def damaged(file: str, folder: str, how: str) -> DataError:
    """The error for a shard of an embedding that is not as `embed` wrote it."""
    return DataError(f"{file} of {folder} {how}. Start the same `embed` command again: it writes damaged shards again.")
