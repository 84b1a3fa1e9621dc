"""Show the cosines by human score: boxes of a scale, and of labels with two values a strip with the best threshold."""

from __future__ import annotations

import streamlit as st

from explorer.data.kinds import GradedPairs
from explorer.drawing.scores import cosine_boxes, cosine_strips
from explorer.measuring.scores.binary_metrics import best_threshold, is_binary
from explorer.ui import messages
from explorer.ui.access.side_scores import Shown
from explorer.ui.widgets import picture_format


def show(shown: Shown, pairs: GradedPairs) -> None:
    """The figure of the chosen layer & pooling, or the reason why there is none."""
    labels = is_binary(shown.scores.gold)
    st.subheader(f"Cosine by {'label' if labels else 'human score'}: {shown.reading.title}")
    if not shown.scores.is_measured(shown.reading):
        st.info(f"{shown.reading.title} is {shown.scores.why_not_measured(shown.reading)}.", icon=":material/block:")
        return
    if labels:
        _strips(shown, pairs)
        return
    picture_format.draw(
        cosine_boxes.cosine_by_gold(shown.scores, pairs, shown.reading),
        config=picture_format.config("layers"),
        alt=f"Cosines of {shown.reading.title} by human score.",
    )
    st.caption(f"All {len(pairs):,} pairs of {messages.plain(pairs.name)}.")


def _strips(shown: Shown, pairs: GradedPairs) -> None:
    gold, cosines = shown.scores.gold, shown.scores.cosines_of(shown.reading)
    best = best_threshold(gold, cosines)
    picture_format.draw(
        cosine_strips.cosines_by_label(gold, cosines, pairs, None if best is None else best.threshold),
        config=picture_format.config("layers"),
        alt=f"Cosines of {shown.reading.title} for both labels: a point for each pair, and their density.",
    )
    if best is not None:
        positive, share = gold.max(), (gold == gold.max()).mean()
        st.caption(
            f"Best F1: {100 * best.f1:.2f}, if pairs with a cosine of {best.threshold:.4f} or more are called "
            f"{positive:g} (precision {100 * best.precision:.2f}, recall {100 * best.recall:.2f}). The threshold was "
            f"chosen on these pairs, so its F1 is optimistic. {share:.1%} of the pairs have the label {positive:g}: a "
            f"random order has an average precision of {100 * share:.2f}."
        )
