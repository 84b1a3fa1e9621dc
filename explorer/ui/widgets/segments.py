"""Choose one option of a segmented control that is kept in the address."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from explorer.knobs import Knob


def menu(label: str, options: Sequence[Any], *, default: Any, key: str, **how: Any) -> Any:
    """The selected option of many, which would not fit side by side; kept in the address like a segment."""
    if st.session_state.get(key) is not None and st.session_state[key] not in options:
        st.session_state.pop(key)
    at = list(options).index(default)
    found = st.selectbox(label, options, index=at, key=key, bind="query-params", **how)
    return default if found is None else found


def chosen(label: str, options: Sequence[Any], *, default: Any, key: str, **how: Any) -> Any:
    """The selected option; the default if a link has an empty value (`?k=`), which Streamlit takes for none."""
    if st.session_state.get(key) is not None and st.session_state[key] not in options:
        st.session_state.pop(key)  # another model has other options
    found = st.segmented_control(
        label, options, default=default, required=True, key=key, wrap=True, bind="query-params", **how
    )
    return default if found is None else found


def of(knob: Knob, key: str) -> Any:
    """The selected choice of a setting."""
    return chosen(
        knob.label,
        knob.choices,
        default=knob.default,
        key=key,
        format_func=lambda one: knob.titles.get(one, one),
        help=knob.help,
    )
