"""Show the results of models × tasks: what really differs, downloads, scores by layer, and published scores."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from explorer import in_words
from explorer.data import sources, text_sets
from explorer.drawing.scores.curves import Lines, scores_by_layer
from explorer.encoding.read.pooling import POOLINGS
from explorer.evaluating.results import (
    rank_groups,
    rank_verdict,
    result_files,
    result_table,
    scored_task,
    table_formats,
)
from explorer.measuring.scores.metrics import measure_in_words
from explorer.training.record import run_results
from explorer.ui import messages
from explorer.ui.results.filters import FilteredResults
from explorer.ui.widgets import controls, downloads

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

NAME, CHARACTER = 250, 7  # pixels of `contrast-hard on all-MiniLM-L6-v2`, and of a character
LONGEST = 60  # characters of a name; of a longer one the two ends are shown
NARROW, EDGES = 108, 24  # pixels of a column at least, and of its two edges
NO_BASE = "Not evaluated on all of these tasks: {}, the base of a row. Evaluate it to see what training changed."
SCORES_ARE, COSTS_ARE = "Scores × 100; higher is better, at most 100.", "Lower is better."
EXPLAINED = (
    "± is the standard deviation over the seeds of a recipe; where some "
    "of them have no score, the cell says of how many it is. An empty cell was not measured. Bold: significantly "
    "better than every other model on the tasks of the column."
)
AVERAGE_OF = "The average is over {}; a model without a score on one of them has none."
NO_AVERAGE = "There is no average, since the tasks have different measures."
MOST_NAMED = 3
UNREADABLE = "Results that cannot be read are left out: {}. Check their permissions, or evaluate again."
POOLING = 120  # pixels: the width follows from the shorter names
HERE = "measured here"  # in place of the base
SCORES, DIFFERENCES = "published", "measured − published"
CHOSEN = "chosen layer & pooling"


def ranking(chosen: FilteredResults) -> rank_groups.Ranking | None:
    """The rank groups of what is chosen; None unless it is the main measures of the model defaults."""
    return ranking_of(chosen.rows, chosen.tasks) if chosen.is_main and chosen.tasks else None


def measure_of(chosen: FilteredResults) -> str:
    """The measures of the chosen tasks, in words."""
    return chosen.measure or result_table.measures_of(chosen.rows, chosen.tasks)


def show_ranking(ranking: rank_groups.Ranking, chosen: FilteredResults) -> None:
    """The best model and which it is significantly better than; green only if that is all others on these tasks."""
    draw = st.success if ranking.on_these.best_is_clear else st.info
    best, *others = map(messages.plain, ranking.names)
    named = replace(ranking, names=(f"**{best}**", *others))
    draw(rank_verdict.text_of(named, measure_of(chosen)), icon=":material/leaderboard:")


def show(chosen: FilteredResults) -> None:
    """The table, and its downloads."""
    groups = ranking(chosen)
    columns, rows = result_table.cells(
        chosen.rows, chosen.tasks, chosen.title, chosen.measure, groups.letters if groups else {}
    )
    header = list(map(str, columns))
    titles = header[1 : 1 + len(chosen.tasks)]
    of_all = result_table.AVERAGE.format(len(chosen.tasks))
    average = next((str(column) for column in columns if column.name == of_all), "")
    deciding = [str(column) for column in columns if column.is_text or column.name == of_all]
    st.dataframe(
        _numbers(chosen, columns, rows),
        hide_index=True,
        key="results",
        placeholder="",
        # what decides comes first: many tasks are wider than the screen
        column_order=[*deciding, *(name for name in header if name not in deciding)],
        column_config=_column_config(chosen, columns, rows, average),
    )
    of = f"{len(chosen.tasks)} tasks" if len(chosen.tasks) > MOST_NAMED else ", ".join(titles)
    about = f" {AVERAGE_OF.format(messages.plain(of))}" if average else f" {NO_AVERAGE}" * (len(chosen.tasks) > 1)
    what = COSTS_ARE if chosen.measure in scored_task.COSTS else SCORES_ARE
    st.caption(f"{what} {EXPLAINED}{about}")
    if chosen.without_base:
        names = ", ".join(map(sources.shown, chosen.without_base))
        st.caption(messages.plain(NO_BASE.format(names)))
    with st.container(horizontal=True):
        downloads.formats(columns, rows, "results", "results")
        downloads.file(
            "MTEB files",
            result_files.zipped,
            "results.zip",
            "application/zip",
            icon=":material/folder_zip:",
            key="results as mteb",
            help="Every saved result, with all layers & poolings, in the layout that mteb's loader reads.",
        )


def _column_config(
    chosen: FilteredResults, columns: table_formats.Header, rows: table_formats.Rows, average: str
) -> dict[str, Any]:
    """The width of each column, and what it is on hover."""
    header, text_column = list(map(str, columns)), st.column_config.TextColumn
    # of columns in which a number has a deviation or says of how many seeds it is: else its width is of numbers alone
    width = {
        title: max(NARROW, CHARACTER * max(len(title), *(len(str(row[place] or "")) for row in rows)) + EDGES)
        for place, title in enumerate(header)
        if any(isinstance(cell := row[place], table_formats.Number) and (cell.std or cell.lacking) for row in rows)
    }
    about = {
        title: messages.plain(scored_task.described(task))
        for title, task in zip(header[1:], chosen.tasks, strict=False)
    }
    about[average] = AVERAGE_OF.format(", ".join(task.name for task in chosen.tasks))
    widest_name = max(NAME, *(CHARACTER * min(LONGEST, len(row.name)) for row in chosen.rows))
    return {
        "model": text_column(pinned=True, width=widest_name),
        **{title: st.column_config.Column(width=width.get(title), help=text) for title, text in about.items()},
        **{
            str(column): text_column(help=rank_verdict.EXPLAINED[column.data])
            for column in columns
            if column.data in rank_verdict.EXPLAINED
        },
    }


def _numbers(
    chosen: FilteredResults, columns: table_formats.Header, rows: table_formats.Rows
) -> pd.io.formats.style.Styler:
    """The table with sortable numbers; the best of a column is bold if it really is better than every other."""
    import pandas as pd

    header, scores = list(map(str, columns)), [str(column) for column in columns if not column.is_text]
    values = [[cell.mean if isinstance(cell, table_formats.Number) else cell for cell in row] for row in rows]
    frame = pd.DataFrame(values, columns=header)
    frame["model"] = [messages.ends(name, LONGEST) for name in frame["model"]]
    frame[scores] = frame[scores].astype(float)
    styled = frame.style.format(in_words.number, subset=scores, na_rep="")
    for place, row in enumerate(rows):
        for title, cell in zip(header, row, strict=True):
            if isinstance(cell, table_formats.Number) and str(cell) != in_words.number(cell.mean):
                at = pd.IndexSlice[place, title]
                styled = styled.format(lambda value, text=str(cell): text, subset=at)
    titles = dict(zip(header[1:], chosen.tasks, strict=False))
    for title in scores:  # bold is the best, if it is significantly better than every other model of its column
        tasks = [titles[title]] if title in titles else list(chosen.tasks)
        best = ranking_of(chosen.rows, tasks) if chosen.is_main else None
        if best is not None and best.on_these.best_is_clear:
            places = [place for place, row in enumerate(chosen.rows) if row.name == best.names[0]]
            styled = styled.set_properties(subset=pd.IndexSlice[places, [title]], **{"font-weight": "bold"})
    return styled


def every_result() -> list[result_files.Result]:
    """Every result: those of files, then the test scores of runs on data that no file has of their model.

    The bases of these runs follow, on the same data.
    """
    stored, _ = _stored(result_files.stamp())
    known = {(result.model.identity, result.task.data) for result in stored}
    of_runs = run_results.of_runs()
    tuned = [one for one in of_runs if one.model.origin.recipe and (one.model.identity, one.task.data) not in known]
    tested_on = {one.task.digest for one in tuned}
    return [*stored, *tuned, *(one for one in of_runs if not one.model.origin.recipe and one.task.digest in tested_on)]


def warn_of_unreadable() -> None:
    """Name results that cannot be read; they are in no table."""
    _, paths = _stored(result_files.stamp())
    if paths:
        named = ", ".join(map(str, paths[:MOST_NAMED])) + (
            f" and {len(paths) - MOST_NAMED} more" * (len(paths) > MOST_NAMED)
        )
        st.warning(messages.plain(UNREADABLE.format(named)), icon=":material/broken_image:")


def ranking_of(
    rows: Sequence[result_table.ModelRow], tasks: Sequence[scored_task.ScoredTask]
) -> rank_groups.Ranking | None:
    """The rank groups of models, remembered for the same results."""
    names, digests = (
        text_sets.digest_of(some) for some in ((row.name for row in rows), (task.digest for task in tasks))
    )
    return _ranking((result_files.stamp(), names, digests), rows, tasks)


@st.cache_resource(max_entries=2, show_spinner=False)
def _stored(stamp: Hashable) -> tuple[tuple[result_files.Result, ...], tuple[Path, ...]]:
    return result_files.read_all()


@st.cache_resource(max_entries=64, show_spinner=False)
def _ranking(
    key: Hashable, _rows: Sequence[result_table.ModelRow], _tasks: Sequence[scored_task.ScoredTask]
) -> rank_groups.Ranking | None:
    return rank_groups.ranked(_rows, _tasks)


def show_published(chosen: FilteredResults) -> None:
    """The rows of a paper's table; nothing if no paper has a score on the tasks shown."""
    published = result_table.rows_for([task.name for task in chosen.tasks if task.kind != scored_task.FINE_TUNING])
    if not published or not chosen.rows:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sources = list(dict.fromkeys(row.source for row in published))
        source = controls.menu("Table", sources, default=sources[0], key="published", width=320)
        names = [row.name for row in chosen.rows]
        name = controls.menu("Measured model", names, default=names[0], key="published_beside", width=320)
        kind = controls.segments("Show", (SCORES, DIFFERENCES), default=SCORES, key="published_as")
    measured = next(row for row in chosen.rows if row.name == name)
    rows = [row for row in published if row.source == source]
    named = scored_task.labels(chosen.tasks)
    by = {task.digest: measure_in_words(rows[0].measure(task.name)) for task in chosen.tasks}
    tasks = {
        f"{named[task.digest]} ({by[task.digest]})": task
        for task in chosen.tasks
        if task.kind != scored_task.FINE_TUNING and any(task.name in row.scores for row in rows)
    }
    table: list[dict[str, object]] = []
    if kind == SCORES:
        cells = {label: measured.cell(task, chosen.title, rows[0].measure(task.name)) for label, task in tasks.items()}
        table.append({"model": measured.name, "base": HERE, "pooling": chosen.title, **_means(cells)})
    for row in rows:
        if kind == DIFFERENCES:
            numbers = {label: row.difference(measured, task, chosen.title) for label, task in tasks.items()}
        else:
            numbers = _means({label: row.cell(task.name) for label, task in tasks.items()})
        table.append({"model": row.model, "base": row.base, "pooling": row.pooling, **numbers})
    text_column = st.column_config.TextColumn
    st.dataframe(
        downloads.with_signs(table, list(tasks) if kind == DIFFERENCES else ()),
        hide_index=True,
        placeholder="",
        column_config={"model": text_column(pinned=True, width="medium"), "pooling": text_column(width=POOLING)},
    )
    differs = result_table.what_differs(rows, measured, list(tasks.values()), chosen.title)
    st.caption(f"What differs from the paper: {messages.plain('; '.join(differs))}.")


