"""How alike are sentences, every one to every other, and in which order do those that are alike stand together?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def similarities(vectors: NDArray[Any]) -> Matrix:
    """Cosines (sentence, sentence) of vectors (sentence, width); missing where a vector has no length."""
    exact = vectors.astype(np.float64)
    lengths = np.sqrt((exact**2).sum(1))
    with np.errstate(invalid="ignore", divide="ignore"):
        unit = exact / lengths[:, None]
    unit[~np.isfinite(unit).all(1)] = np.nan
    return np.asarray(np.clip(unit @ unit.T, -1, 1))


def clustered(cosines: Matrix) -> NDArray[np.intp]:
    """An order in which alike sentences are neighbours: average linkage over 1 less the cosine, leaves turned so that
    neighbours are as alike as the tree allows."""
    count = len(cosines)
    if count < 3:
        return np.arange(count)
    from scipy.cluster.hierarchy import leaves_list, linkage

    # a sentence whose cosines are missing is as far from all as two that have nothing in common
    distances = 1 - np.nan_to_num(cosines, nan=0.0)
    above = distances[np.triu_indices(count, k=1)]
    tree = linkage(np.maximum(above, 0.0), "average", optimal_ordering=True)
    return np.asarray(leaves_list(tree), dtype=np.intp)


def apart(cosines: Matrix) -> Matrix:
    """The cosines of two different places, every two once."""
    return np.asarray(cosines[np.triu_indices(len(cosines), k=1)])


def widest_pair(one: Matrix, other: Matrix | None = None) -> tuple[int, int]:
    """The places of the two sentences whose cosine changed most, either way; with one side, of the most alike."""
    values = np.abs(other - one) if other is not None else one.copy()
    values[np.tril_indices(len(values))] = -np.inf
    first, second = np.unravel_index(int(np.argmax(np.nan_to_num(values, nan=-np.inf))), values.shape)
    return int(first), int(second)


def similarity_rows(sentences: tuple[str, ...], one: Matrix, other: Matrix | None) -> list[dict[str, object]]:
    """Every two sentences once, with their cosines."""
    rows: list[dict[str, object]] = []
    for first in range(len(sentences)):
        for second in range(first + 1, len(sentences)):
            row: dict[str, object] = {
                "number": first + 1,
                "other number": second + 1,
                "sentence": sentences[first],
                "other sentence": sentences[second],
                "cosine A": _rounded(one[first, second]),
            }
            if other is not None:
                row["cosine B"] = _rounded(other[first, second])
                row["B - A"] = _rounded(other[first, second] - one[first, second])
            rows.append(row)
    return rows


def _rounded(number: float) -> float | None:
    """Missing is missing: an empty cell."""
    return None if np.isnan(number) else round(float(number), 6)
