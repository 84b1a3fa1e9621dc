"""Choose the method that fits the training text, until the visitor chooses one; say why, or offer it by a click."""

import streamlit as st

from explorer.data import sources
from explorer.errors import StrataError
from explorer.ui import messages
from explorer.ui.access import cached_text, method_cards
from explorer.ui.access.method_cards import MethodCard
from explorer.ui.runs.train_page import METHOD, METHOD_BY_HAND, SOURCES
from explorer.ui.train import knob_form

ONE_FILE, OTHERS = "Your file", "The training text"
USE = "Use {}"
_NOTED = "_text of the form"


def note(chosen: tuple[str, ...]) -> None:
    """Remember the text that the form shows, with which a later one is compared."""
    st.session_state[_NOTED] = chosen


def follow_text() -> None:
    """Choose the method that fits the new text, with its defaults; only before the form is drawn.

    The demonstration's text has the demonstration's method and settings. What the visitor has chosen or set stays.
    """
    from explorer.training.recipe import demonstration

    state = st.session_state
    before, chosen = state.get(_NOTED, ()), tuple(state.get(SOURCES, ()))
    if state.get(METHOD_BY_HAND) or not chosen:
        return
    shown = demonstration()
    is_shown = chosen == shown.data
    name = shown.method if is_shown else of_text(chosen)
    if name and (name != state.get(METHOD) or before in ((), shown.data) or is_shown):
        state[METHOD] = name
        knob_form.fill(method_cards.methods()[name], shown.every_setting() if is_shown else {})


def of_text(chosen: tuple[str, ...]) -> str:
    """The method that fits a text; "" if none is suggested, or if the text cannot be read."""
    from explorer.training.recipe import suggested

    try:
        return suggested(*cached_text.kind_of(chosen))
    except StrataError:  # the text form shows the error
        return ""


def explain(chosen: tuple[str, ...], card: MethodCard, fits: bool) -> None:
    """Why the method fits the visitor's text; if it does not fit, a button that chooses the one that does."""
    name = of_text(chosen) if chosen else ""
    if not name:
        return
    suggestion = method_cards.methods()[name].kind.suggestion
    if suggestion is None or not any(map(sources.is_file, chosen)):
        return
    why = messages.plain(suggestion.sentence(ONE_FILE if len(chosen) == 1 else OTHERS, name))
    if card.name == name and fits:
        st.caption(why)
    elif not fits and card.name != name:
        st.caption(why)
        st.button(
            USE.format(messages.plain(name)),
            key="use fitting method",
            icon=":material/rule:",
            on_click=_use,
            args=(name,),
        )


def _use(name: str) -> None:
    st.session_state[METHOD], st.session_state[METHOD_BY_HAND] = name, False
    knob_form.fill(method_cards.methods()[name], {})
