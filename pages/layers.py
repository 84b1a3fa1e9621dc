"""Score every layer & pooling against human scores, and name the best."""

import streamlit as st

from explorer.data.graded import sets
from explorer.ui.access import side_scores, sidebar_choice
from explorer.ui.frame import page_frame
from explorer.ui.layers import best_layer, pictures
from explorer.ui.widgets import score_options

page_frame.enter()
choice = sidebar_choice.chosen()
shown = side_scores.shown(choice)
if shown is None:
    st.stop()

metric, aggregate = score_options.ways(shown.scores)
pictures.warn_of_silent_parts(shown.scores, aggregate)
best_layer.headline(shown, choice, metric, aggregate)
if choice.sts == sets.SAMPLE:
    st.caption("The sample shows what this page does. Its pairs were chosen with the bundled encoder in view.")
pictures.show(shown.scores, metric, aggregate, shown.reading, shown.pairs)
if shown.graded is not None:
    pictures.cosines(shown, shown.graded)

st.subheader("Export")
pictures.export(shown, metric, aggregate)