def _means(cells: Mapping[str, table_formats.Number | None]) -> dict[str, float | None]:
    return {label: None if cell is None else cell.mean for label, cell in cells.items()}


def show_by_layer(chosen: FilteredResults) -> None:
    """The figures, for one pooling; nothing if no task was scored by layer."""
    labels = scored_task.labels(chosen.tasks)
    known = [name for name in POOLINGS if any(lines_of(chosen, task, name) for task in chosen.tasks)]
    if not known:
        return
    pooling = controls.segments(
        "Pooling",
        known,
        default="mean" if "mean" in known else known[0],
        key="results_pooling",
        help="The pooling of every layer, 0 to the last.",
    )
    tasks = {
        f"{labels[task.digest]}, {result_table.measure_of(chosen.rows, task, chosen.measure)}": lines
        for task in chosen.tasks
        if (lines := lines_of(chosen, task, pooling))
    }
    if not tasks:
        st.info(f"No task was scored under {pooling}.", icon=":material/block:")
        return
    downloads.draw(
        scores_by_layer(tasks),
        config=downloads.config("results by layer"),
        alt=f"Scores of {len(chosen.rows)} models by layer under {pooling}, one figure for each of {len(tasks)} tasks.",
    )
    st.caption("The lines are those of the first seed of each recipe.")
    _chosen_by_queries(chosen, labels)


