"""Show the loaded model in a line, and the others on this disk."""

from __future__ import annotations

import streamlit as st

from explorer import run_folder
from explorer.ui import messages
from explorer.ui.access.side_scores import Shown
from explorer.ui.access.sidebar_choice import Choice
from explorer.ui.frame import second_encoder, sidebar

NEWEST = 3  # runs whose models are not folded
OLDER = "Models of older runs ({})"


def encoder(shown: Shown) -> None:
    """Model A, in a line."""
    scores, metric = shown.scores, shown.scores.metrics[0]
    best = scores.best(metric)
    told = (
        f"**{messages.plain(shown.found.name)}** has {scores.last} layers and encodes up to {scores.max_length} tokens."
    )
    if scores.own_title:
        told += f" Model default: {messages.plain(scores.own_title)}."
    if best is not None:
        told += (
            f" On **{messages.plain(shown.pairs.name)}**, {best.title} has the highest {metric}: "
            f"{scores.score(best, metric):.2f}."
        )
    st.markdown(told)


def on_disk(choice: Choice) -> None:
    """Every model that loads without a network, each with a button; those of older runs are folded."""
    names, other = sidebar.encoders(), second_encoder.beside()
    older = run_folder.models()[NEWEST:]
    for name in names:
        if name not in older:
            _line(name, choice, other)
    if older:
        fold = st.expander(OLDER.format(len(older)), icon=":material/history:", key="older runs", on_change="rerun")
        if fold.open:
            with fold:
                for name in older:
                    _line(name, choice, other)
    if len(names) == 1:
        st.caption(
            "It is installed with Strata. Models in the cache of the Hugging Face hub appear here. To load another "
            f"one, type a hub id or a folder under **{sidebar.FOLDED}** in the sidebar."
        )


def _line(name: str, choice: Choice, other: Choice | None) -> None:
    line = st.container(horizontal=True, vertical_alignment="center")
    line.text(name)
    if name == choice.source:
        line.badge("chosen", icon=":material/check:")
        return
    line.button("Choose", key=f"choose {name}", on_click=sidebar.choose_encoder, args=(name,))
    if other is not None and name == other.source:
        line.page_link("pages/compare.py", label="Compare", icon=":material/compare:")
    else:
        line.button("Compare with it", key=f"beside {name}", on_click=second_encoder.choose, args=(name,))
