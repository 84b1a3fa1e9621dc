"""Cache results of background jobs by key; show progress until a result is ready."""

from __future__ import annotations

from typing import Any

import streamlit as st

from explorer.ui.access import job_progress, jobs
from explorer.ui.access.jobs import Job, Make

MOMENT = 0.3  # seconds: a shorter job shows no progress


def made(key: str, title: str, make: Make) -> Any:
    """The cached result of a job; None, with progress and Stop shown, until it is ready."""
    slot = _slot(key)
    if not slot:
        job = finished(key, title, make)
        if job is None:
            return None
        slot.append(job.result)
        jobs.forget(key)  # the job has a second reference to the result
    return slot[0]


def known(key: str) -> Any:
    """The cached result; None if there is none, and nothing is started."""
    return next(iter(_slot(key)), None)


def finished(key: str, title: str, make: Make, lane: str = jobs.MEASURING) -> Job | None:
    """The job of a key when it is done; None, with progress and Stop or its error shown, until then."""
    job = jobs.follow(key, title, make, lane=lane)
    if job.ends_within(MOMENT) and job.state == jobs.DONE:
        return job
    job_progress.progress_of(job)
    return None


@st.cache_resource(max_entries=32, show_spinner=False)
def _slot(key: str) -> list[Any]:
    """The place of a result: an empty list, then a list with the result."""
    return []
