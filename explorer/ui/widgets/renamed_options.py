"""Accept links that name an option by an older text."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import streamlit as st
from streamlit.errors import StreamlitAPIException


def accept(key: str, renamed: Mapping[str, str]) -> None:
    """Replace an option's older text in the address by today's; call it before the widget is drawn."""
    today = renamed.get(st.query_params.get(key, ""))
    if today is not None:
        with suppress(StreamlitAPIException):  # bound: the widget was drawn already, by today's text
            del st.query_params[key]
            st.session_state[key] = today
