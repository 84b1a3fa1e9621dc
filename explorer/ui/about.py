"""Which encoder is this, and which others are on this disk?"""

from __future__ import annotations

import streamlit as st

from explorer.ui import controls
from explorer.ui.controls import Choice
from explorer.ui.panels import Measured


def encoder(measured: Measured) -> None:
    """The encoder of the sidebar in a line of numbers."""
    scores = measured.scores
    best = scores.best()
    cards = st.container(horizontal=True)
    cards.metric("Encoder", measured.found.name, f"{scores.last} layers, {scores.max_length} tokens", **_QUIET)
    cards.metric("Read as published by", scores.own_title or "no reading of its own", **_QUIET)
    if best is not None:
        cards.metric(f"Best on {measured.pairs.name}", f"{scores.score(best):.2f}", best.title, **_QUIET)


def on_disk(choice: Choice) -> None:
    """Every encoder that loads without a network, each a click away."""
    names = controls.encoders()
    for name in names:
        line = st.container(horizontal=True, vertical_alignment="center")
        line.text(name)
        if name == choice.source:
            line.badge("chosen", icon=":material/check:")
        else:
            line.button("Choose", key=f"choose {name}", on_click=_choose, args=(name,))
    if len(names) == 1:
        st.caption(
            "It came with the requirements. Models of the hub that other programs have fetched show up here; "
            "to read one from a folder, type the folder into the sidebar."
        )


def _choose(name: str) -> None:
    st.session_state["model"] = name


_QUIET = {"delta_color": "off", "delta_arrow": "off", "border": True}
