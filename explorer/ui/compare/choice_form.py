"""Choose what is compared: model B, the layers & poolings of both, and a dev set on which they are picked."""

from dataclasses import replace

import streamlit as st

from explorer.data import sources
from explorer.data.graded import sets
from explorer.encoding.load import declared
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.scores.best_cell import DevPick, pick
from explorer.ui import messages
from explorer.ui.access import side_scores, sidebar_choice
from explorer.ui.access.side_scores import ModelScores
from explorer.ui.access.sidebar_choice import Choice
from explorer.ui.compare import compared as comparing
from explorer.ui.compare import geometry_view, grids_view, verdict_view
from explorer.ui.compare.compared import Compared
from explorer.ui.frame import sidebar

ASK = f"Choose model B in the sidebar under **{sidebar_choice.MODEL_B}**, or here."
EACH, SAME, CHOSEN = "Each model's default", "Same layer & pooling for both", "As chosen in the sidebar"
KEY = "compared view"
NOTHING = "nothing"  # in place of a dev set


def ask() -> None:
    """A button for each model on this disk."""
    st.info(ASK, icon=":material/compare:")
    for name in [one for one in sidebar.encoders() if one != sidebar_choice.chosen().source][:6]:
        st.button(
            f"Compare with {messages.plain(name)}", key=f"beside {name}", on_click=sidebar.choose_model_b, args=(name,)
        )
    st.page_link("pages/train.py", label="Train a model", icon=":material/model_training:")


def alone(choice: Choice) -> None:
    """The embedding geometry of A, which needs no B."""
    if not geometry_view.asked(1):
        return
    shown = side_scores.scored(choice)
    if shown is not None:
        geometry = geometry_view.found((shown,), grids_view.pooling_control(shown.scores), choice.settings)
        if geometry is not None:
            geometry_view.show(geometry, None, shown.found.name)


def view_control(compared: Compared) -> None:
    """The switch; it sets the layers & poolings of the sidebar, which are kept in the address."""
    folders = [one.found.folder for one in compared.sides]
    cell = declared.default_cell(folders[0])
    both_have_it = sidebar_choice.exists(cell.title, folders[1])
    titles = [choice.reading or MODEL_DEFAULT for choice in compared.choices]
    now = EACH if set(titles) == {MODEL_DEFAULT} else SAME if len(set(titles)) == 1 else CHOSEN
    options = [EACH, *[SAME] * (both_have_it or now == SAME), *[CHOSEN] * (now == CHOSEN)]
    st.session_state[KEY] = now
    st.segmented_control(
        "Layer & pooling",
        options,
        key=KEY,
        required=True,
        on_change=_take,
        args=(cell.title,),
        help=f"**{EACH}**: A and B each under model default. **{SAME}**: both under {cell.title}, so that only the "
        "weights differ.",
    )


def _take(title: str) -> None:
    if st.session_state[KEY] == EACH:
        sidebar.choose_for_both()
    elif st.session_state[KEY] == SAME:
        sidebar.choose_for_both(title)


def picked(sides: tuple[ModelScores, ModelScores], choices: tuple[Choice, Choice], metric: str) -> DevPick | None:
    """The best layer & pooling of A and of B on the dev set; None if none is chosen, or not scored yet."""
    here = sides[0].graded
    if here is None:
        return None
    others = [one for one in sets.known() if one != choices[0].evaluation_set]
    name: str = st.selectbox(
        "Choose both layers & poolings on",
        sidebar.with_current([NOTHING, *map(sources.written, others)], "picked_on"),
        key="picked_on",
        bind="query-params",
        width=300,
        help="A dev set. The best layer & pooling of A and of B on it are compared on "
        f"{messages.plain(here.name)}. The result is fair: the choice does not use the pairs that are scored.",
    )
    if name == NOTHING:
        return None
    one, other = (
        side_scores.scored(replace(choice, evaluation_set=sources.identity(name), reading=None)) for choice in choices
    )
    if one is None or other is None:
        return None  # progress or the error is shown
    if one.graded is None:
        return None
    return pick(one.graded, (one.scores, other.scores), here, metric)


def show_picked(found: DevPick, sides: tuple[ModelScores, ModelScores], metric: str, aggregate: str) -> None:
    """Both scores under the picked layers & poolings, their difference, and how they were picked."""
    comparison = Comparison(sides[0].scores, sides[1].scores, *found.readings)
    differences = comparing.differences((sides[0].measured, sides[1].measured), comparison, metric, aggregate)
    verdict_view.score_cards(comparison, metric, aggregate, differences.chosen)
    st.caption(messages.plain(found.words))
    if found.readings != (sides[0].reading, sides[1].reading):
        st.button(
            "Use these layers & poolings",
            key="use picked",
            icon=":material/check:",
            on_click=_take_picked,
            args=(found,),
            help="Sets them in the sidebar, for every page.",
        )


def _take_picked(found: DevPick) -> None:
    one, other = found.readings
    sidebar.choose_reading(one)
    sidebar.choose_reading_of_b(other)
