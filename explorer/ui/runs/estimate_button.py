"""The button that estimates time and memory from trial steps, and its progress; not while a run trains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer.ui.access import job_results, jobs
from explorer.ui.access.jobs import Job
from explorer.ui.runs import training_queue
from explorer.ui.widgets import late_clicks

BUSY = (
    "An estimate of time and memory is possible when the run under way has ended: until then its times would be wrong."
)


def show(job: Job | None, line: DeltaGenerator, key: str, what: str, start: Callable[[], object]) -> Any:
    """The result of the estimate once its job is done; before it the button, or the progress. `what` is tried."""
    if job is not None and job.state == jobs.DONE:
        return job.result
    if job is not None:
        job_results.progress_of(job)
        return None
    busy = bool(training_queue.under_way())
    if busy:
        st.caption(BUSY)
    late_clicks.button(
        line,
        "Estimate time and memory",
        None if busy else start,
        key=key,
        icon=":material/speed:",
        help=BUSY if busy else f"Trains one step {what} and reports time, memory and disk. Nothing is saved.",
    )
    return None
