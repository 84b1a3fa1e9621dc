"""The saved results and those of runs, read again only when a file changed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import streamlit as st

from explorer.data.kinds import digest_of
from explorer.evaluating.results import result_files
from explorer.evaluating.results.rank_groups import Ranking
from explorer.evaluating.results.result_files import Result, SavedResults
from explorer.evaluating.results.result_table import ModelRow, ranked
from explorer.evaluating.results.scored_task import ScoredTask
from explorer.training.record import run_results
from explorer.ui import messages

MOST_NAMED = 3
UNREADABLE = "Results that cannot be read are left out: {}. Check their permissions, or evaluate again."


def every() -> list[Result]:
    """Every result: those of files, then the test scores of runs on data that no file has of their training.

    The bases of these runs follow, on the same data.
    """
    stored = _stored(result_files.stamp()).results
    known = {(result.model.origin, result.task.data) for result in stored}
    of_runs = run_results.of_runs()
    tuned = [one for one in of_runs if one.model.origin.recipe and (one.model.origin, one.task.data) not in known]
    tested_on = {one.task.digest for one in tuned}
    return [*stored, *tuned, *(one for one in of_runs if not one.model.origin.recipe and one.task.digest in tested_on)]


def warn_of_unreadable() -> None:
    """Name results that cannot be read; they are in no table."""
    paths = _stored(result_files.stamp()).unreadable
    if paths:
        named = ", ".join(map(str, paths[:MOST_NAMED])) + (
            f" and {len(paths) - MOST_NAMED} more" * (len(paths) > MOST_NAMED)
        )
        st.warning(messages.plain(UNREADABLE.format(named)), icon=":material/broken_image:")


def ranking(rows: Sequence[ModelRow], tasks: Sequence[ScoredTask]) -> Ranking | None:
    """The rank groups of models, remembered for the same results."""
    names, digests = (digest_of(some) for some in ((row.name for row in rows), (task.digest for task in tasks)))
    return _ranking((result_files.stamp(), names, digests), rows, tasks)


@st.cache_resource(max_entries=2, show_spinner=False)
def _stored(stamp: Hashable) -> SavedResults:
    return result_files.read_all()


@st.cache_resource(max_entries=16, show_spinner=False)
def _ranking(key: Hashable, _rows: Sequence[ModelRow], _tasks: Sequence[ScoredTask]) -> Ranking | None:
    return ranked(_rows, _tasks)
