"""Draw the lists of a plan: the values of settings, and the numbers of training rows, that are tried."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from explorer.errors import BadChoice, StrataError
from explorer.ui import messages
from explorer.ui.runs import training_form
from explorer.ui.widgets import controls

ROWS = "plan rows"
NONE = "no setting"
LISTS = 2
FEW = "Type at least two values of {} with commas between them, such as {}; or choose '{}'."
SAME = "{} is chosen twice. Choose another setting, or '{}'."


def training_rows() -> tuple[str, ...] | None:
    """The numbers of training rows that are tried; none for all rows, None if one is not allowed, with the error."""
    from explorer.studies.plans.plan import TRAINING_ROWS

    typed = controls.draw("plan", TRAINING_ROWS, key=ROWS, width="stretch")
    with messages.errors_shown():
        rows: tuple[str, ...] = TRAINING_ROWS.checked(typed or "")
        return rows
    return None


def grid(cards: Sequence[training_form.MethodCard]) -> Mapping[str, tuple[Any, ...]] | None:
    """The values of each chosen setting; None if one is not allowed, with the error shown at its field."""
    from explorer.studies.plans.plan import Plan

    # the settings that every method has; a model's name is none of them, and the number of rows has its own field
    knobs = cards[0].knobs.items() if cards else ()
    first = [name for name, knob in knobs if not (knob.masked_model or knob.encoder) and name != "rows"]
    options = [NONE, *(name for name in first if all(name in card.knobs for card in cards))]
    found: dict[str, tuple[Any, ...]] = {}
    wrong = False
    for number in range(1, LISTS + 1):
        left, right = st.columns([1, 2])
        key = grid_key(number, "setting")
        if st.session_state.get(key) not in options:
            st.session_state[key] = NONE
        title = "Try several values of" if number == 1 else "And several values of"
        with left:
            name: str = controls.draw(
                "",
                replace(Plan.knobs["grid"], title=title),
                key=key,
                offered=options,
                accept_new_options=False,
                format_func=lambda name: name.replace("_", " "),
                help="A setting that all chosen methods have. Every value is trained with every method, model and "
                "seed.",
            )
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


def grid_key(number: int, part: str) -> str:
    """The name of the widget of a list: its `setting` or its `values`."""
    return f"plan {part} {number}"


def _values(number: int, name: str, cards: Sequence[training_form.MethodCard]) -> tuple[Any, ...] | None:
    knob = cards[0].knobs[name]
    label = name.replace("_", " ")
    example = ", ".join(map(knob.text, _example(cards[0], name)))
    typed: str = controls.draw(
        "",
        replace(knob, default=(), choices=(), title=f"Values of {label}", empty=example),
        key=f"{grid_key(number, 'values')} {name}",
        width="stretch",
        help=f"{messages.plain(knob.help)}\n\nAllowed: {messages.plain(knob.allowed)}.",
    )
    try:
        values = tried_values(typed, name, cards)
    except StrataError as error:
        messages.trouble(error)
        return None
    if len(values) < 2:
        st.warning(messages.plain(FEW.format(label, example, NONE)), icon=":material/edit:")
        return None
    return values


def tried_values(typed: str, name: str, cards: Sequence[training_form.MethodCard]) -> tuple[Any, ...]:
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
        raise BadChoice(f"{name.replace('_', ' ')} has a value twice. Give each once.")
    return tuple(values)


def _example(card: training_form.MethodCard, name: str) -> tuple[Any, ...]:
    knob = card.knobs[name]
    if knob.choices:
        return knob.choices[:2]
    if knob.kind is bool:
        return True, False
    if isinstance(knob.default, str) or not knob.default:
        return (1, 2) if knob.kind is int else (0.1, 0.2)
    return knob.default, knob.default * 2
