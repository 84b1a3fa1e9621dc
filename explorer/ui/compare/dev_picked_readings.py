"""Choose the layer & pooling of A and of B on a dev set, and compare the two on the chosen pairs."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from explorer.data import sources
from explorer.data.graded import sets
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.comparing.dev_picking import DevPick, pick
from explorer.ui import messages
from explorer.ui.access import side_scores
from explorer.ui.access.side_scores import Shown
from explorer.ui.access.sidebar_choice import Choice
from explorer.ui.compare import compared, verdict_view
from explorer.ui.frame import second_encoder, sidebar

NOTHING = "nothing"


def picked(sides: tuple[Shown, Shown], choices: tuple[Choice, Choice], metric: str) -> DevPick | None:
    """The best layer & pooling of A and of B on the dev set; None if none is chosen, or not scored yet."""
    here = sides[0].graded
    if here is None:
        return None
    others = [one for one in sets.known() if one != choices[0].sts]
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
    one, other = (side_scores.shown(replace(choice, sts=sources.identity(name), reading=None)) for choice in choices)
    if one is None or other is None:
        return None  # progress or the error is shown
    if one.graded is None:
        return None
    return pick(one.graded, (one.scores, other.scores), here, metric)


def show(found: DevPick, sides: tuple[Shown, Shown], metric: str, aggregate: str) -> None:
    """Both scores under the picked layers & poolings, their difference, and how they were picked."""
    comparison = Comparison(sides[0].scores, sides[1].scores, *found.readings)
    differences = compared.differences((sides[0].measured, sides[1].measured), comparison, metric, aggregate)
    verdict_view.score_cards(comparison, metric, aggregate, differences.chosen)
    st.caption(messages.plain(found.told))
    if found.readings != (sides[0].reading, sides[1].reading):
        st.button(
            "Use these layers & poolings",
            key="use picked",
            icon=":material/check:",
            on_click=_take,
            args=(found,),
            help="Sets them in the sidebar, for every page.",
        )


def _take(found: DevPick) -> None:
    one, other = found.readings
    sidebar.choose_reading(one)
    second_encoder.choose_reading(other)
