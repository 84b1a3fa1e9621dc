"""Remember the pair whose words a page shows, and offer a button that opens one."""

from __future__ import annotations

import streamlit as st

ICON = ":material/format_color_text:"
COMPARE, SEARCH = "compare", "search"  # pages that show them
HELP = "What each word of both sentences adds to their cosine"
_OPEN = "_pair whose words are shown"


def button(page: str, key: str, first: str, second: str, label: str = "Which words?") -> None:
    """A button that opens the words of two sentences on its page."""
    st.button(
        label, key=f"words {key}", icon=ICON, type="tertiary", help=HELP, on_click=show, args=(page, first, second)
    )


def show(page: str, first: str, second: str) -> None:
    """Open the words of two sentences when the page is drawn next."""
    st.session_state[_OPEN] = page, first, second


def opened(page: str) -> tuple[str, str] | None:
    """The sentences whose words are open on a page; a pair of another page, which was left, is closed."""
    found: tuple[str, str, str] | None = st.session_state.get(_OPEN)
    if found is None or found[0] == page:
        return found and found[1:]
    close()
    return None


def close() -> None:
    """Close the words."""
    st.session_state.pop(_OPEN, None)
