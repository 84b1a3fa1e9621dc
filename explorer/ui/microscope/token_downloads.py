"""How does a visitor take along what the microscope shows?"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from explorer.data.kinds import digest_of
from explorer.measuring.sentences import token_tables
from explorer.measuring.sentences.token_pairs import TokenPair
from explorer.ui.widgets import downloads


def offer(pairs: Mapping[str, TokenPair], layers: Mapping[str, int], sentences: tuple[str, str]) -> None:
    """The numbers of its figures, of each side; `layers` are those whose tokens are shown."""
    stem = f"pair {digest_of(sentences)[:8]}"
    with st.container(horizontal=True):
        downloads.rows(token_tables.layer_rows(pairs), f"{stem} layers", "By layer (CSV)")
        shares = token_tables.share_rows(pairs)
        if shares:
            downloads.rows(shares, f"{stem} shares", "What tokens add (CSV)")
        downloads.rows(token_tables.token_rows(pairs, layers), f"{stem} tokens", "Token beside token (CSV)")
