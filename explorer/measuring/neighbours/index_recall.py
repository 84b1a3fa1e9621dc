"""Measure the recall of an approximate index against a search of all vectors, and choose how much a query searches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.data.vectors.vector_corpus import VectorCorpus
from explorer.measuring.neighbours.index_setting import IVF, IndexSetting
from explorer.measuring.neighbours.vector_search import all_searched, candidates_ranked, set_effort
from explorer.progress import Progress, Work

NEAREST = 10
QUERIES = 200  # vectors of the corpus; as many others choose the effort
ENOUGH = 0.95  # recall at which the effort grows no further
LEAST_PROBES, MOST_PROBES = 8, 256
LEAST_EF, MOST_EF = 64, 512
SAME = 1e-6  # cosines that differ by less are those of equal vectors


@dataclass(frozen=True, eq=False)
class Truth:
    """Rows as queries, and for each the cosine of its last true neighbour."""

    queries: NDArray[np.int64]
    least: NDArray[np.float32]
    nearest: int


def tuned(corpus: VectorCorpus, index: Any, setting: IndexSetting) -> Work[tuple[IndexSetting, float | None, int]]:
    """The setting with the least effort that has enough recall, its recall on other queries, and their number."""
    if corpus.searched < 4:
        return setting, None, 0
    choosing, stating = yield from _truths(corpus)
    chosen = setting
    for chosen in _efforts(setting):
        yield Progress("measuring the recall of the index", 0, 0)
        if recall(corpus, index, chosen, choosing) >= ENOUGH:
            break
    yield Progress("measuring the recall of the index", 0, 0)
    return chosen, recall(corpus, index, chosen, stating), len(stating.queries)


def recall(corpus: VectorCorpus, index: Any, setting: IndexSetting, truth: Truth) -> float:
    """The share of true neighbours that an index finds; of neighbours with equal cosines any counts."""
    set_effort(index, setting)
    asked = corpus.rows(truth.queries)
    _, cosines = candidates_ranked(corpus, index, asked, truth.nearest, truth.queries)
    return float((cosines >= truth.least[:, None] - SAME).mean())


def _truths(corpus: VectorCorpus) -> Work[tuple[Truth, Truth]]:
    count = min(QUERIES, corpus.searched // 2)
    drawn = corpus.rows_searched(np.random.default_rng(0).choice(corpus.searched, 2 * count, replace=False))
    nearest = min(NEAREST, corpus.searched - 1)
    stage = "searching all vectors for true neighbours"
    _, cosines = yield from all_searched(corpus, corpus.rows(drawn), nearest, drawn, stage)
    halves = (Truth(drawn[some], cosines[some, -1], nearest) for some in (slice(count), slice(count, None)))
    return next(halves), next(halves)


def _efforts(setting: IndexSetting) -> Iterator[IndexSetting]:
    if setting.kind == IVF:
        probes = LEAST_PROBES
        while probes < min(setting.nlist, MOST_PROBES):
            yield replace(setting, nprobe=probes)
            probes *= 2
        yield replace(setting, nprobe=min(setting.nlist, MOST_PROBES))
        return
    ef = LEAST_EF
    while ef <= MOST_EF:
        yield replace(setting, ef=ef)
        ef *= 2
