"""What becomes of a click that asks for something which may be refused?"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from explorer.errors import StrataError
from explorer.ui import messages

REFUSED = "_refused"


def attempt(act: Callable[[], object]) -> None:
    """Do it, or remember why it cannot be done; in a callback, where there is no page to write on yet."""
    try:
        act()
    except StrataError as error:
        st.session_state[REFUSED] = str(error)


def refused() -> None:
    """Tell, once, why the last click did nothing."""
    if REFUSED in st.session_state:
        messages.trouble(st.session_state.pop(REFUSED))
