"""Fields of a form made from settings that are stated as knobs: label, help, allowed values and default."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from explorer.knobs import Knob

WIDTH = 320


def key_of(form: str, name: str) -> str:
    """The key of a field, which each form has for itself."""
    return f"{form} {name}"


def draw(form: str, knob: Knob, *, key: str = "", menu: bool = False, **how: Any) -> Any:
    """Draw the field of a setting and return what it says; `how` goes to the widget.

    One of several choices is a radio button, or of a `menu` an entry.
    """
    how = {
        "key": key or key_of(form, knob.name),
        "help": knob.help,
        **({} if how.get("bind") else {"persist_state": "session"}),
        **how,
    }
    if knob.kind is bool:
        return st.toggle(knob.label, knob.default, **how)
    if knob.choices:
        return _choice(knob, menu, **how)
    typed = {"width": WIDTH, "placeholder": knob.empty or None, **how}
    if knob.kind in (int, float) and not knob.many:
        low, high = (None if bound is None else knob.kind(bound) for bound in (knob.low, knob.high))
        return st.number_input(knob.label, low, high, knob.default, **{"step": knob.kind(1), **typed})
    return st.text_input(knob.label, None if knob.default is None else Knob.text(knob.default), **typed)


def _choice(knob: Knob, menu: bool, **how: Any) -> Any:
    """A field with the choices of a setting, under their titles."""
    named = {"format_func": lambda one: knob.titles.get(one, one), **how}
    if knob.many:
        return st.multiselect(knob.label, knob.choices, default=knob.default or knob.choices, select_all=False, **named)
    at = knob.choices.index(knob.default)
    if menu:
        return st.selectbox(knob.label, knob.choices, at, **named)
    return st.radio(knob.label, knob.choices, at, horizontal=True, **named)


def written(form: str, knobs: Mapping[str, Knob]) -> dict[str, Any]:
    """What the fields say, as it was typed; in a callback too, where it is newer than what was drawn."""
    found = {name: st.session_state.get(key_of(form, name)) for name in knobs}
    missing = {name: (None, "") if one.default is None else (None,) for name, one in knobs.items()}
    return {name: value for name, value in found.items() if value not in missing[name]}


def checked(typed: Mapping[str, Any], knobs: Mapping[str, Knob]) -> dict[str, Any]:
    """The settings that were typed, in their types; an error names the field, the value and what is allowed."""
    return {name: replace(knobs[name], name=knobs[name].label).checked(value) for name, value in typed.items()}
