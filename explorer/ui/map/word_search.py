"""Select the sentences that contain a search word; the word is kept in the address."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer.ui import messages
from explorer.ui.map import selection
from explorer.ui.messages import shortened

MOST = 200  # characters of it
NONE_FOUND = "No sentence contains “{}”."


def found(where: DeltaGenerator, texts: Sequence[str]) -> tuple[int, ...] | None:
    """The indices of the sentences that contain the typed text; None if nothing is typed."""
    typed: str = where.text_input(
        "Find",
        key=selection.WORD,
        bind="query-params",
        max_chars=MOST,
        on_change=_select,
        args=(texts,),
        placeholder="a word, then Enter",
        width=240,
        help="Selects every sentence that contains it, ignoring case.",
    )
    places = _holding(typed, texts)
    if places == ():
        st.caption(NONE_FOUND.format(messages.plain(shortened(typed))))
    return places


def _select(texts: Sequence[str]) -> None:
    selection.show(_holding(st.session_state[selection.WORD], texts) or ())


def _holding(typed: str, texts: Sequence[str]) -> tuple[int, ...] | None:
    word = " ".join(typed.split()).casefold()
    if not word:
        return None
    return tuple(place for place, text in enumerate(texts) if word in " ".join(text.split()).casefold())
