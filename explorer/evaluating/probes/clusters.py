"""Cluster vectors by k-means, and compare the clusters with labels: V-measure with its interval.

V-measure (Rosenberg and Hirschberg 2007) is the harmonic mean of homogeneity and completeness: twice the mutual
information of labels and clusters, divided by the sum of their entropies. It is 1 if both are the same division, 0 if
one says nothing about the other.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from explorer.measuring.scores.bootstrap import LEVEL, RESAMPLES, draw_counts, edges

Floats = NDArray[np.float64]
Places = NDArray[np.intp]  # (text)
Vectors = NDArray[np.float32]  # (text, width)


def clusters(vectors: Vectors, count: int, batch: int, starts: int | str, seed: int) -> Places:
    """The cluster of each vector, by mini-batch k-means of scikit-learn."""
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.exceptions import ConvergenceWarning

    model = MiniBatchKMeans(n_clusters=count, batch_size=batch, n_init=starts, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct vectors than clusters
        return np.asarray(model.fit_predict(vectors), dtype=np.intp)


def v_measure(counts: Floats) -> Floats:
    """V-measure of the numbers of texts (class, cluster, resample)."""

    def entropy(of: Floats) -> Floats:
        shares = of / of.sum(axis=0)
        return np.asarray(-(shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=0))

    classes, found = entropy(counts.sum(axis=1)), entropy(counts.sum(axis=0))
    shared = classes + found - entropy(counts.reshape(-1, counts.shape[-1]))
    both = classes + found
    return np.where(both > 0, 2 * np.maximum(shared, 0.0) / np.where(both > 0, both, 1.0), 1.0)


def _table_of(labels: Places, found: Places) -> Floats:
    """The numbers of texts (class, cluster, 1)."""
    counts = np.zeros((labels.max() + 1, found.max() + 1))
    np.add.at(counts, (labels, found), 1)
    return counts[..., None]


def mean_v_measure(labels: Places, drawn: Sequence[Places], found: Sequence[Places]) -> float:
    """The mean V-measure × 100 of sets or draws of rows, with the clusters of each."""
    every = (v_measure(_table_of(labels[rows], of)) for rows, of in zip(drawn, found, strict=True))
    return 100 * float(np.mean(list(every)))


def ends(
    labels: Places, texts: Places, drawn: Sequence[Places], found: Sequence[Places], seed: int = 0
) -> tuple[float, float]:
    """The 95 % interval of `mean_v_measure`, of resampled texts whose clusters stay as they are.

    `texts` has the number of the text in each row: equal texts are drawn together, in all sets or draws. A resample has
    fewer distinct texts, which share more information with any clusters, so resamples are centred on the score.
    """
    from scipy.sparse import csr_array

    distinct = int(texts.max()) + 1
    tables = []
    for rows, of in zip(drawn, found, strict=True):
        width = int(of.max()) + 1
        size = (int(labels.max()) + 1) * width
        cells = csr_array((np.ones(len(rows)), (labels[rows] * width + of, texts[rows])), shape=(size, distinct))
        tables.append((cells, width))
    draws: list[Floats] = []
    for times in draw_counts(distinct, RESAMPLES, np.random.default_rng(seed)):
        scores = [v_measure((cells @ times).reshape(-1, width, times.shape[1])) for cells, width in tables]
        draws.append(np.mean(scores, axis=0))
    every, score = 100 * np.concatenate(draws), mean_v_measure(labels, drawn, found)
    low, high = score + np.quantile(every - every.mean(), edges(LEVEL))
    return max(0.0, float(low)), min(100.0, float(high))
