"""Download the numbers of the microscope's figures."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from explorer.data.kinds import digest_of
from explorer.measuring.sentences import token_tables
from explorer.measuring.sentences.token_pairs import TokenPair
from explorer.ui.widgets import downloads


def offer(pairs: Mapping[str, TokenPair], layers: Mapping[str, int], sentences: tuple[str, str]) -> None:
    """The numbers of every figure, for each side; `layers` are those of the token figures."""
    stem = f"pair {digest_of(sentences)[:8]}"
    with st.container(horizontal=True):
        downloads.rows(token_tables.layer_rows(pairs), f"{stem} layers", "By layer (CSV)")
        shares = token_tables.share_rows(pairs)
        if shares:
            downloads.rows(shares, f"{stem} shares", "Token contributions (CSV)")
        downloads.rows(token_tables.token_rows(pairs, layers), f"{stem} tokens", "Token similarity (CSV)")
