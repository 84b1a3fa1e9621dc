"""Which metric, how are sub-corpora joined, and how is a score read?"""

from __future__ import annotations

import numpy as np
import streamlit as st

from explorer.measuring.scores.layer_scores import AGGREGATES, METRICS, LayerScores


def ways(scores: LayerScores) -> tuple[str, str]:
    """Which metric, and how sub-corpora are joined."""
    with st.container(horizontal=True):
        metric = st.segmented_control(
            "Metric", list(METRICS), default="Spearman", required=True, key="metric", bind="query-params"
        )
        aggregate = "all"
        if scores.has_parts:
            aggregate = st.segmented_control(
                "Sub-corpora",
                AGGREGATES,
                default="all",
                required=True,
                key="aggregate",
                bind="query-params",
                help="all: one correlation of all pairs. mean: the mean of those of each sub-corpus. "
                "wmean: the mean weighted by their sizes.",
            )
    return metric, aggregate


def told(score: float) -> str:
    """A score as it is read; a missing one is missing, never 0."""
    return "none" if np.isnan(score) else f"{score:.2f}"
