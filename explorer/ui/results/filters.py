"""Choose what the table of results shows: tasks, models, layer & pooling, measure; kept in the address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from explorer.encoding.read.readings import MODEL_DEFAULT
from explorer.evaluating.results import result_table
from explorer.evaluating.results.result_files import Result
from explorer.evaluating.results.result_table import Model
from explorer.evaluating.suites import SUITES
from explorer.training.record.run_results import RUN_TEST

ALL = "all tasks"
OTHERS = "others"
SUITE = "suite"
MAIN = "main measure"


@dataclass(frozen=True, eq=False)
class Chosen:
    """The rows and columns to show."""

    rows: tuple[Model, ...]
    tasks: tuple[str, ...]
    title: str  # of the layer & pooling
    measure: str | None  # None: of each task its main one

    @property
    def is_main(self) -> bool:
        """Whether these are the main measures of the model defaults, which rank groups are about."""
        return self.title == MODEL_DEFAULT and self.measure is None


def chosen(results: Sequence[Result]) -> Chosen:
    """Draw the controls above the table."""
    rows, tasks = result_table.models(results), _in_order({result.measured.task for result in results})
    with st.container(horizontal=True, vertical_alignment="bottom"):
        suites = list(dict.fromkeys(map(suite_of, tasks)))
        suite = st.selectbox(
            "Suite",
            [*suites, ALL],
            key=SUITE,
            bind="query-params",
            width=180,
            help=f"{OTHERS}: files of your own, and the test sets of runs. {ALL}: without those that only runs scored "
            "themselves on, since no other model could have an average.",
        )
        shown = (
            _evaluated(results, tasks)
            if suite == ALL
            else [task for task in tasks if suite_of(task) == (suite or suites[0])]
        )
        measures = dict.fromkeys(
            name for one in results if one.measured.task in shown for name in one.measured.measures
        )
        measure = st.selectbox(
            "Measure",
            [MAIN, *measures],
            key="measure",
            bind="query-params",
            width=180,
            help="The main measure of a task: Spearman × 100 for STS, accuracy for transfer, MRR@10 for search, "
            "nDCG@10 for retrieval. Higher is better, at most 100. mean and wmean average the sub-corpora of a set. "
            "Of ms per query and index MB, lower is better.",
        )
        titles = dict.fromkeys(title for one in results for title in one.measured.titles if title != MODEL_DEFAULT)
        title = st.selectbox(
            "Layer & pooling",
            [MODEL_DEFAULT, *titles],
            key="results_reading",
            bind="query-params",
            width=240,
            help="The layer & pooling of every model. Choosing the best one here inflates its score: choose on a dev "
            "set, as on the Layers page.",
        )
    names = [row.name for row in rows]
    picked = st.multiselect("Models", names, key="models", bind="query-params", placeholder="All models")
    measured = [row for row in rows if any(task in run for run in row.runs for task in shown)]
    kept = tuple(row for row in measured if not picked or row.name in picked)
    return Chosen(kept, tuple(shown), title or MODEL_DEFAULT, None if measure in (None, MAIN) else measure)


def suite_of(task: str) -> str:
    """The suite of a task, or of its variant; `OTHERS` for a file of the user and the test set of a run."""
    for suite, (tasks, _) in SUITES.items():
        if task.partition(" (")[0] in tasks:
            return suite
    return OTHERS


def _evaluated(results: Sequence[Result], tasks: list[str]) -> list[str]:
    """The tasks that models were evaluated on, less those that only runs scored themselves on; all if none is left."""
    found = {result.measured.task for result in results if result.model.revision != RUN_TEST}
    return [task for task in tasks if task in found] or tasks


def _in_order(tasks: set[str]) -> list[str]:
    """Tasks in the order of their suites, then by name."""
    known = [task for of_suite, _ in SUITES.values() for task in of_suite]
    places = {task: place for place, task in enumerate(known)}
    return sorted(tasks, key=lambda task: (places.get(task.partition(" (")[0], len(known)), task))
