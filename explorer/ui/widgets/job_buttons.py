"""Buttons with a background job behind them: in place of a button stands its job's progress, error or result."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer import errors, places, progress
from explorer.ui import messages
from explorer.ui.access import jobs
from explorer.ui.widgets import controls


def button(
    place: DeltaGenerator,
    label: str,
    job_key: str,
    start: Callable[[], object] | None,
    *,
    key: str,
    anew: bool = False,
    **style: Any,
) -> jobs.Job | None:
    """The job of `job_key` once it is done; until then None, with its progress, or its error and a button to start it.

    `anew` is for a job whose result is gone, such as a deleted folder: once done, it can be started again.
    """
    job = jobs.find(job_key)
    if job is not None and job.live:
        jobs.progress_of(job)
        return None
    if job is not None and job.state == jobs.DONE and not anew:
        return job
    if job is not None and job.error:
        messages.trouble(job.error, job.details)

    def begin() -> None:
        jobs.forget(job_key)
        if start is not None:
            start()

    controls.button(place, label, begin if start is not None else None, key=key, **style)
    return None


def export(
    usual: Path,
    key_of: Callable[[Path], str],
    make: Callable[[Path], progress.Work[None]],
    *,
    label: str,
    key: str,
    field: str,
    about: str,
) -> Path | None:
    """A field for a new folder and a button that writes it; the folder once it is written."""
    typed = st.text_input("Folder", key=field, placeholder=str(usual), help=f"A new folder on this machine{about}")
    place, icon = st.container(), ":material/download:"
    try:
        folder = places.given_path(typed.strip()) if typed.strip() else usual
    except errors.StrataError as error:
        messages.trouble(error)
        controls.button(place, label, None, key=key, icon=icon)
        return None
    job_key = key_of(folder)
    start = partial(jobs.follow, job_key, f"Writing {folder.name}", partial(make, folder))
    if button(place, label, job_key, start, key=key, icon=icon) is None:
        return None
    st.success(f"Written to {messages.plain(str(folder))}", icon=":material/check:")
    return folder
