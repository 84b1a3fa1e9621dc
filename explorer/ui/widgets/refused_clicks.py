"""Run a click handler and show its error in place."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from explorer.errors import StrataError
from explorer.ui import messages

REFUSED = "_refused"


def attempt(act: Callable[[], object]) -> None:
    """Call `act`; keep its error for `refused`, since it is called where nothing can be shown yet."""
    try:
        act()
    except StrataError as error:
        st.session_state[REFUSED] = str(error)


def refused() -> None:
    """Show the error of the last click, once."""
    if REFUSED in st.session_state:
        messages.trouble(st.session_state.pop(REFUSED))
