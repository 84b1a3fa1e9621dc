"""Show the words behind a pair's cosine over a page."""

from __future__ import annotations

import streamlit as st

from explorer.ui.access.side_readers import Reader
from explorer.ui.microscope import word_view
from explorer.ui.widgets import opened_words

WIDTH = 960  # pixels


def show(page: str, sides: tuple[Reader, ...]) -> None:
    """The words of the pair that is open on a page, until it is closed; a page has this once."""
    pair = opened_words.opened(page)
    if pair is not None:
        over = st.dialog(word_view.TITLE, width=WIDTH, icon=opened_words.ICON, on_dismiss=opened_words.close)
        over(word_view.answer)(sides, *pair, where=page)
