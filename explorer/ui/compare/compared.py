"""Choose what is compared, score A and B on the same pairs, and compute the verdict."""

from collections.abc import Hashable
from dataclasses import dataclass, replace

import streamlit as st

from explorer.data import sources
from explorer.data.graded import sets
from explorer.encoding.load import declared
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.errors import StrataError
from explorer.measuring.comparing.comparison import Comparison, Differences
from explorer.measuring.comparing.comparison_report import Findings
from explorer.measuring.scores import best_cell, bootstrap
from explorer.training.record.run_results import verdict_on
from explorer.ui import messages
from explorer.ui.access import sidebar_choice
from explorer.ui.frame import sidebar

ASK = f"Choose model B in the sidebar under **{sidebar_choice.MODEL_B}**, or here."
EACH, SAME, CHOSEN = "Each model's default", "Same layer & pooling for both", "As chosen in the sidebar"
KEY = "compared view"
NOTHING = "nothing"  # in place of a dev set
Sides = tuple[sidebar_choice.ModelScores, sidebar_choice.ModelScores]
Choices = tuple[sidebar_choice.Choice, sidebar_choice.Choice]


@dataclass(frozen=True, eq=False, kw_only=True)
class Compared(Findings):
    """What the comparison of the page has found, and how A and B were chosen."""

    sides: Sides
    choices: Choices
    about: Comparison  # of the verdict: the model defaults, if one side was tuned from the other

    @property
    def about_chosen(self) -> bool:
        """Whether the verdict compares the chosen layers & poolings."""
        return self.about is self.comparison

    @property
    def stem(self) -> str:
        """The first part of the names of downloads."""
        return f"{self.sides[0].found.name} {self.sides[1].found.name}"


def ask() -> None:
    """A button for each model on this disk."""
    st.info(ASK, icon=":material/compare:")
    for name in [one for one in sidebar.encoders() if one != sidebar_choice.chosen().source][:6]:
        st.button(
            f"Compare with {messages.plain(name)}", key=f"beside {name}", on_click=sidebar.choose_model_b, args=(name,)
        )
    st.page_link("pages/train.py", label="Train a model", icon=":material/model_training:")


def both_shown(choices: Choices) -> Sides | None:
    """The scores of A and of B; None until both are computed, with progress or the error shown."""
    if (
        choices[0].evaluation_set == choices[1].evaluation_set
        and sidebar_choice.evaluated_on(choices[0].evaluation_set) is None
    ):
        return None  # the set is the same for both: its card is shown once
    one = sidebar_choice.scored(choices[0])
    if one is None and choices[0].source == choices[1].source:
        return None  # one job scores both: its progress is shown once
    other = sidebar_choice.scored(choices[1])
    return None if one is None or other is None else (one, other)


def compared(sides: Sides, choices: Choices, comparison: Comparison, metric: str, aggregate: str) -> Compared | None:
    """Compute the comparison; None if the two cannot be compared, with the error shown."""
    one, other = sides
    measured = one.measured, other.measured

    def chosen(about: Comparison) -> bootstrap.Interval:
        return differences(measured, about, metric, aggregate).chosen

    try:
        found = differences(measured, comparison, metric, aggregate)
        about, verdict = verdict_on((one.found, other.found), one.pairs, comparison, metric, aggregate, chosen)
    except StrataError as error:
        messages.trouble(error)
        return None
    return Compared(
        found=(one.found, other.found),
        pairs=one.pairs,
        comparison=comparison,
        differences=found,
        metric=metric,
        aggregate=aggregate,
        of_models=verdict,
        sides=sides,
        choices=choices,
        about=about,
    )


def differences(measured: Hashable, comparison: Comparison, metric: str, aggregate: str) -> Differences:
    """B minus A, with intervals; `measured` identifies models, pairs and settings."""
    readings = (comparison.one_reading.title, comparison.other_reading.title)
    grid, own = _cell_differences(measured, metric, aggregate, comparison)
    chosen = comparison.among(grid, own)
    return Differences(chosen or _chosen_difference(measured, readings, metric, aggregate, comparison), grid, own)


@st.cache_resource(max_entries=64, show_spinner=False)
def _chosen_difference(
    measured: Hashable, readings: tuple[str, str], metric: str, aggregate: str, _comparison: Comparison
) -> bootstrap.Interval:
    return _comparison.chosen(metric, aggregate)


@st.cache_resource(max_entries=16, show_spinner="Computing confidence intervals …")
def _cell_differences(
    measured: Hashable, metric: str, aggregate: str, _comparison: Comparison
) -> tuple[bootstrap.Interval | None, bootstrap.Interval | None]:
    return _comparison.cells(metric, aggregate)


def view_control(compared: Compared) -> None:
    """The switch; it sets the layers & poolings of the sidebar, which are kept in the address."""
    folders = [one.found.folder for one in compared.sides]
    cell = declared.default_cell(folders[0])
    titles = {choice.reading or MODEL_DEFAULT for choice in compared.choices}
    now = EACH if titles == {MODEL_DEFAULT} else SAME if len(titles) == 1 else CHOSEN
    both_have_it = now == SAME or sidebar_choice.exists(cell.title, folders[1])
    st.session_state[KEY] = now
    st.segmented_control(
        "Layer & pooling",
        [EACH, *[SAME] * both_have_it, *[CHOSEN] * (now == CHOSEN)],
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


def picked(sides: Sides, choices: Choices, metric: str) -> best_cell.DevPick | None:
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
        sidebar_choice.scored(replace(choice, evaluation_set=sources.identity(name), reading=None))
        for choice in choices
    )
    if one is None or other is None or one.graded is None:
        return None  # progress or the error is shown
    return best_cell.pick(one.graded, (one.scores, other.scores), here, metric)
