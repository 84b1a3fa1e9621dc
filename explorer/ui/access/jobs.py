"""Run background jobs in queues that every tab and visitor shares, and show their progress and results.

A page requests a job by key; every request with the same key follows the same job. A job's thread draws nothing: it
updates the job, and pages poll it. A lane has one worker, first in, first out, since two jobs at once would only share
the processor; those of one group, which wait for processes of their own, run side by side. Measuring does not wait for
training, which takes hours, nor loading for measuring, which takes minutes, nor either of them for what is prepared
ahead; a download has its own thread. A plan waits in its own lane while its trainings wait in that of training.
"""

import atexit
import logging
import queue
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import streamlit as st
from streamlit.errors import StreamlitDuplicateElementKey

from explorer import errors, fair_share, in_words
from explorer.progress import Progress, Work
from explorer.ui.messages import plain, trouble

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")
Make = Callable[[], Work[Any]]

MEASURING, TRAINING, NETWORK, LOADING, PLANS = "measuring", "training", "network", "loading", "plans"
AHEAD = "ahead"  # what a visitor may ask for later
WAITING, RUNNING, DONE, STOPPED, FAILED = "waiting", "running", "done", "stopped", "failed"
MOMENT = 0.3  # seconds: a shorter job shows no progress
REDRAWN = 0.25  # seconds between two looks at a job: a short one is over sooner than a visitor waits for the look
GIVE_BACK = 2.0  # seconds of a job between two times that it returns memory
WAITING_FOR = "Waiting for: {}"
_FIRST = "_first wait"


@dataclass(eq=False)
class Job:
    """One background job: its progress, and its result or error."""

    key: str
    title: str
    make: Make
    lane: str = MEASURING
    group: str = ""  # jobs of one group run side by side
    state: str = WAITING
    progress: Progress = field(default_factory=lambda: Progress("waiting for its turn", 0, 0))
    result: Any = None
    error: str = ""
    details: str = ""
    stage_started: float = field(default_factory=time.monotonic)
    _stop: threading.Event = field(default_factory=threading.Event)
    _ended: threading.Event = field(default_factory=threading.Event)

    @property
    def live(self) -> bool:
        """Whether the job is waiting or running."""
        return self.state in (WAITING, RUNNING)

    @property
    def stopping(self) -> bool:
        """Whether the job was stopped but has not finished its current step."""
        return self.live and self._stop.is_set()

    @property
    def seconds_left(self) -> float | None:
        """An estimate from the speed of the current stage; None before its first progress."""
        progress = self.progress
        if not progress.done:
            return None
        return (time.monotonic() - self.stage_started) / progress.done * (progress.total - progress.done)

    def ends_within(self, seconds: float) -> bool:
        """Wait up to `seconds` for the end; whether the job has ended."""
        return self._ended.wait(seconds)

    def stop(self) -> None:
        """Stop the job: at once if it waits, before its next step if it runs."""
        with _lock:
            self._stop.set()
            if self.state == WAITING:
                self._end(STOPPED)

    def _run(self) -> None:
        with _lock:
            if not self.live:
                return
            self.state = RUNNING
        work, given_back = self.make(), time.monotonic()
        try:
            while not self._stop.is_set():
                fair_share.adapt()
                progress = next(work)
                if (progress.stage, progress.about) != (self.progress.stage, self.progress.about):
                    self.stage_started = time.monotonic()
                self.progress = progress
                # between two steps: batches of many lengths leave gaps, which would add up until the end of long work
                if time.monotonic() - given_back > GIVE_BACK:
                    fair_share.trim()
                    given_back = time.monotonic()
                if progress.pause:
                    self._stop.wait(progress.pause)
            work.close()
            self._end(STOPPED)
        except StopIteration as end:
            self.result = end.value
            self._end(DONE)
        except errors.StrataError as trouble:
            self.error = str(trouble)
            self._end(FAILED)
        except Exception as trouble:  # otherwise the thread would lose the error
            logger.exception("%s failed", self.title)
            # as text: a traceback object would keep the model in memory
            self.details = "".join(traceback.format_exception(trouble))
            self.error = f"{type(trouble).__name__}: {trouble}"
            self._end(FAILED)

    def _end(self, state: str) -> None:
        self.state = state
        self._ended.set()


