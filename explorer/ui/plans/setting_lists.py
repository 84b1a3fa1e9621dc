"""Choose up to two settings of which several values are tried; the values are typed as lists."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from explorer.errors import BadChoice, StrataError
from explorer.knobs import Knob
from explorer.ui import messages
from explorer.ui.access.method_cards import MethodCard

NONE = "no setting"
LISTS = 2
FEW = "Type at least two values of {} with commas between them, such as {}; or choose '{}'."
TWICE = "{} has a value twice. Give each once."
SAME = "{} is chosen twice. Choose another setting, or '{}'."


def grid(cards: Sequence[MethodCard]) -> Mapping[str, tuple[Any, ...]] | None:
    """The values of each chosen setting; None if one is not allowed, with the error shown at its field."""
    options = [NONE, *_common(cards)]
    found: dict[str, tuple[Any, ...]] = {}
    wrong = False
    for number in range(1, LISTS + 1):
        left, right = st.columns([1, 2])
        with left:
            name = _setting(number, options)
        if name == NONE:
            continue
        with right:
            values = _values(number, name, cards)
            if name in found:
                messages.trouble(SAME.format(name, NONE))
                values = None
        wrong |= values is None
        found[name] = values or ()
    return None if wrong else found


def fill(values: Mapping[str, tuple[Any, ...]]) -> None:
    """Set the fields to the values of settings; only in a callback."""
    for number in range(1, LISTS + 1):
        st.session_state[key_of(number, "setting")] = NONE
    for number, (name, tried) in enumerate(values.items(), start=1):
        st.session_state[key_of(number, "setting")] = name
        st.session_state[f"{key_of(number, 'values')} {name}"] = ", ".join(map(Knob.told, tried))


def key_of(number: int, part: str) -> str:
    """The name of the widget of a list: its `setting` or its `values`."""
    return f"plan {part} {number}"


def _common(cards: Sequence[MethodCard]) -> list[str]:
    """The settings that every method has; a model's name is none of them."""
    if not cards:
        return []
    names = [name for name, knob in cards[0].knobs.items() if not knob.masked_model]
    return [name for name in names if all(name in card.knobs for card in cards)]


def _setting(number: int, options: list[str]) -> str:
    key = key_of(number, "setting")
    if st.session_state.get(key) not in options:
        st.session_state[key] = NONE
    label = "Try several values of" if number == 1 else "And several values of"
    name: str = st.selectbox(
        label,
        options,
        key=key,
        format_func=lambda name: name.replace("_", " "),
        persist_state="session",
        help="A setting that all chosen methods have. Every value is trained with every method, model and seed.",
    )
    return name


def _values(number: int, name: str, cards: Sequence[MethodCard]) -> tuple[Any, ...] | None:
    knob = cards[0].knobs[name]
    label = name.replace("_", " ")
    example = ", ".join(map(knob.told, _example(cards[0], name)))
    typed: str = st.text_input(
        f"Values of {label}",
        key=f"{key_of(number, 'values')} {name}",
        placeholder=example,
        persist_state="session",
        help=f"{messages.plain(knob.help)}\n\nAllowed: {messages.plain(knob.allowed)}.",
    )
    try:
        values = read(typed, name, cards)
    except StrataError as error:
        messages.trouble(error)
        return None
    if len(values) < 2:
        st.warning(messages.plain(FEW.format(label, example, NONE)), icon=":material/edit:")
        return None
    return values


def read(typed: str, name: str, cards: Sequence[MethodCard]) -> tuple[Any, ...]:
    """Parse `0.05, 0.1` as values of a setting that every method allows."""
    words = [word for word in re.split(r"[\s,;]+", typed) if word]
    values = []
    for word in words:
        for card in cards:
            try:
                value = card.knobs[name].checked(word)
            except StrataError as error:
                raise type(error)(f"{card.name}: {error}") from error
        values.append(value)
    if len(set(values)) < len(values):
        raise BadChoice(TWICE.format(name.replace("_", " ")))
    return tuple(values)


def _example(card: MethodCard, name: str) -> tuple[Any, ...]:
    knob = card.knobs[name]
    if knob.choices:
        return knob.choices[:2]
    if knob.kind is bool:
        return True, False
    if isinstance(knob.default, str) or not knob.default:
        return (1, 2) if knob.kind is int else (0.1, 0.2)
    return knob.default, knob.default * 2
