"""Choose the metric and the aggregation of sub-corpora; format and explain scores."""

from functools import partial

import numpy as np
import streamlit as st

from explorer.measuring.neighbours.ranking_judge import MAP, MRR, NDCG, RECALLS
from explorer.measuring.scores.layer_scores import NO_SCORE, LayerScores
from explorer.measuring.scores.metrics import ACCURACY, AGGREGATES, METRICS
from explorer.ui.widgets import controls

FEW = 4  # metrics that fit side by side


def metric_and_aggregate(scores: LayerScores) -> tuple[str, str]:
    """The chosen metric, and how sub-corpora are aggregated."""
    with st.container(horizontal=True):
        choose = partial(controls.menu, width=180) if len(scores.metrics) > FEW else controls.segments
        metric = choose(
            "Metric",
            list(scores.metrics),
            default=scores.metrics[0],
            key="metric",
            help=" ".join(dict.fromkeys(what_is_good(metric) for metric in scores.metrics)),
        )
        aggregate = "all"
        if scores.has_parts:
            aggregate = controls.segments(
                "Sub-corpora",
                AGGREGATES,
                default="all",
                key="aggregate",
                help="all: one correlation over all pairs. mean: mean of the correlations of the sub-corpora. "
                "wmean: the same mean, weighted by the number of pairs.",
            )
    return metric, aggregate


def score_text(score: float) -> str:
    """A score with two decimals; a missing one is `n/a`, never 0."""
    return NO_SCORE if np.isnan(score) else f"{score:.2f}"


def what_is_good(metric: str) -> str:
    """Direction, range and typical values of a score, for the help of its card."""
    if metric in METRICS:
        return METRICS[metric].help
    return f"{metric}: {_GOOD[metric]} Higher is better, at most 100."


_GOOD = {
    NDCG: "relevant passages count more the higher they are ranked, up to rank 10, × 100.",
    MRR: "the mean of 1 / rank of the first relevant passage, 0 beyond rank 10, × 100.",
    MAP: "the mean precision at the ranks of the relevant passages, up to rank 100, × 100.",
    **{name: f"the share of relevant passages among the first {k}, × 100." for name, k in RECALLS.items()},
    ACCURACY: "the share of items that are right, × 100: of triplets those whose anchor is nearer to its positive than "
    "to its negative (chance is 50), of labelled texts those that logistic regression puts into their class.",
}
