"""Show the scores of A and B and their difference."""

from __future__ import annotations

import numpy as np
import streamlit as st

from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.comparing.comparison_tables import told_difference
from explorer.measuring.scores.bootstrap import Interval
from explorer.measuring.scores.verdict_text import CI
from explorer.ui import messages
from explorer.ui.widgets import score_options

DIFFERENCE_HELP = (
    f"Score of B minus score of A, with its {CI}. Above 0: B is better. If the interval includes 0, it could be chance."
)


def cards(comparison: Comparison, metric: str, aggregate: str, chosen: Interval) -> None:
    """The scores of A and B, and B - A with its interval."""
    where = st.container(horizontal=True)
    for name, scores, reading in (
        ("A", comparison.one, comparison.one_reading),
        ("B", comparison.other, comparison.other_reading),
    ):
        score = score_options.told(scores.score(reading, metric, aggregate))
        messages.number(where, name, score, reading.title, border=True, help=score_options.what_is_good(metric))
    sure = f"significant ({CI} excludes 0)" if chosen.sure else "could be chance"
    if not np.isfinite(chosen.difference):
        sure = "a side has no score"
    messages.number(where, "B - A", told_difference(chosen), sure, border=True, help=DIFFERENCE_HELP)
