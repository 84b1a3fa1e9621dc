"""Which sentences hold a word? The word stands in the address, and what holds it is selected."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer.ui import messages
from explorer.ui.map import selection
from explorer.ui.messages import shortened

MOST = 200  # characters of it


def found(where: DeltaGenerator, texts: Sequence[str]) -> tuple[int, ...] | None:
    """The numbers of the sentences that hold what is typed; None where nothing is."""
    typed: str = where.text_input(
        "Find",
        key=selection.WORD,
        bind="query-params",
        max_chars=MOST,
        on_change=_select,
        args=(texts,),
        placeholder="a word, then Enter",
        width=240,
        help="Selects every sentence that holds it, in any case.",
    )
    places = _holding(typed, texts)
    if places == ():
        st.caption(f"No sentence holds “{messages.plain(shortened(typed))}”.")
    return places


def _select(texts: Sequence[str]) -> None:
    selection.show(_holding(st.session_state[selection.WORD], texts) or ())


def _holding(typed: str, texts: Sequence[str]) -> tuple[int, ...] | None:
    word = " ".join(typed.split()).casefold()
    if not word:
        return None
    return tuple(place for place, text in enumerate(texts) if word in " ".join(text.split()).casefold())
