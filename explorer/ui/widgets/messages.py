"""How do a number, an error, an empty state and running work look?"""

from __future__ import annotations

import re
from typing import Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer.errors import StrataError
from explorer.ui.access import jobs
from explorer.ui.access.jobs import Job

MISSING = "–"  # in a cell of a table that has no number


def plain(text: str) -> str:
    """Text that a user or a file brought, safe inside markdown: nothing in it is read as markup."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", text).replace("\n", "  \n")


def number(
    where: DeltaGenerator, label: str, value: str, note: str = "", *, border: bool = False, help: str | None = None
) -> None:
    """A number in large type; its note is no change, so it has neither arrow nor colour. Boxes share a row evenly."""
    width: Literal["stretch", "content"] = "stretch" if border else "content"
    where.metric(
        label, value, note or None, delta_color="off", delta_arrow="off", border=border, width=width, help=help
    )


def trouble(error: StrataError | str, details: str = "") -> None:
    """An error, with its next step."""
    st.error(plain(str(error)), icon=":material/error:")
    if details:
        with st.expander("What the program saw"):
            st.code(details, language=None)


def progress_of(job: Job) -> None:
    """Show a job that has no result to show: stage, share, time left and Stop, or how it ended and how to go on."""
    if job.live:
        _follow(job.key)
    elif job.state == jobs.STOPPED:
        st.info(f"Stopped: {plain(job.title)}.", icon=":material/stop_circle:")
        _again(job, "Start again")
    elif job.state == jobs.FAILED:
        trouble(job.error, job.details)
        _again(job, "Try again")


@st.fragment(run_every=0.5)
def _follow(key: str) -> None:
    job = jobs.find(key)
    if job is None or not job.live:
        st.rerun()
    progress = job.progress  # one look: the job's thread puts another one here
    told = f"{plain(job.title)}: {plain(progress.stage)}"
    if progress.total:
        told += f", {progress.amount}"
    left = job.seconds_left
    told += f" · {_duration(job.seconds)} so far" if left is None else f" · about {_duration(left)} left"
    st.progress(min(1.0, progress.done / progress.total) if progress.total else 0.0, told)
    front = jobs.in_front(job)
    with st.container(horizontal=True, vertical_alignment="center"):
        _stop(job, "Stop", job.key)
        if front is not None:
            _stop(front, "Stop what is in front", f"before {job.key}")  # two on a page may wait for the same one
            st.caption(f"In front: {plain(front.title)}")


def _stop(job: Job, label: str, key: str) -> None:
    if job.stopping:
        st.caption("Stopping …")
    else:
        st.button(label, icon=":material/stop_circle:", on_click=job.stop, key=f"stop {key}")


def _again(job: Job, label: str) -> None:
    st.button(label, icon=":material/refresh:", on_click=jobs.forget, args=(job.key,), key=f"again {job.key}")


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min"
