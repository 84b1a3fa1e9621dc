"""Streamlit caches of score differences, keyed by the models, the pairs and the settings."""

from __future__ import annotations

from collections.abc import Hashable

import streamlit as st

from explorer.measuring.comparing.comparison import Comparison, Differences
from explorer.measuring.scores.bootstrap import Interval


def differences(measured: Hashable, comparison: Comparison, metric: str, aggregate: str) -> Differences:
    """B minus A, with intervals; `measured` identifies models, pairs and settings."""
    readings = (comparison.one_reading.title, comparison.other_reading.title)
    grid, own = _cell_differences(measured, metric, aggregate, comparison)
    chosen = comparison.among(grid, own)
    return Differences(chosen or _chosen_difference(measured, readings, metric, aggregate, comparison), grid, own)


@st.cache_resource(max_entries=64, show_spinner=False)
def _chosen_difference(
    measured: Hashable, readings: tuple[str, str], metric: str, aggregate: str, _comparison: Comparison
) -> Interval:
    return _comparison.chosen(metric, aggregate)


@st.cache_resource(max_entries=16, show_spinner="Computing confidence intervals …")
def _cell_differences(
    measured: Hashable, metric: str, aggregate: str, _comparison: Comparison
) -> tuple[Interval | None, Interval | None]:
    return _comparison.cells(metric, aggregate)