def _chosen_by_queries(chosen: FilteredResults, labels: Mapping[str, str]) -> None:
    """Of each retrieval set, the layer & pooling that its queries choose, with its score on queries left for that."""
    rows = [
        {
            "task": labels[task.digest],
            "model": row.name,
            CHOSEN: choice.title,
            "nDCG@10": choice.score,
            "nDCG@10, model default": choice.default_score,
            "difference": choice.shown_difference,
            "95 % CI": in_words.ends(choice.shown_difference, choice.low, choice.high),
        }
        for task in chosen.tasks
        for row in chosen.rows
        if (measured := row.first(task)) and measured.intervals and (choice := measured.intervals.choice)
    ]
    if not rows:
        return
    st.markdown("**Layer & pooling chosen by queries**")
    st.dataframe(downloads.with_signs(rows, ("difference",)), hide_index=True)
    st.caption("Half of the queries choose the layer & pooling with the highest nDCG@10; all scores are on the others.")


def lines_of(chosen: FilteredResults, task: scored_task.ScoredTask, pooling: str) -> Lines:
    """The scores of each model on a task, from layer 0 on."""
    found = {}
    for row in chosen.rows:
        measured = row.first(task)
        if measured is None or (chosen.measure is not None and chosen.measure not in measured.measures):
            continue
        titles = [f"{pooling} of layer {layer}" for layer in range(len(measured.titles))]
        found[row.name] = [measured.score(title, chosen.measure) for title in titles if title in measured.titles]
    return {name: scores for name, scores in found.items() if scores}
