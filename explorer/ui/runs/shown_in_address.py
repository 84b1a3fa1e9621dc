"""Find what the address names, a run or a plan, so that a reload and a second tab show the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import streamlit as st

from explorer.errors import RunNotFound
from explorer.ui import messages

Shown = TypeVar("Shown")


def asked_for(key: str, seen: str, find: Callable[[str], Shown], gone: str) -> Shown | None:
    """What the address names under a key; None if it names nothing, or something missing (with an error).

    `seen` is the key in the session of what was shown last; `gone` tells that it was deleted since.
    """
    name = st.query_params.get(key)
    if name is None:
        return None
    try:
        found = find(name)
    except RunNotFound as error:
        if name == st.session_state.get(seen):  # since it was shown, here or in another tab
            st.query_params.pop(key, None)
            st.toast(gone.format(messages.plain(name)), icon=":material/delete:")
        else:
            messages.trouble(error)
        return None
    st.session_state[seen] = name
    return found
