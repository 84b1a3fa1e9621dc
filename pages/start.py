"""Start: the three ways into Strata, the loaded model, and the visitor's own pairs."""

import streamlit as st

from explorer.drawing.scores import curves
from explorer.ui.access import sidebar_choice
from explorer.ui.frame import page_frame
from explorer.ui.start import own_pairs_form, ways_in
from explorer.ui.widgets import downloads

page_frame.enter()
choice = sidebar_choice.chosen()
ways_in.show(choice)

scored = sidebar_choice.scored(choice)
if scored is not None:
    ways_in.model_a(scored)
    metric = scored.scores.metrics[0]
    st.subheader("Score by layer")
    downloads.draw(
        curves.score_by_layer(scored.scores, metric, "all", scored.reading),
        config=downloads.config("by-layer"),
        alt=f"{metric} by layer, a line for each pooling. The Layers page holds the same numbers as a table.",
    )
    st.page_link("pages/layers.py", label="All scores", icon=":material/layers:")

st.subheader("Models on this disk")
ways_in.on_disk(choice)

st.subheader("Your own data")
own_pairs_form.own_pairs()
