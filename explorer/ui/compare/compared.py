"""Score A and B on the same pairs and compute the verdict."""

from collections.abc import Hashable
from dataclasses import dataclass

import streamlit as st

from explorer.errors import StrataError
from explorer.measuring.comparing.comparison import Comparison, Differences
from explorer.measuring.comparing.comparison_report import Findings
from explorer.measuring.scores.bootstrap import Interval
from explorer.training.record.run_results import verdict_on
from explorer.ui import messages
from explorer.ui.access import side_scores, sidebar_choice
from explorer.ui.access.side_scores import ModelScores
from explorer.ui.access.sidebar_choice import Choice


@dataclass(frozen=True, eq=False, kw_only=True)
class Compared(Findings):
    """What the comparison of the page has found, and how A and B were chosen."""

    sides: tuple[ModelScores, ModelScores]
    choices: tuple[Choice, Choice]
    about: Comparison  # of the verdict: the model defaults, if one side was tuned from the other

    @property
    def about_chosen(self) -> bool:
        """Whether the verdict compares the chosen layers & poolings."""
        return self.about is self.comparison

    @property
    def stem(self) -> str:
        """The first part of the names of downloads."""
        return f"{self.sides[0].found.name} {self.sides[1].found.name}"


def both_shown(choices: tuple[Choice, Choice]) -> tuple[ModelScores, ModelScores] | None:
    """The scores of A and of B; None until both are computed, with progress or the error shown."""
    if (
        choices[0].evaluation_set == choices[1].evaluation_set
        and sidebar_choice.evaluated_on(choices[0].evaluation_set) is None
    ):
        return None  # the set is the same for both: its card is shown once
    one = side_scores.scored(choices[0])
    if one is None and choices[0].source == choices[1].source:
        return None  # one job scores both: its progress is shown once
    other = side_scores.scored(choices[1])
    return None if one is None or other is None else (one, other)


def compared(
    sides: tuple[ModelScores, ModelScores],
    choices: tuple[Choice, Choice],
    comparison: Comparison,
    metric: str,
    aggregate: str,
) -> Compared | None:
    """Compute the comparison; None if the two cannot be compared, with the error shown."""
    one, other = sides
    measured = one.measured, other.measured

    def chosen(about: Comparison) -> Interval:
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
        seed=0,
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
) -> Interval:
    return _comparison.chosen(metric, aggregate)


@st.cache_resource(max_entries=16, show_spinner="Computing confidence intervals …")
def _cell_differences(
    measured: Hashable, metric: str, aggregate: str, _comparison: Comparison
) -> tuple[Interval | None, Interval | None]:
    return _comparison.cells(metric, aggregate)
