"""Cosine matrix of sentences, ordered by hierarchical clustering."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.in_words import rounded

Matrix = NDArray[np.float64]


def similarities(vectors: NDArray[Any]) -> Matrix:
    """Cosines (sentence, sentence) of vectors (sentence, width); missing for zero vectors."""
    # equal vectors once, since a matrix product rounds equal rows differently
    distinct, places = np.unique(vectors, axis=0, return_inverse=True)
    exact = distinct.astype(np.float64)
    lengths = np.sqrt((exact**2).sum(1))
    with np.errstate(invalid="ignore", divide="ignore"):
        unit = exact / lengths[:, None]
    known = np.isfinite(unit).all(1)
    unit[~known] = np.nan
    cosines = np.clip(unit @ unit.T, -1, 1)
    np.fill_diagonal(cosines, np.where(known, 1.0, np.nan))
    return np.asarray(cosines[np.ix_(places, places)])


def clustered(cosines: Matrix) -> NDArray[np.intp]:
    """An order with similar sentences side by side: average linkage on 1 - cosine, with optimal leaf ordering."""
    count = len(cosines)
    if count < 3:
        return np.arange(count)
    from scipy.cluster.hierarchy import leaves_list, linkage

    # missing cosines count as distance 1
    distances = 1 - np.nan_to_num(cosines, nan=0.0)
    above = distances[np.triu_indices(count, k=1)]
    tree = linkage(np.maximum(above, 0.0), "average", optimal_ordering=True)
    order = np.asarray(leaves_list(tree), dtype=np.intp)
    return order if order[0] < order[-1] else order[::-1]  # of the two directions, start with the earlier sentence


def apart(cosines: Matrix) -> Matrix:
    """The cosines of all pairs of different sentences."""
    return np.asarray(cosines[np.triu_indices(len(cosines), k=1)])


def foremost(one: Matrix, other: Matrix | None, most: int) -> list[tuple[int, int]]:
    """The positions of the pairs whose cosine changed most; with one side, of the most similar pairs."""
    values = apart(one if other is None else np.abs(other - one))
    firsts, seconds = np.triu_indices(len(one), k=1)
    # stable: ties in the order of the input
    order = np.argsort(-np.nan_to_num(values, nan=-np.inf), kind="stable")[:most]
    return [(int(firsts[place]), int(seconds[place])) for place in order]


def similarity_rows(sentences: tuple[str, ...], one: Matrix, other: Matrix | None) -> list[dict[str, object]]:
    """A row for every pair of sentences, with cosines."""
    pairs = zip(*np.triu_indices(len(sentences), k=1), strict=True)
    return [pair_row(sentences, one, other, (int(first), int(second))) for first, second in pairs]


def pair_row(sentences: tuple[str, ...], one: Matrix, other: Matrix | None, pair: tuple[int, int]) -> dict[str, object]:
    """Two sentences, by number and in full, with their cosines."""
    first, second = pair
    row: dict[str, object] = {
        "number": first + 1,
        "other number": second + 1,
        "sentence": sentences[first],
        "other sentence": sentences[second],
        "cosine A": rounded(one[pair], 6),
    }
    if other is not None:
        row["cosine B"] = rounded(other[pair], 6)
        row["B - A"] = rounded(other[pair] - one[pair], 6)
    return row
