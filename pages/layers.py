"""Score every layer & pooling against human scores, and name the best."""

import streamlit as st

from explorer.data.graded import sets
from explorer.ui import layers
from explorer.ui.access import sidebar_choice
from explorer.ui.frame import page_frame
from explorer.ui.widgets import controls, cosine_meaning

page_frame.enter()
choice = sidebar_choice.chosen()
scored = sidebar_choice.scored(choice)
if scored is None:
    st.stop()

metric, aggregate = controls.metric_and_aggregate(scored.scores)
layers.warn_of_silent_parts(scored.scores, aggregate)
layers.headline(scored, choice, metric, aggregate)
if choice.evaluation_set == sets.SAMPLE:
    st.caption("The sample shows what this page does. Its pairs were chosen with the bundled encoder in view.")
if scored.scores.limit is not None:
    layers.show(scored.scores, metric, aggregate, scored.reading, scored.pairs)
if scored.graded is not None:
    layers.cosines(scored, scored.graded, choice)
cosine_meaning.section(scored, choice)

st.subheader("Export")
layers.export(scored, metric, aggregate)
