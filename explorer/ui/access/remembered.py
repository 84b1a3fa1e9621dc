"""Remember what long work gives, under a key of values; show its progress until it is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from explorer.ui.access import job_progress, jobs, remembered
from explorer.ui.access.jobs import Make

if TYPE_CHECKING:
    pass


@st.cache_resource(max_entries=32, show_spinner=False)
def held(key: str) -> list[Any]:
    """The place of a value that is made in the background: empty, then it holds the value."""
    return []


# where less than this is to be done, no page need tell of it
_MOMENT = 0.3


def made(key: str, title: str, make: Make) -> Any:
    """What long work gives, remembered under a key of values; None until it is there, with its progress and Stop."""
    held = remembered.held(key)
    if not held:
        job = jobs.follow(key, title, make)
        job.ends_within(_MOMENT)
        if job.state != jobs.DONE:
            job_progress.progress_of(job)
            return None
        held.append(job.result)
        jobs.forget(key)  # its job holds the result a second time
    return held[0]
