"""Vectors on disk with their sentences."""

from pathlib import Path

import numpy as np

ROWS = 80
TEXTS = [f"Sentence {row} about {'rain' if row % 2 else 'parrots'}." for row in range(ROWS)]


def two_clouds(folder: Path) -> Path:
    """A .npy file with the vectors of the sentences, those about rain apart from those about parrots."""
    drawn = np.random.default_rng(0)
    np.save(folder / "mine.npy", drawn.normal(size=(ROWS, 8)) + 5 * np.eye(8)[np.arange(ROWS) % 2])
    (folder / "mine.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    return folder / "mine.npy"
