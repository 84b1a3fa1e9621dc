"""Draw a field for each hyperparameter, with the paper's value, the allowed range and what it does."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

import streamlit as st

from explorer.errors import StrataError
from explorer.knobs import Knob, Values
from explorer.ui import messages
from explorer.ui.runs.training_form import MethodCard, knob_key
from explorer.ui.widgets import controls

COLUMNS = 3
FOR_TEXT = "for this text"
DEFAULTS, PAPER, RELEASED = "Strata's defaults", "As in the paper", "As in the released code"


def fields(card: MethodCard, knobs: Iterable[Knob]) -> dict[str, bool | int | float | str] | None:
    """The values that differ from their default; None if a value is not allowed."""
    found: dict[str, bool | int | float | str] = {}
    wrong: list[StrataError] = []
    references = _references(card)
    columns: list[st.delta_generator.DeltaGenerator] = []
    for place, knob in enumerate(knobs):
        if place % COLUMNS == 0:  # a row at a time: a narrow screen stacks columns
            columns = st.columns(COLUMNS)
        with columns[place % COLUMNS]:
            try:
                value = knob.checked(_field(card, knob))
            except StrataError as error:
                wrong.append(error)
                _mark(card, knob, references)
                continue
            if value != knob.default:
                found[knob.name] = value
            if value != references[knob.name]:
                _mark(card, knob, references)
    for one in wrong:
        messages.trouble(one)
    return None if wrong else found


def fit(card: MethodCard, values: Values) -> Values:
    """Give fields the values that fit the text; they follow it until the visitor changes them. Returns these values.

    Fields that were filled with other values than Strata's defaults stay.
    """
    state, key = st.session_state, _fitted_key(card)
    before, now = state.get(key, {}), {name: value for name, value in values.items() if name in card.knobs}
    if before is None:
        return {}
    for name in {**before, **now}:
        knob, field = card.knobs[name], knob_key(card.name, name)
        last = _shown(knob, before.get(name, knob.default))
        if state.get(field, last) == last:
            state[field] = _shown(knob, now.get(name, knob.default))
    state[key] = now
    return now


def _fitted(card: MethodCard) -> Values:
    """The values that fit the text, which are in place of the defaults; none if the fields do not follow it."""
    found: Values = st.session_state.get(_fitted_key(card)) or {}
    return found


def _fitted_key(card: MethodCard) -> str:
    return f"fitted {card.name}"


def follow_encoder(card: MethodCard, plain: MethodCard) -> None:
    """Give fields that have the default for the encoder before the default for this one; `plain` is for any encoder."""
    state, key = st.session_state, f"encoders {card.name}"
    before = MethodCard(plain.kind, state.get(key, ""))
    for name in {**before.of_encoders, **card.of_encoders}:
        knob, field = card.knobs[name], knob_key(card.name, name)
        if name not in _fitted(card) and state.get(field) == _shown(knob, before.knobs[name].default):
            state[field] = _shown(knob, knob.default)
    state[key] = card.encoders


def fill(card: MethodCard, settings: Values, *, follow: bool = False) -> None:
    """Set the fields to a recipe's values, or with `follow` to what then follows the text; only in a callback."""
    for name, knob in card.knobs.items():
        st.session_state[knob_key(card.name, name)] = _shown(knob, settings.get(name, knob.default))
    st.session_state[_fitted_key(card)] = {} if follow else None
    st.session_state[f"encoders {card.name}"] = card.encoders


def value(card: MethodCard, name: str) -> bool | int | float | str | None:
    """The value in a field; the default if it is not allowed, and None if the method has no such setting."""
    if name not in card.knobs:
        return None
    knob = card.knobs[name]
    found: bool | int | float | str = knob.default
    with suppress(StrataError):
        found = knob.checked(st.session_state.get(knob_key(card.name, name), knob.default))
    return found


