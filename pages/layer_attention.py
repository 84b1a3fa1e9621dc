"""Layer attention: what layers decide of two sentences, under A and B side by side, and self-attention by head."""

import streamlit as st

from explorer.ui import messages
from explorer.ui.access import sidebar_choice
from explorer.ui.frame import page_frame
from explorer.ui.layer_attention import pair_view, pooler_view, shown_sides
from explorer.ui.widgets import first_screen

page_frame.enter()
choice, sentences = sidebar_choice.chosen(), shown_sides.pair()
answer = first_screen.answer()
with first_screen.controls_row():
    shown = " / ".join(f"“{messages.plain(messages.shortened(one, 44))}”" for one in sentences)
    with st.container(width="content", key="pair-shown"):
        st.markdown(shown, help=shown_sides.OTHERS, width="content")
    sides, loading = shown_sides.sides(choice)
with first_screen.figure():
    span = pair_view.span(sides, sentences)
    for column, side in zip(st.columns(max(1, len(sides)), gap="medium"), sides, strict=False):
        with column:
            if side.has_pooler:
                pooler_view.figure(side, sentences)
            else:
                pair_view.figure(side, sentences, span)
with answer:
    parts = ((pooler_view if side.has_pooler else pair_view).answer(side, sentences) for side in sides)
    st.markdown(messages.plain(" ".join(filter(None, parts))))
if loading or not sides:
    st.stop()  # which tabs there are depends on all sides
poolers = [side for side in sides if side.has_pooler]
tabs = [pooler_view.WEIGHTS, pooler_view.SCORES, pooler_view.PARTS, pooler_view.OVER_TRAINING] if poolers else []
tab = first_screen.tabs([*tabs, pair_view.HEADS_TITLE, pooler_view.MORE])
if tab == pooler_view.WEIGHTS:
    pooler_view.show_weights(poolers, sentences)
elif tab == pooler_view.SCORES:
    pooler_view.show_scores(sides, sentences)
elif tab == pooler_view.PARTS:
    pooler_view.show_parts(poolers, sentences)
elif tab == pooler_view.OVER_TRAINING:
    pooler_view.show_history(poolers, sentences)
elif tab == pair_view.HEADS_TITLE:
    pair_view.show_heads(sides[0].found, sentences)
else:
    pooler_view.about_poolers()
with st.container(horizontal=True):
    for side in sides:
        if not side.has_pooler:
            pair_view.file(side, sentences)
