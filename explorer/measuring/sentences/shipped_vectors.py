"""Vectors that ship with an example run, so that its pages need no weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.data.kinds import digest_of
from explorer.measuring.scores.measure import Settings
from explorer.places import examples_folder, write_whole

VECTORS = "vectors"
UNDER = (Settings(),)  # what ships is in float32; pages show it under these settings


def read(model: str, sentences: Sequence[str], title: str) -> NDArray[np.float32] | None:
    """The vectors (sentence, width) of a layer & pooling of a model, by its digest; None if none ship."""
    try:
        found: NDArray[Any] = np.load(_path(examples_folder(), model, sentences, title), allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return found.astype(np.float32) if len(found) == len(sentences) else None


def ship(folder: Path, model: str, sentences: Sequence[str], title: str, vectors: NDArray[Any]) -> None:
    """Add vectors to those that ship, normalised and in half precision."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    small = (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float16)
    write_whole(_path(folder, model, sentences, title), lambda file: np.save(file, small))


def _path(folder: Path, model: str, sentences: Sequence[str], title: str) -> Path:
    return folder / VECTORS / f"{digest_of((model, title, *sentences))}.npy"