def presets(card: MethodCard) -> None:
    """Set every field to Strata's defaults, to the paper's values, to the released code's, or to those of a preset."""
    settings = _presets(card)
    if len(settings) < 2:
        return
    key = f"preset {card.name}"
    st.session_state[key] = marked_preset(card)

    def choose() -> None:
        name = st.session_state[key]
        if (chosen := settings.get(name)) is not None:
            fill(card, {} if name == DEFAULTS else chosen, follow=name == DEFAULTS)

    st.segmented_control(
        "Values of the settings",
        list(settings),
        key=key,
        on_change=choose,
        help="Sets every field. Marked while the fields have these values; Strata's defaults follow the number of "
        "rows. Quick: a short trial on small batches. On the command line: `--as-in-paper`, `--as-released`, "
        "`--preset quick`.",
    )


def marked_preset(card: MethodCard) -> str | None:
    """The name of the set of values that the fields have."""
    shown = {
        name: st.session_state.get(knob_key(card.name, name), _shown(knob, knob.default))
        for name, knob in card.knobs.items()
    }
    for preset, values in _presets(card).items():
        if all(value == _shown(card.knobs[name], values[name]) for name, value in shown.items()):
            return preset
    return None


def _presets(card: MethodCard) -> dict[str, Values]:
    """The sets of values that a method has, each under its name; equal ones once."""
    usual = {name: knob.default for name, knob in card.knobs.items()}
    paper = {name: knob.paper_value for name, knob in card.knobs.items()}
    found: dict[str, Values] = {DEFAULTS: {**usual, **_fitted(card)}}
    if card.kind.as_published and paper != usual:
        found[PAPER] = paper
    if card.kind.as_published and {**paper, **card.kind.released} not in (usual, paper):
        found[RELEASED] = {**paper, **card.kind.released}
    for name, values in card.presets.items():
        if values:
            found[name.capitalize()] = {**usual, **values}
    return found


def _field(card: MethodCard, knob: Knob) -> bool | int | float | str:
    key = knob_key(card.name, knob.name)
    if key not in st.session_state:
        st.session_state[key] = _shown(knob, knob.default)
    values = f"Default: {Knob.text(knob.default)}. "
    if card.kind.as_published or knob.paper is not None:
        paper = f"The paper's value: {Knob.text(knob.paper_value)}. "
        values = paper if knob.paper_value == knob.default else values + paper
    values += f"Allowed: {knob.allowed}."
    label, tip = messages.plain(knob.label), f"{messages.plain(knob.help)}\n\n{messages.plain(values)}"
    tip += f"\n\nOn the command line: `--set {knob.name}=…`"
    shown = replace(knob, title=label, help=tip)  # filled above, where a field with a default of its own would warn
    if choices := ("on", "off") if knob.kind is bool else knob.choices:  # no switch: it is lower than the other fields
        shown = replace(shown, choices=choices, default=choices[0])
    elif knob.kind is not int:  # as text: a number field would round 5e-05
        shown = replace(shown, default="")
    found: bool | int | float | str | None = controls.draw(
        "", controls.unbounded(shown), key=key, menu=True, width="stretch"
    )
    return "" if found is None else found  # a number field that was emptied


def _shown(knob: Knob, value: bool | int | float | str) -> int | str:
    return value if knob.kind is int and isinstance(value, int) else Knob.text(value)


def _references(card: MethodCard) -> Values:
    """The values to compare with: the paper's; without a paper's values those of the marked preset, or the defaults."""
    presets = _presets(card)
    marked = PAPER if card.kind.as_published else marked_preset(card)
    return presets.get(marked or DEFAULTS, presets[DEFAULTS])  # without the paper's, they are equal to the defaults


def _mark(card: MethodCard, knob: Knob, references: Values) -> None:
    """Show the value to compare with below a field that differs. The label stays unchanged for screen readers."""
    value = references[knob.name]
    shown = "set by the epochs" if knob.name == "steps" and not value else Knob.text(value)
    whose = "paper" if card.kind.as_published else FOR_TEXT if knob.name in _fitted(card) else "default"
    st.badge(f"{whose}: {messages.plain(shown)}", color="orange")
