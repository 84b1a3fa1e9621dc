"""Choose what the table of results shows: tasks, models, layer & pooling, measure; kept in the address."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import streamlit as st

from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.evaluating import tasks as kinds
from explorer.evaluating.results import result_files, result_table, scored_task
from explorer.knobs import Knobs, knob
from explorer.ui import messages
from explorer.ui.widgets import controls, first_screen

ALL = "all tasks"
OTHERS, RUNS = "others", "test sets of runs"
SUITE = "suite"
MAIN = "main measure"
EVERY = "all settings"
NAMES = "_names of rows"  # that the visitor gave, by the key of the row
LONGEST_NAME = 80
TAKEN = "Another row is called '{}'. Give each row a name of its own."


@dataclass(frozen=True)
class RowName(Knobs):
    """Another name for a row, which the visitor types."""

    row: str = knob("", title="Rename", empty="the first row", help="")
    name: str = knob(
        "",
        title="Name in the table and in exports",
        help="Empty: the name that the row had at first. The name is kept until this tab is closed.",
    )


@dataclass(frozen=True, eq=False)
class FilteredResults:
    """The rows and columns to show."""

    rows: tuple[result_table.ModelRow, ...]
    tasks: tuple[scored_task.ScoredTask, ...]
    title: str  # of the layer & pooling
    measure: str | None  # None: of each task its main one
    without_base: tuple[str, ...] = ()  # bases that were not evaluated on a task that what was trained from them has

    @property
    def is_main(self) -> bool:
        """Whether these are the main measures of the model defaults, which rank groups are about."""
        return self.title == MODEL_DEFAULT and self.measure is None


def chosen(results: Sequence[result_files.Result]) -> FilteredResults:
    """Draw the controls: one row, and what is set rarely behind a button."""
    rows, shown = result_table.models(results), _under_some_settings(_in_a_suite(results))
    digests = {task.digest for task in shown}
    measures = dict.fromkeys(name for one in results if one.task.digest in digests for name in one.measured.measures)
    measure = controls.menu(
        "Measure",
        [MAIN, *measures],
        default=MAIN,
        key="measure",
        width=155,
        help="The main measure of a task: Spearman × 100 for STS, average precision for pairs with two labels, "
        "accuracy for transfer, MRR@10 for search, nDCG@10 for retrieval. Higher is better, at most 100. mean and "
        "wmean average the sub-corpora of a set. Of ms per query and index MB, lower is better.",
    )
    titles = dict.fromkeys(title for one in results for title in one.measured.titles if title != MODEL_DEFAULT)
    title = controls.menu(
        "Layer & pooling",
        [MODEL_DEFAULT, *titles],
        default=MODEL_DEFAULT,
        key="results_reading",
        width=175,
        help="The layer & pooling of every model. Choosing the best one here inflates its score: choose on a dev "
        "set, as on the Layers page.",
    )
    names = [row.name for row in rows]
    with first_screen.settings("Models"):
        picked = st.multiselect("Models", names, key="models", bind="query-params", placeholder="All models")
        measured = [row for row in rows if any(map(row.has, shown))]
        kept = tuple(row for row in measured if not picked or row.name in picked)
        renamed = _renamed(kept)
    lacking, by = result_table.without_base(kept, rows, shown), None if measure == MAIN else measure
    return FilteredResults(renamed, tuple(shown), title, by, lacking)


def _in_a_suite(results: Sequence[result_files.Result]) -> list[scored_task.ScoredTask]:
    """The tasks of the suite to choose, each once, in the order of their suites, then by name."""
    known = kinds.published()
    places = {task: place for place, task in enumerate(known)}
    tasks = sorted(
        {result.task.digest: result.task for result in results}.values(),
        key=lambda task: (places.get(task.name, len(known)), task.name, task.folder),
    )
    suites = list(dict.fromkeys(map(suite_of, tasks)))
    suite = controls.menu(
        "Suite",
        [*suites, ALL],
        default=[*suites, ALL][0],
        key=SUITE,
        width=185,
        help=f"{OTHERS}: files of your own. {RUNS}: as each run scored itself. {ALL}: without {RUNS}, since no "
        "other model could have an average.",
    )
    if suite == ALL:  # less the test sets that only runs scored themselves on, if any other is left
        return [one for one in tasks if one.kind != scored_task.RUN_TEST] or tasks
    return [one for one in tasks if suite in suites_of(one)]


def _renamed(rows: tuple[result_table.ModelRow, ...]) -> tuple[result_table.ModelRow, ...]:
    """The rows under the names that the visitor gave them, which the exports have too."""
    if not rows:
        return rows
    given: dict[str, str] = st.session_state.setdefault(NAMES, {})
    by_key = {row.key: row for row in rows}
    drawn = partial(controls.draw, "", persist_state=None, width="stretch")
    key: str = drawn(
        RowName.knobs["row"],
        key="row to rename",
        offered=by_key,
        accept_new_options=False,
        format_func=lambda key: by_key[key].name,
    )
    named = replace(RowName.knobs["name"], default=given.get(key, by_key[key].name))
    typed: str = drawn(named, key=f"name of row {key}", max_chars=LONGEST_NAME)
    others = {given.get(row.key, row.name) for row in rows if row.key != key}
    name = typed.strip()
    if name in others:
        messages.trouble(TAKEN.format(name))
    elif name and name != by_key[key].name:
        given[key] = name
    else:
        given.pop(key, None)
    return tuple(replace(row, name=given.get(row.key, row.name)) for row in rows)


def suite_of(task: scored_task.ScoredTask) -> str:
    """The first suite of a task, under any settings."""
    return suites_of(task)[0]


def suites_of(task: scored_task.ScoredTask) -> list[str]:
    """The suites of a task; `OTHERS` for a file of the user, `RUNS` for the test set of a run."""
    if task.kind == scored_task.RUN_TEST:
        return [RUNS]
    return [suite for suite, tasks in kinds.suites().items() if task.name in tasks and not task.folder] or [OTHERS]


def _under_some_settings(tasks: list[scored_task.ScoredTask]) -> list[scored_task.ScoredTask]:
    """The tasks under the settings to choose, where there are several; under different ones scores do not compare."""
    settings = scored_task.varying(tasks)
    by_usual = sorted(tasks, key=lambda task: len(task.unusual))
    known = list(dict.fromkeys(filter(None, (settings[task.digest] for task in by_usual))))
    if len(known) < 2:
        return tasks
    chosen = controls.menu(
        "Settings",
        [*known, EVERY],
        default=known[0],
        key="results_settings",
        width=175,
        help="Results under different settings are different columns. Averages and rank groups are of the columns "
        "shown.",
    )
    return tasks if chosen == EVERY else [task for task in tasks if settings[task.digest] in ("", chosen)]
