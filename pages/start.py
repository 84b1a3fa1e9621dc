"""Start: a pair under A and B, the three ways into Strata, the loaded model, and the visitor's own pairs."""

import streamlit as st

from explorer.drawing.scores import curves
from explorer.ui.access import sidebar_choice
from explorer.ui.frame import page_frame
from explorer.ui.start import first_pair, own_pairs_form, ways_in
from explorer.ui.widgets import downloads, first_screen

page_frame.enter()
choice = sidebar_choice.chosen()
answer = first_screen.answer()
with first_screen.controls_row():
    ways_in.slim_buttons(choice)
    first_pair.own_sentences()
has_a = first_pair.show(choice, answer)

tab = first_screen.tabs(ways_in.TABS)
if tab == ways_in.SCORES:
    scored = sidebar_choice.scored(choice) if has_a else None  # what is wrong with A is said once
    if scored is not None:
        ways_in.model_a(scored)
        metric = scored.scores.metrics[0]
        downloads.draw(
            curves.score_by_layer(scored.scores, metric, "all", scored.reading),
            config=downloads.config("by-layer"),
            alt=f"{metric} by layer, a line for each pooling. The Layers page holds the same numbers as a table.",
        )
        st.page_link("pages/layers.py", label="All scores", icon=":material/layers:")
elif tab == ways_in.WAYS:
    ways_in.show(choice)
elif tab == ways_in.MODELS:
    ways_in.on_disk(choice)
else:
    own_pairs_form.own_pairs()
