"""Draw the stages that a run trains before its own method: method, text and settings of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from explorer import knobs
from explorer.data import sources, text_sets
from explorer.data.graded.sets import SetIdentity
from explorer.errors import StrataError
from explorer.ui import messages
from explorer.ui.access import cached_texts, set_choice
from explorer.ui.runs import training_form
from explorer.ui.train import knob_form, text_form
from explorer.ui.widgets import controls

if TYPE_CHECKING:
    from explorer.training.recipe import Stage

STAGES, NEXT = "_stages of the form", "_number of the next stage"
ADD, REMOVE = "Add a stage before", "Remove"
ABOUT = "Trains another method first, on a text of its own. The run then starts from its best checkpoint."
SAME_TEXT = "the run's text"
LEFT_OUT = ("blend",)  # only the last stage can be blended with the base
Plan = Callable[[training_form.MethodCard, knobs.Values, int], str]


@dataclass(frozen=True)
class StageCard(training_form.MethodCard):
    """The method of a stage, whose fields are apart from those of other stages and of the run."""

    stage: int = 0  # a number that no other stage of the session has

    @property
    def name(self) -> str:
        """What its fields are called after."""
        return f"of stage {self.stage}: {self.kind.name}"


def stages(
    own_text: tuple[SetIdentity, ...], own_columns: dict[str, str], encoders: str, plan: Plan
) -> tuple[Stage, ...] | None:
    """The stages of the form in order; None if a field of one is invalid, with the error shown at it.

    A stage without a text has that of the run, with its columns. `plan` says in words how many steps a method's
    settings and rows are.
    """
    state, own = st.session_state, (own_text, own_columns)
    numbers: list[int] = state.setdefault(STAGES, [])
    found = [_stage(place, number, own, encoders, plan) for place, number in enumerate(numbers, start=1)]
    st.button(ADD, key="add stage", icon=":material/stairs:", on_click=_add_one, help=ABOUT)
    known = [one for one in found if one is not None]
    return tuple(known) if len(known) == len(found) else None


def fill(given: Sequence[Stage], encoders: str) -> None:
    """Set the stages of the form to those of a recipe; only in a callback."""
    st.session_state[STAGES] = []
    for stage in given:
        number = _add()
        state = st.session_state
        state[_key(number, "method")], state[_key(number, "text")] = stage.method, list(map(str, stage.data))
        state[_key(number, "columns")] = dict(stage.columns)
        card = StageCard(training_form.methods()[stage.method].kind, encoders, number)
        settings = {name: one.default for name, one in card.knobs.items()} | dict(stage.settings)
        knob_form.fill(card, settings)


def _add() -> int:
    state = st.session_state
    number: int = state.get(NEXT, 1)
    state[NEXT] = number + 1
    state[STAGES] = [*state.get(STAGES, []), number]
    return number


def _add_one() -> None:
    _add()


def _remove(number: int) -> None:
    st.session_state[STAGES] = [one for one in st.session_state[STAGES] if one != number]


def _key(number: int, what: str) -> str:
    return f"stage {number} {what}"


def _stage(
    place: int, number: int, of_run: tuple[tuple[SetIdentity, ...], dict[str, str]], encoders: str, plan: Plan
) -> Stage | None:
    from explorer.methods import few_rows
    from explorer.training.recipe import Stage

    with st.container(border=True):
        line = st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute")
        line.markdown(f"**Stage {place}, before this run's own training**")
        line.button(REMOVE, key=_key(number, "remove"), icon=":material/close:", on_click=partial(_remove, number))
        left, right = st.columns(2, gap="medium")
        with left:
            text = _text(number)
        with right:
            card = StageCard(_method(number).kind, encoders, number)
            st.caption(f"{messages.plain(card.kind.title())} Trains on {card.kind.rows.title}.")
        text, columns = (text, st.session_state.get(_key(number, "columns"), {})) if text else of_run
        rows = _rows(text, card, columns)
        if rows is not None:
            few = few_rows(card.kind, rows)
            knob_form.fit(card, {name: value for name, value in few.items() if name not in LEFT_OUT})
        with st.expander("Settings of the stage", icon=":material/tune:"):
            own = (one for one in card.knobs.values() if one.name not in LEFT_OUT)
            settings = knob_form.fields(card, sorted(own, key=lambda one: not one.front))
        if rows is None or settings is None:
            return None
        settings = {**card.of_encoders, **settings}
        try:
            st.caption(plan(card, settings, rows))
        except StrataError as error:
            messages.trouble(error)
            return None
        return Stage(card.kind.name, text, columns, settings)


def _method(number: int) -> training_form.MethodCard:
    """The method of a stage, one of those that train the encoder."""
    from explorer.methods import suggested
    from explorer.training.recipe import Stage

    cards = {name: card for name, card in training_form.methods().items() if card.kind.trains_encoder()}
    key, state = _key(number, "method"), st.session_state
    if state.get(key) not in cards:
        state[key] = suggested(text_sets.SENTENCES, 1) or next(iter(cards))
    name: str = controls.draw(
        "",
        replace(Stage.knobs["method"], title="Method of the stage"),
        key=key,
        offered=cards,
        accept_new_options=False,
        help="Those that train the encoder.",
    )
    return cards[name]


def _text(number: int) -> tuple[SetIdentity, ...]:
    """The text of a stage; none for the text of the run."""
    from explorer.training.recipe import Stage

    state = st.session_state
    chosen: list[str] = controls.draw(
        "",
        replace(Stage.knobs["data"], title="Text of the stage"),
        key=_key(number, "text"),
        offered=text_form.offered(state.get(_key(number, "text"), ())),
        format_func=set_choice.in_menu(),
        placeholder=SAME_TEXT,
        on_change=lambda: state.pop(_key(number, "columns"), None),
        help="A name, or the path of a file on this machine. Empty: the text of the run.",
    )
    return sources.texts(dict.fromkeys(one.strip() for one in chosen if one.strip()))


def _rows(text: tuple[SetIdentity, ...], card: StageCard, columns: dict[str, str]) -> int | None:
    """The number of rows that the text has for the method; None, with the reason shown, if they do not fit."""
    if not text:
        messages.trouble("No text is chosen for the stage. Choose one, or the text of the run.")
        return None
    try:
        keep = bool(knob_form.value(card, "keep_duplicates"))
        count, *_ = cached_texts.rows(text, card.kind.name, columns, keep)
    except StrataError as error:
        messages.trouble(error)
        return None
    kind = card.kind.rows
    st.caption(f"{count:,} {'sentences' if kind == text_sets.SENTENCES else f'rows of {kind.title}'}.")
    return count
