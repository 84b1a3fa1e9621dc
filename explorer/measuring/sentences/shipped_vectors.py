"""Vectors that ship with an example run, whose weights do not: what its pages show without encoding anything."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.data.kinds import digest_of
from explorer.places import examples_folder, write_whole

VECTORS = "vectors"


def read(model: str, sentences: Sequence[str], title: str) -> NDArray[np.float32] | None:
    """The vectors (sentence, width) of a layer & pooling of a model, told by its digest; None where none ship."""
    try:
        found: NDArray[Any] = np.load(_path(examples_folder(), model, sentences, title), allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return found.astype(np.float32) if len(found) == len(sentences) else None


def ship(folder: Path, model: str, sentences: Sequence[str], title: str, vectors: NDArray[Any]) -> None:
    """Put vectors among those that ship, at length 1 and in half precision."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    small = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float16)
    write_whole(_path(folder, model, sentences, title), lambda file: np.save(file, small))


def _path(folder: Path, model: str, sentences: Sequence[str], title: str) -> Path:
    return folder / VECTORS / f"{digest_of((model, title, *sentences))}.npy"
