"""Show a map that moves through frames; a selection, and the frame where it rests, come back to the page."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from explorer.drawing.sentences import moving_map as drawing
from explorer.ui.widgets import downloads


def show(
    content: dict[str, Any],
    *,
    subject: str,
    name: str,
    alt: str,
    selected: tuple[int, ...] = (),
    revision: int = 0,
    select: Callable[[tuple[int, ...]], None] | None = None,
    at: int = 0,
    jump: str = "",
    rested: Callable[[int], None] | None = None,
) -> None:
    """Draw it in the figure of the page.

    What the visitor did on it, such as the point chosen, stays while the `subject` does. The selection is taken over
    with a new `revision`, and the frame `at` with another `jump`. `select` and `rested` are called in callbacks.
    """
    key = f"moving map {name}"
    mount = st.components.v2.component("moving_map", html=drawing.HTML, css=drawing.CSS, js=drawing.script())

    def take() -> None:
        numbers = getattr(st.session_state[key], "selected", None)
        if numbers is not None and select is not None:
            select(tuple(int(one) for one in numbers))

    def rest() -> None:
        number = getattr(st.session_state[key], "at", None)
        if number is not None and rested is not None:
            rested(int(number))

    state = {"subject": subject, "selected": list(selected), "revision": revision, "at": at, "jump": jump}
    picture = {"picture": st.session_state["pictures"] or downloads.FORMATS[0], "file": f"strata-{name}", "alt": alt}
    data = {**content, **state, "tells": rested is not None, **picture}
    mount(key=key, data=data, on_selected_change=take, on_at_change=rest)
