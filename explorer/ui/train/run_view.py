"""Show one run, under way or ended, from its folder alone."""

from __future__ import annotations

from typing import Any

import streamlit as st

from explorer import in_words
from explorer.data import sources
from explorer.training.record import status as statuses
from explorer.training.record.runs import DISCARD, KEEP, Run
from explorer.training.record.status import Status
from explorer.ui import messages
from explorer.ui.access import job_progress, jobs
from explorer.ui.runs import name_and_state, run_curves, run_status_text, training_queue
from explorer.ui.train import run_result
from explorer.ui.widgets import refused_clicks

REDRAWN = 3.0  # seconds
INTERRUPTED = (
    "The training process ended before the run finished. Press **Resume** to continue from the last saved checkpoint, "
    "or from the start if there is none."
)
STOPPED_AT = "Stopped at step {:,} of {:,}. Press **Resume** to continue from there."
STOPPED_EARLY = "Stopped before its first step. Press **Resume** to continue from there."


def show(run: Run) -> None:
    """The run; while it is live, update its progress every second and its curves every few seconds."""
    live = training_queue.standing(run).live
    st.fragment(_place, run_every=1.0 if live else None)(run, live)
    # replacing a figure is visible, so not every second
    st.fragment(_traces, run_every=REDRAWN if live else None)(run)


def _place(run: Run, was_live: bool) -> None:
    status = training_queue.standing(run)
    if was_live != status.live or not run.folder.is_dir():  # ended, resumed or discarded, here or in another tab
        st.rerun()  # the whole page: its list of runs, and this fragment's clock
    refused_clicks.refused()
    _headline(run, status)
    if status.live:
        _under_way(run, status)
    else:
        _how_it_ended(run, status)


def _traces(run: Run) -> None:
    run_curves.figures(run, training_queue.standing(run))
    _log(run)


def _headline(run: Run, status: Status) -> None:
    line = name_and_state.show(run.name, status.state)
    if run.is_example:
        line.badge("example, read-only", icon=":material/school:", color="violet")
    facts = status.facts
    text = " + ".join(map(sources.shown, facts.data))
    rows = "" if facts.rows is None else f" ({facts.rows:,} rows)"
    told = [
        f"{facts.method} on {sources.shown(facts.model)}",
        f"text: {text}{rows}",
        f"dev: {sources.shown(facts.dev or in_words.NONE)}",
        f"test: {', '.join(map(sources.shown, (facts.test or in_words.NONE, *facts.more_tests)))}",
    ]
    if facts.device:
        told.append(f"{facts.precision} on {facts.device}")
    if facts.cut:
        told.append(f"trains {facts.cut.words}")
    if facts.adapters:
        told.append(facts.adapters.words)
    st.caption(messages.plain(" · ".join(told)))


def _under_way(run: Run, status: Status) -> None:
    """Progress, the job ahead of it, and the buttons to stop it."""
    told = [
        run_status_text.place(status),
        run_status_text.pace(status),
        f"{in_words.duration(status.seconds)} so far",
    ]
    st.progress(run_status_text.share(status), messages.plain(" · ".join(filter(None, told))))
    job = training_queue.job_of(run)
    front = jobs.in_front(job) if job is not None else None
    if front is not None:
        st.caption(job_progress.WAITING.format(messages.plain(front.title)))
    if status.facts.estimate:
        st.caption(messages.plain(f"Estimated at the start: {status.facts.estimate.words}."))
    if run.stop_requested():
        st.caption("Stopping after this step …")
        return
    with st.container(horizontal=True):
        st.button(
            "Stop (can be resumed)",
            key="run stop",
            icon=":material/stop_circle:",
            on_click=_stop,
            args=(run, KEEP),
            help="Saves the best checkpoint so far as the run's model. The run can be resumed.",
        )
        with st.popover("Discard", icon=":material/delete:"):
            st.write("This stops the run and deletes its folder and its model. It cannot be undone.")
            st.button("Discard run", key="run discard", type="primary", on_click=_stop, args=(run, DISCARD))


def _stop(run: Run, how: str) -> None:
    refused_clicks.attempt(lambda: training_queue.stop(run, how))


def _how_it_ended(run: Run, status: Status) -> None:
    if status.state == statuses.FAILED:
        messages.trouble(status.error or "The run failed.", status.details)
    elif status.state == statuses.INTERRUPTED:
        st.warning(INTERRUPTED, icon=":material/power_off:")
    elif status.state == statuses.STOPPED:
        told = STOPPED_AT.format(status.step, status.total) if status.total else STOPPED_EARLY
        st.info(told, icon=":material/stop_circle:")
    run_result.card(run, status)


def _log(run: Run) -> None:
    folded = st.expander("Log", icon=":material/article:", key=f"open log {run.name}", on_change="rerun")
    if not folded.open:
        return
    with folded:
        st.code(run.log_tail() or "The log is empty.", language=None, wrap_lines=True)
        st.download_button(
            "Download the log",
            lambda: _whole_log(run),
            f"{run.name}.log",
            "text/plain",
            icon=":material/download:",
            on_click="ignore",
        )


def _whole_log(run: Run) -> Any:
    return run.log_tail(10**9).encode()
