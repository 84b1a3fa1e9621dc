"""Show a verdict: its word and sentence, in a colour and with an icon."""

from __future__ import annotations

import streamlit as st

from explorer.measuring.scores.verdict_text import BETTER, CHANCE, MIXED, UNKNOWN, WORSE, Sentence
from explorer.ui import messages

_LOOKS = {
    BETTER: (st.success, ":material/trending_up:"),
    WORSE: (st.error, ":material/trending_down:"),
    MIXED: (st.warning, ":material/swap_vert:"),
    CHANCE: (st.info, ":material/casino:"),
    UNKNOWN: (st.warning, ":material/help:"),
}


def show(verdict: Sentence) -> None:
    """Show the verdict in a coloured box; its word and icon repeat the colour's meaning."""
    box(verdict.kind, f"**{messages.plain(verdict.word)}**: {messages.plain(verdict.detail)}")


def box(kind: str, text: str) -> None:
    """Show markdown in the coloured box of a kind, with its icon."""
    draw, icon = _LOOKS[kind]
    draw(text, icon=icon)
