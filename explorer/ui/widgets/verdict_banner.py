"""Show a verdict: its word and sentence, in a colour and with an icon."""

from __future__ import annotations

import streamlit as st

from explorer.measuring.scores.verdict_text import BETTER, CHANCE, UNKNOWN, WORSE, Sentence
from explorer.ui import messages

_LOOKS = {
    BETTER: (st.success, ":material/trending_up:"),
    WORSE: (st.error, ":material/trending_down:"),
    CHANCE: (st.info, ":material/casino:"),
    UNKNOWN: (st.warning, ":material/help:"),
}


def show(verdict: Sentence) -> None:
    """Show the verdict in a coloured box; its word and icon repeat the colour's meaning."""
    box, icon = _LOOKS[verdict.kind]
    box(f"**{messages.plain(verdict.word)}**: {messages.plain(verdict.detail)}", icon=icon)
