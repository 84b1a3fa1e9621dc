"""PCA of two sets of vectors, and Procrustes alignment of two maps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from explorer.measuring.scores.correlation import unit

Places = NDArray[np.float32]


def principal(
    one: NDArray[np.floating], other: NDArray[np.floating] | None, axes: int
) -> tuple[Places, Places | None, tuple[float, ...]]:
    """Positions (sentence, axis) of A and of B by PCA, and the share of the variance that they explain.

    Vectors are normalised, and each side is centred. If the widths agree, both are projected on the same components, of
    A and B together; else B's map is rotated onto A's.
    """
    sides = [_centred(side) for side in (one, other) if side is not None]
    if len(sides) == 2 and sides[0].shape[1] == sides[1].shape[1]:
        directions = [_directions(sides, axes)] * 2
    else:
        directions = [_directions([side], axes) for side in sides]
    found = [_padded(side @ along, axes) for side, along in zip(sides, directions, strict=True)]
    shares = tuple(_share(places, side) for places, side in zip(found, sides, strict=True))
    if other is None:
        return found[0], None, shares
    if one.shape[1] != other.shape[1]:
        found[1] = turned_onto(found[0], found[1])
    return found[0], found[1], shares


def turned_onto(still: Places, turned: Places, same_size: bool = True) -> Places:
    """Align the second map to the first by translation, rotation, reflection and scaling.

    Orthogonal Procrustes, but scaled to the size of the first: the best-fitting size would shrink as the two differ.
    """
    from scipy.linalg import orthogonal_procrustes

    one, other = still - still.mean(0), turned - turned.mean(0)
    sizes = [float(np.linalg.norm(side)) for side in (one, other)]
    if min(sizes) == 0:
        return np.asarray(other + still.mean(0), dtype=np.float32)
    rotation, _ = orthogonal_procrustes(other, one)
    factor = sizes[0] / sizes[1] if same_size else 1.0
    return np.asarray(other @ rotation * factor + still.mean(0), dtype=np.float32)


def _centred(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    known = unit(vectors).astype(np.float64)
    return np.asarray(known - known.mean(0), dtype=np.float64)


def _directions(sides: list[NDArray[np.float64]], axes: int) -> NDArray[np.float64]:
    """Components (width, axis), largest variance first; the sign makes the largest entry positive."""
    _, directions = np.linalg.eigh(sum(side.T @ side for side in sides))
    widest = directions[:, ::-1][:, :axes]
    largest = np.take_along_axis(widest, np.abs(widest).argmax(0)[None], axis=0)
    return np.asarray(widest * np.where(largest < 0, -1, 1), dtype=np.float64)


def _padded(places: NDArray[np.float64], axes: int) -> Places:
    """Pad vectors with fewer dimensions than the map with zeros."""
    return np.pad(places, ((0, 0), (0, axes - places.shape[1]))).astype(np.float32)


def _share(places: Places, side: NDArray[np.float64]) -> float:
    whole = float((side**2).sum())
    return float((places.astype(np.float64) ** 2).sum()) / whole if whole > 0 else float("nan")
