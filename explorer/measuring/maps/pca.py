"""Which few directions hold most of what differs between sentences, and how is one picture turned onto another?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from explorer.measuring.scores.correlation import unit

Places = NDArray[np.float32]


def principal(
    one: NDArray[np.floating], other: NDArray[np.floating] | None, axes: int
) -> tuple[Places, Places | None, tuple[float, ...]]:
    """Places (sentence, axis) of A and of B by PCA, and the share of each one's variance that they hold.

    Vectors are brought to length 1, and each side to its own mean. Where the widths agree, both are seen along the
    same directions, those of A and B together; else B's picture is turned onto A's.
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
    """The second picture moved, turned or mirrored and brought to the size of the first, so that both agree best.

    Orthogonal Procrustes. The size is that of the first, not the one that agrees best, which is the smaller the less
    the two agree.
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
    """Directions (width, axis), widest first; each points where its largest part is positive."""
    _, directions = np.linalg.eigh(sum(side.T @ side for side in sides))
    widest = directions[:, ::-1][:, :axes]
    largest = np.take_along_axis(widest, np.abs(widest).argmax(0)[None], axis=0)
    return np.asarray(widest * np.where(largest < 0, -1, 1), dtype=np.float64)


def _padded(places: NDArray[np.float64], axes: int) -> Places:
    """Vectors narrower than the picture have nothing to say along its other axes."""
    return np.pad(places, ((0, 0), (0, axes - places.shape[1]))).astype(np.float32)


def _share(places: Places, side: NDArray[np.float64]) -> float:
    whole = float((side**2).sum())
    return float((places.astype(np.float64) ** 2).sum()) / whole if whole > 0 else float("nan")
