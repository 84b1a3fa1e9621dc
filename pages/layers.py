"""Score every layer & pooling against human scores, and name the best."""

import streamlit as st

from explorer.data.graded import sets
from explorer.ui.access import side_scores, sidebar_choice
from explorer.ui.frame import page_frame
from explorer.ui.layers import best_layer, pictures
from explorer.ui.widgets import score_options

page_frame.enter()
choice = sidebar_choice.chosen()
scored = side_scores.scored(choice)
if scored is None:
    st.stop()

metric, aggregate = score_options.metric_and_aggregate(scored.scores)
pictures.warn_of_silent_parts(scored.scores, aggregate)
best_layer.headline(scored, choice, metric, aggregate)
if choice.evaluation_set == sets.SAMPLE:
    st.caption("The sample shows what this page does. Its pairs were chosen with the bundled encoder in view.")
pictures.show(scored.scores, metric, aggregate, scored.reading, scored.pairs)
if scored.graded is not None:
    pictures.cosines(scored, scored.graded)

st.subheader("Export")
pictures.export(scored, metric, aggregate)
