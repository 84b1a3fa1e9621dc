"""Measure the rankings of a search: nDCG, MRR, recall and MAP of every query, as BEIR and MTEB define them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from explorer.data.retrieval.retrieval_set import Judged

Places = NDArray[np.int64]

NDCG, MRR, MAP = "nDCG@10", "MRR@10", "MAP@100"
RECALLS = {f"Recall@{k}": k for k in (1, 10, 100)}
MEASURES = (NDCG, MRR, *RECALLS, MAP)  # the first is the main one
TOP = 10
DEPTH = 100  # documents of a ranking


def measures(places: Places, judgements: Sequence[Judged]) -> NDArray[np.float64]:
    """Each measure of each query (measure, query), 0 to 1, from the documents found (query, rank), -1 for none."""
    grades = _grades(places, judgements)
    hits, relevant = grades > 0, np.array([len(judged) for judged in judgements])
    recalls = [hits[:, :k].sum(axis=1) / relevant for k in RECALLS.values()]
    return np.stack([_ndcg(grades, judgements), _reciprocal_rank(hits), *recalls, _average_precision(hits, relevant)])


def reciprocal_ranks(places: Places, judgements: Sequence[Judged]) -> NDArray[np.float64]:
    """1 / rank of the first relevant document of every query among its first ten; 0 if there is none."""
    return _reciprocal_rank(_grades(places, judgements) > 0)


def first_ranks(places: Places, judgements: Sequence[Judged]) -> NDArray[np.float64]:
    """The rank of the first relevant document of every query; NaN if none is among those found."""
    hits = _grades(places, judgements) > 0
    return np.where(hits.any(axis=1), hits.argmax(axis=1) + 1.0, np.nan)


def _grades(places: Places, judgements: Sequence[Judged]) -> NDArray[np.float64]:
    """The grade of every document found (query, rank), 0 for what is not relevant or not judged."""
    rows = zip(places.tolist(), judgements, strict=True)
    return np.array([[judged.get(place, 0) for place in found] for found, judged in rows], dtype=np.float64)


def _ndcg(grades: NDArray[np.float64], judgements: Sequence[Judged]) -> NDArray[np.float64]:
    """The grades of the first ten, discounted by the logarithm of the rank, as a share of the best order of all."""
    best = np.zeros((len(judgements), TOP))
    for query, judged in enumerate(judgements):
        first = sorted(judged.values(), reverse=True)[:TOP]
        best[query, : len(first)] = first
    return _discounted(grades[:, :TOP]) / _discounted(best)


def _discounted(grades: NDArray[np.float64]) -> NDArray[np.float64]:
    total: NDArray[np.float64] = (grades / np.log2(np.arange(2, grades.shape[1] + 2))).sum(axis=1)
    return total


def _reciprocal_rank(hits: NDArray[np.bool_]) -> NDArray[np.float64]:
    first = hits[:, :TOP]
    return np.where(first.any(axis=1), 1 / (first.argmax(axis=1) + 1), 0.0)


def _average_precision(hits: NDArray[np.bool_], relevant: NDArray[np.int_]) -> NDArray[np.float64]:
    """The mean precision at the ranks of the relevant documents; those that are not found count as 0."""
    found = hits[:, :DEPTH]
    precision = np.cumsum(found, axis=1) / np.arange(1, found.shape[1] + 1)
    total: NDArray[np.float64] = (precision * found).sum(axis=1) / np.minimum(relevant, DEPTH)
    return total
