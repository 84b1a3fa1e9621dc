"""Two text boxes for the sentence pair of the Layer attention page."""

from __future__ import annotations

import streamlit as st

# those of Figure 3 of Oh, Kim, Lee, Huang and Lim 2022
SHORT = "You should do it."
LONG = "People on motorcycles wearing racing gear ride around a racetrack."
MOST = 4000  # characters, far more than an encoder's maximum length


def asked_for() -> tuple[str, str] | None:
    """The two sentences, by default the paper's; None, with a message, if one is empty."""
    left, right = st.columns(2, gap="medium")
    one, other = (
        box.text_area(label, text, height=80, max_chars=MOST, key=label, persist_state="session").strip()
        for box, label, text in ((left, "One sentence", SHORT), (right, "Another sentence", LONG))
    )
    if not one or not other:
        st.info("Type a sentence in both boxes.", icon=":material/edit:")
        return None
    return one, other
