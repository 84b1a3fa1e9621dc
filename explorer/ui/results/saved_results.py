"""The saved results and those of runs, read again only when a file changed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import streamlit as st

from explorer.evaluating.results import result_files
from explorer.evaluating.results.rank_groups import Ranking
from explorer.evaluating.results.result_files import META, Result
from explorer.evaluating.results.result_table import Model, ranked
from explorer.places import results_folder
from explorer.training.record import run_results


def every() -> list[Result]:
    """Every result: those of files, then the test scores of runs for what no file has."""
    stored = _stored(_stamp())
    known = {(result.model.name, result.measured.task) for result in stored}
    of_runs = [one for one in run_results.of_runs() if (one.model.name, one.measured.task) not in known]
    return [*stored, *of_runs]


def ranking(rows: Sequence[Model], tasks: Sequence[str]) -> Ranking | None:
    """The rank groups of models, remembered for the same results."""
    return _ranking((_stamp(), tuple(row.name for row in rows), tuple(tasks)), rows, tasks)


def _stamp() -> Hashable:
    """A value that changes with any file."""
    found = sorted(path for path in results_folder().glob("*/*/*.json") if path.name != META)
    return tuple((str(path), path.stat().st_mtime_ns) for path in found if path.exists())


@st.cache_resource(max_entries=2, show_spinner=False)
def _stored(stamp: Hashable) -> list[Result]:
    return result_files.read_all()


@st.cache_resource(max_entries=16, show_spinner=False)
def _ranking(key: Hashable, _rows: Sequence[Model], _tasks: Sequence[str]) -> Ranking | None:
    return ranked(_rows, _tasks)
