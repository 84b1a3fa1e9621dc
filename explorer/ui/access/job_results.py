"""Follow background jobs: progress with Stop until a result is ready, and results cached by key."""

from typing import Any

import streamlit as st

from explorer import in_words
from explorer.ui.access import jobs
from explorer.ui.messages import plain, trouble

MOMENT = 0.3  # seconds: a shorter job shows no progress
WAITING = "Waiting for: {}"
_FIRST = "_first wait"


def result(key: str, title: str, make: jobs.Make) -> Any:
    """The cached result of a job; None, with progress and Stop shown, until it is ready."""
    slot = _slot(key)
    if not slot:
        job = finished_job(key, title, make)
        if job is None:
            return None
        slot.append(job.result)
        jobs.forget(key)  # the job has a second reference to the result
    return slot[0]


def known(key: str) -> Any:
    """The cached result; None if there is none, and nothing is started."""
    return next(iter(_slot(key)), None)


def finished_job(key: str, title: str, make: jobs.Make, lane: str = jobs.MEASURING) -> jobs.Job | None:
    """The job of a key when it is done; None, with progress and Stop or its error shown, until then."""
    job = jobs.follow(key, title, make, lane=lane)
    if job.ends_within(MOMENT) and job.state == jobs.DONE:
        return job
    progress_of(job)
    return None


@st.cache_resource(max_entries=32, show_spinner=False)
def _slot(key: str) -> list[Any]:
    """The place of a result: an empty list, then a list with the result."""
    return []


def progress_of(job: jobs.Job) -> None:
    """Show a job without a result: its progress and Stop, or how it ended and a button to restart it."""
    if job.live:
        _follow(job.key)
        _fetch_the_code_of_figures(job)
    elif job.state == jobs.STOPPED:
        st.info(f"Stopped: {plain(job.title)}.", icon=":material/stop_circle:")
        _again(job, "Start again")
    elif job.state == jobs.FAILED:
        trouble(job.error, job.details)
        _again(job, "Try again")
    else:
        st.rerun()  # it ended since the page asked for its result; otherwise the page would stay empty


def _fetch_the_code_of_figures(job: jobs.Job) -> None:
    """Draw an empty figure during a visit's first wait: the browser takes a second and more to run plotly at first."""
    if st.session_state.setdefault(_FIRST, job.key) == job.key:
        empty = {"data": [{"type": "scatter"}], "layout": {axis: {"visible": False} for axis in ("xaxis", "yaxis")}}
        st.plotly_chart(empty, height=1, config={"staticPlot": True}, key="empty figure", alt="Empty")


@st.fragment(run_every=0.5)
def _follow(key: str) -> None:
    job = jobs.find(key)
    if job is None or not job.live:
        st.rerun()
    progress = job.progress  # read once: the job's thread replaces it
    text = f"{plain(job.title)}: {plain(progress.text)}"
    if progress.total:
        text += f", {progress.amount}"
    left = job.seconds_left
    text += (
        f" · {in_words.duration(job.seconds)} so far" if left is None else f" · about {in_words.duration(left)} left"
    )
    st.progress(min(1.0, progress.done / progress.total) if progress.total else 0.0, text)
    front = jobs.in_front(job)
    with st.container(horizontal=True, vertical_alignment="center"):
        _stop(job, "Stop", job.key)
        if front is not None:
            _stop(front, "Stop the job ahead", f"before {job.key}")  # two jobs of a page may wait for the same one
            st.caption(WAITING.format(plain(front.title)))


def _stop(job: jobs.Job, label: str, key: str) -> None:
    if job.stopping:
        st.caption("Stopping …")
    else:
        st.button(label, icon=":material/stop_circle:", on_click=job.stop, key=f"stop {key}")


def _again(job: jobs.Job, label: str) -> None:
    st.button(label, icon=":material/refresh:", on_click=jobs.forget, args=(job.key,), key=f"again {job.key}")
