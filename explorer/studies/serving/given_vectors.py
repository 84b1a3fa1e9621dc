"""Read the vectors that a server computed, each with its sentence, and choose those that are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.data.vectors.vector_files import VectorFiles
from explorer.errors import DataError
from explorer.knobs import Knobs, knob
from explorer.progress import Progress, Work

Floats = NDArray[np.float64]
LARGEST = 20_000  # rows that are kept: a shuffled row is looked for among them


@dataclass(frozen=True)
class VerifyOptions(Knobs):
    """Which vectors are compared."""

    text: str | None = knob(
        None,
        metavar="FILE",
        empty="its name with .txt",
        help="The sentences of a .npy file or of the .json answer of an API, one a line in the order of the vectors.",
    )
    column: tuple[str, ...] = knob(
        (),
        metavar="ROLE=NAME",
        repeated=True,
        help="Of a .parquet, .jsonl or .json file, the column that has a role: sentence, vector.",
    )
    sentences: int = knob(
        256,
        low=1,
        high=LARGEST,
        help="Most sentences that are compared: a quarter are the longest, the others are spread over the file.",
    )


@dataclass(frozen=True, eq=False)
class GivenVectors:
    """Vectors (row, width) that a server computed, with their sentences."""

    name: str
    sentences: tuple[str, ...]
    vectors: Floats
    left_out: int = 0  # rows after those

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def width(self) -> int:
        """The dimension of the vectors."""
        return int(self.vectors.shape[1])

    def compared(self, most: int) -> NDArray[np.intp]:
        """The rows that are compared, in order: all, or the longest quarter and others spread over the rest."""
        if len(self) <= most:
            return np.arange(len(self))
        by_length = np.argsort([-len(text) for text in self.sentences], kind="stable")
        longest, others = by_length[: most // 4], np.sort(by_length[most // 4 :])
        spread = np.linspace(0, len(others) - 1, most - len(longest)).round().astype(np.intp)
        return np.sort(np.concatenate([longest, others[spread]]))


def read(files: VectorFiles) -> Work[GivenVectors]:
    """The vectors of files; all rows are checked, and the first `LARGEST` are kept."""
    sentences: list[str] = []
    vectors: list[Floats] = []
    rows = 0
    for numbers, texts in files.blocks():
        _check_finite(files.name, numbers, rows)
        room = LARGEST - len(sentences)
        if room > 0:
            sentences += texts[:room]
            vectors.append(np.asarray(numbers[:room], dtype=np.float64))
        rows += len(texts)
        yield Progress(f"reading {files.name}", rows, files.rows)
    return GivenVectors(files.name, tuple(sentences), np.concatenate(vectors), rows - len(sentences))


def of_arrays(name: str, sentences: Sequence[str], vectors: NDArray[Any]) -> GivenVectors:
    """Vectors (row, width) in memory with their sentences, after the same checks."""
    numbers = np.asarray(vectors, dtype=np.float64)
    if numbers.ndim != 2 or not numbers.size:
        raise DataError(f"{name} have the shape {numbers.shape}. Give two axes, (sentence, width), with a row each.")
    if len(sentences) != len(numbers):
        raise DataError(
            f"{name}: there are {len(numbers):,} vectors and {len(sentences):,} sentences. Give a vector for each "
            "sentence, in the same order."
        )
    _check_finite(name, numbers, 0)
    return GivenVectors(name, tuple(sentences[:LARGEST]), numbers[:LARGEST], max(0, len(numbers) - LARGEST))


def check(given: GivenVectors) -> None:
    """Refuse vectors that cannot be compared: all of them zero."""
    if not given.vectors.any():
        raise DataError(f"Every vector of {given.name} is zero. Look for an error in the answers of the server.")


def _check_finite(name: str, vectors: NDArray[Any], first: int) -> None:
    wrong = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(wrong):
        row = int(wrong[0])
        number = vectors[row][~np.isfinite(vectors[row])][0]
        raise DataError(
            f"Row {first + row:,} of {name} has the number {number} in its vector. Every number has to be finite: NaN "
            "often comes from float16 or from a text without tokens. Encode this sentence again, or leave it out."
        )
