"""Show one run, under way or ended, from its folder alone, and the buttons for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from explorer import in_words
from explorer.data import sources
from explorer.errors import BadChoice
from explorer.training.record import status as statuses
from explorer.training.record.run_facts import PAGE
from explorer.training.record.runs import DISCARD, KEEP, Run
from explorer.training.record.status import Status
from explorer.ui import messages
from explorer.ui.access import job_results, jobs
from explorer.ui.runs import run_in_address, run_metrics, run_status, training_queue
from explorer.ui.train import recipe_form, run_result
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
    run_metrics.figures(run, training_queue.standing(run))
    _log(run)


def _headline(run: Run, status: Status) -> None:
    line = run_status.heading(run.name, status.state)
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
    told += facts.listed(PAGE).values()
    st.caption(messages.plain(" · ".join(told)))


def _under_way(run: Run, status: Status) -> None:
    """Progress, the job ahead of it, and the buttons to stop it."""
    told = [
        run_status.place(status),
        run_status.pace(status),
        f"{in_words.duration(status.seconds)} so far",
    ]
    st.progress(run_status.share(status), messages.plain(" · ".join(filter(None, told))))
    job = training_queue.job_of(run)
    front = jobs.in_front(job) if job is not None else None
    if front is not None:
        st.caption(job_results.WAITING.format(messages.plain(front.title)))
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


def actions(run: Run) -> None:
    """The buttons; a run under way can only be duplicated."""
    status = training_queue.standing(run)
    with st.container(horizontal=True):
        st.button("New run", key="run new", icon=":material/add:", on_click=run_in_address.leave, help="Open the form.")
        st.button(
            "Duplicate and edit",
            key="run duplicate",
            icon=":material/content_copy:",
            on_click=_duplicate,
            args=(run,),
            help="Fills the form with this run's recipe.",
        )
        if run.is_example:
            st.button(
                "Train it again",
                key="run again",
                type="primary",
                icon=":material/replay:",
                on_click=_train_again,
                args=(run,),
                help="Starts a new run with the same recipe and saves its model.",
            )
        if status.live or run.is_example:
            return
        if status.state != statuses.FINISHED:
            st.button("Resume", key="run resume", icon=":material/resume:", on_click=_resume, args=(run,))
        with st.popover("Rename", icon=":material/edit:"):
            name = f"name for {run.name}"
            st.text_input("New name", run.name, key=name)
            st.button("Rename run", key="run rename", on_click=_rename, args=(run, name))
        with st.popover("Delete", icon=":material/delete:"):
            st.write("This deletes the run's folder and its model. It cannot be undone.")
            st.button("Delete run", key="run delete", type="primary", on_click=_delete, args=(run,))


def _train_again(run: Run) -> None:
    refused_clicks.attempt(lambda: run_in_address.choose(training_queue.start(replace(run.recipe(), made_with={}))))


def _resume(run: Run) -> None:
    refused_clicks.attempt(lambda: training_queue.resume(run))


def _duplicate(run: Run) -> None:
    def fill() -> None:
        recipe_form.fill(run.recipe())
        run_in_address.leave()

    refused_clicks.attempt(fill)


def _rename(run: Run, key: str) -> None:
    name = str(st.session_state[key]).strip()

    def rename() -> None:
        if not name:
            raise BadChoice("The new name is empty. Type letters, digits, '-', '_' and '.'.")
        if name != run.name:
            run_in_address.choose(training_queue.rename(run, name))

    refused_clicks.attempt(rename)


def _delete(run: Run) -> None:
    def delete() -> None:
        training_queue.delete(run)
        run_in_address.leave()

    refused_clicks.attempt(delete)
