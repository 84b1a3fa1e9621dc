"""Cache results of background jobs by key; show progress until a result is ready."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from explorer.ui.access import job_progress, jobs, remembered
from explorer.ui.access.jobs import Make

if TYPE_CHECKING:
    pass


@st.cache_resource(max_entries=32, show_spinner=False)
def held(key: str) -> list[Any]:
    """The cache slot of a result: an empty list, then a list with the result."""
    return []


# seconds: a shorter job shows no progress
_MOMENT = 0.3


def made(key: str, title: str, make: Make) -> Any:
    """The cached result of a job; None, with progress and Stop shown, until it is ready."""
    held = remembered.held(key)
    if not held:
        job = jobs.follow(key, title, make)
        job.ends_within(_MOMENT)
        if job.state != jobs.DONE:
            job_progress.progress_of(job)
            return None
        held.append(job.result)
        jobs.forget(key)  # the job has a second reference to the result
    return held[0]