_jobs: dict[str, Job] = {}
_queues: dict[str, queue.SimpleQueue[Job]] = {}
_lock = threading.Lock()


def follow(key: str, title: str, make: Make, *, lane: str = MEASURING, group: str = "") -> Job:
    """The job of a key; if there is none, queue a new one, or start it in its own thread if it is a download."""
    with _lock:
        job = _jobs.get(key)
        if job is None:
            job = _jobs[key] = Job(key, title, make, lane, group)
            if lane == NETWORK:
                _thread(job._run, f"work: {title}")
            else:
                _queue(lane).put(job)
    return job


def find(key: str) -> Job | None:
    """The job of a key, if there is one."""
    return _jobs.get(key)


def in_front(job: Job) -> Job | None:
    """The job that one in the queue waits for."""
    # it may begin between both looks, and is not in front of itself
    return next((one for one in running(job.lane) if one is not job), None) if job.state == WAITING else None


def running(lane: str) -> list[Job]:
    """The jobs of a lane that run: one at most if it has a worker, or those of one group."""
    return [job for job in list(_jobs.values()) if job.state == RUNNING and job.lane == lane]


def idle(lane: str) -> bool:
    """Whether nothing runs or waits in a lane."""
    return not any(job.live and job.lane == lane for job in list(_jobs.values()))


def forget(key: str) -> None:
    """Remove an ended job, so that it can be started again."""
    with _lock:
        job = _jobs.get(key)
        if job and not job.live:
            del _jobs[key]


def restart(job: Job) -> None:
    """Start a job anew that was stopped or has failed."""
    forget(job.key)
    follow(job.key, job.title, job.make, lane=job.lane, group=job.group)


@atexit.register
def stop_all(patience: float = 15.0) -> None:
    """Stop every job and wait for it: a thread cut off inside torch would abort the process, and a run is saved."""
    jobs = [job for job in _jobs.values() if job.live]
    for job in jobs:
        job.stop()
    for job in jobs:
        job._ended.wait(patience)


def _queue(lane: str) -> queue.SimpleQueue[Job]:
    """The queue of a lane; the first call starts its worker."""
    if lane not in _queues:
        waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()

        _queues[lane] = waiting
        _thread(lambda: _work_off(waiting), f"worker: {lane}")
    return _queues[lane]


def _work_off(waiting: queue.SimpleQueue[Job]) -> None:
    """Run the jobs of a queue, each after the one before it has ended, unless both are of one group."""
    group, threads = "", list[threading.Thread]()
    while True:
        job = waiting.get()
        if not job.group or job.group != group:
            _join(threads)
            group = job.group
        # In a thread of its own: the threads that torch keeps for it end with it. Were they left, those of the next job
        # would be more than the processors, and sleep whenever they wait (`fair_share.Sleepers`).
        threads = [one for one in threads if one.is_alive()]
        threads.append(_thread(job._run, f"work: {job.title}"))
        if not group:
            _join(threads)


def _join(threads: list[threading.Thread]) -> None:
    """Wait until these threads have ended."""
    while threads:
        threads.pop().join()
        fair_share.trim()


def _thread(target: Callable[[], None], name: str) -> threading.Thread:
    # daemon: otherwise the thread would keep the process alive after Ctrl-C
    thread = threading.Thread(target=target, name=name, daemon=True)
    thread.start()
    return thread


