"""Score every layer & pooling against human scores, and name the best."""

import streamlit as st

from explorer.data.graded import sets
from explorer.drawing.scores import cosine_boxes
from explorer.ui import messages
from explorer.ui.access import side_scores, sidebar_choice
from explorer.ui.frame import page_frame
from explorer.ui.layers import best_layer, pictures, score_downloads
from explorer.ui.widgets import picture_format, score_options

page_frame.enter()
choice = sidebar_choice.chosen()
shown = side_scores.shown(choice)
if shown is None:
    st.stop()

metric, aggregate = score_options.ways(shown.scores)
pictures.tell_silent(shown.scores, aggregate)
best_layer.headline(shown, choice, metric, aggregate)
if choice.sts == sets.SAMPLE:
    st.caption("The sample shows what this page does. Its pairs were chosen with the bundled encoder in view.")
pictures.show(shown.scores, metric, aggregate, shown.reading, shown.pairs)

st.subheader(f"Cosine by human score: {shown.reading.title}")
if shown.scores.is_measured(shown.reading):
    picture_format.draw(
        cosine_boxes.cosine_by_gold(shown.scores, shown.pairs, shown.reading),
        config=picture_format.config("layers"),
        alt=f"Cosines of {shown.reading.title} by human score.",
    )
    st.caption(f"All {len(shown.pairs):,} pairs of {messages.plain(shown.pairs.name)}.")
else:
    st.info(f"{shown.reading.title} is {shown.scores.why_not_measured(shown.reading)}.", icon=":material/block:")

st.subheader("Export")
score_downloads.offer(shown, metric, aggregate)
