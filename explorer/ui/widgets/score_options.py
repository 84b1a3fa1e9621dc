"""Choose the metric and the aggregation of sub-corpora; format and explain scores."""

from __future__ import annotations

import numpy as np
import streamlit as st

from explorer.measuring.scores.layer_scores import AGGREGATES, METRICS, LayerScores
from explorer.measuring.scores.missing_scores import NO_SCORE
from explorer.ui.widgets import segments


def ways(scores: LayerScores) -> tuple[str, str]:
    """The chosen metric, and how sub-corpora are aggregated."""
    with st.container(horizontal=True):
        metric = segments.chosen(
            "Metric",
            list(METRICS),
            default="Spearman",
            key="metric",
            help="Correlation of cosines with gold scores. Spearman compares ranks and is standard for STS; Pearson "
            "compares values. Higher is better, at most 100.",
        )
        aggregate = "all"
        if scores.has_parts:
            aggregate = segments.chosen(
                "Sub-corpora",
                AGGREGATES,
                default="all",
                key="aggregate",
                help="all: one correlation over all pairs. mean: mean of the correlations of the sub-corpora. "
                "wmean: the same mean, weighted by the number of pairs.",
            )
    return metric, aggregate


def told(score: float) -> str:
    """A score with two decimals; a missing one is `n/a`, never 0."""
    return NO_SCORE if np.isnan(score) else f"{score:.2f}"


def what_is_good(metric: str) -> str:
    """Direction, range and typical values of a score, for the help of its card."""
    return (
        f"{metric} correlation of cosines with gold scores, × 100. Higher is better, at most 100; 0 is chance; good "
        "models reach 75 to 90."
    )
