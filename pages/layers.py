"""Score every layer & pooling against human scores, and name the best."""

import streamlit as st

from explorer.data.graded import sets
from explorer.ui import layers
from explorer.ui.access import sidebar_choice
from explorer.ui.frame import page_frame
from explorer.ui.widgets import controls, cosine_meaning, first_screen

page_frame.enter()
choice = sidebar_choice.chosen()
scored = sidebar_choice.scored(choice)
if scored is None:
    st.stop()

answer, row = first_screen.answer(), first_screen.controls_row()
with row:
    metric, aggregate = controls.metric_and_aggregate(scored.scores)
with answer:
    layers.warn_of_silent_parts(scored.scores, aggregate)
    table = layers.headline(scored, choice, metric, aggregate)
    layers.warn_of_trained_rows(scored)
with first_screen.figure():
    if scored.scores.limit is not None:
        layers.show(scored.scores, metric, aggregate, scored.reading, scored.pairs)
    elif scored.graded is not None:
        layers.cosines(scored, scored.graded, choice)
cosines = [layers.COSINES] * (scored.graded is not None and scored.scores.limit is not None)
tab = first_screen.tabs([layers.SCORES, *cosines, cosine_meaning.LABEL, layers.EXPORT])
if tab == layers.SCORES:
    table()
    if choice.evaluation_set == sets.SAMPLE:
        st.caption("The sample shows what this page does. Its pairs were chosen with the bundled encoder in view.")
elif tab == layers.EXPORT:
    layers.export(scored, metric, aggregate)
elif tab == layers.COSINES and scored.graded is not None:
    layers.cosines(scored, scored.graded, choice)
else:
    cosine_meaning.section(scored, choice)