def result(key: str, title: str, make: Callable[[], Work[Answer]]) -> Answer | None:
    """The cached result of a job; None, with progress and Stop shown, until it is ready."""
    slot = _slot(key)
    if not slot:
        job = finished_job(key, title, make)
        if job is None:
            return None
        slot.append(job.result)
        forget(key)  # the job has a second reference to the result
    found: Answer = slot[0]
    return found


def known(key: str) -> Any:
    """The cached result; None if there is none, and nothing is started."""
    return next(iter(_slot(key)), None)


def finished_job(key: str, title: str, make: Make, lane: str = MEASURING) -> Job | None:
    """The job of a key when it is done; None, with progress and Stop or its error shown, until then."""
    job = follow(key, title, make, lane=lane)
    if job.ends_within(MOMENT) and job.state == DONE:
        return job
    progress_of(job)
    return None


@st.cache_resource(max_entries=32, show_spinner=False)
def _slot(key: str) -> list[Any]:
    """The place of a result: an empty list, then a list with the result."""
    return []


def progress_of(job: Job) -> None:
    """Show a job without a result: its progress and Stop, or how it ended and a button to restart it."""
    if job.live:
        _redrawn(job, lambda: _progress(job))
        _fetch_the_code_of_figures(job)
    elif job.state == STOPPED:
        st.info(f"Stopped: {plain(job.title)}.", icon=":material/stop_circle:")
        _offer_again(job, "Start again")
    elif job.state == FAILED:
        trouble(job.error, job.details)
        _offer_again(job, "Try again")
    else:
        st.rerun()  # it ended since the page asked for its result; otherwise the page would stay empty


def has_ended(job: Job, text: str) -> bool:
    """Whether a job has ended; until then the text stands in its place, and at the end the page is drawn anew."""
    if job.live:
        _redrawn(job, lambda: st.caption(text))
        return False
    return True


def _redrawn(job: Job, draw: Callable[[], object]) -> None:
    """Draw the state of a job while it runs, and rerun the page when it has ended."""

    def until_the_end() -> None:
        if not job.live:
            st.rerun()
        draw()

    st.fragment(until_the_end, run_every=REDRAWN)()


def _fetch_the_code_of_figures(job: Job) -> None:
    """Draw an empty figure during a visit's first wait: the browser takes a second and more to run plotly at first."""
    if st.session_state.setdefault(_FIRST, job.key) == job.key:
        empty = {"data": [{"type": "scatter"}], "layout": {axis: {"visible": False} for axis in ("xaxis", "yaxis")}}
        with _once():
            st.plotly_chart(empty, height=1, config={"staticPlot": True}, key="empty figure", alt="Empty")


def _progress(job: Job) -> None:
    progress = job.progress  # read once: the job's thread replaces it
    text = f"{plain(job.title)}: {plain(progress.text)}"
    if progress.total:
        text += f", {progress.amount}"
    left = job.seconds_left
    if left is None:
        text += f" · {in_words.duration(time.monotonic() - job.stage_started)} so far"
    else:
        text += f" · about {in_words.duration(left)} left"
    st.progress(min(1.0, progress.done / progress.total) if progress.total else 0.0, text)
    front = in_front(job)
    with st.container(horizontal=True, vertical_alignment="center"):
        _stop(job, "Stop", job.key)
        if front is not None:
            _stop(front, "Stop the job ahead", f"before {job.key}")  # two jobs of a page may wait for the same one
            st.caption(WAITING_FOR.format(plain(front.title)))


def _stop(job: Job, label: str, key: str) -> None:
    if job.stopping:
        st.caption("Stopping …")
    else:
        with _once():
            st.button(label, icon=":material/stop_circle:", on_click=job.stop, key=f"stop {key}")


def _once() -> AbstractContextManager[object]:
    """Draw no element whose key is on the page already: both sides of a page may wait for one job."""
    return suppress(StreamlitDuplicateElementKey)


def _offer_again(job: Job, label: str) -> None:
    with _once():
        st.button(label, icon=":material/refresh:", on_click=restart, args=(job,), key=f"again {job.key}")
