"""Show a plan: its progress, its table while runs change, failures, and buttons to stop, resume, copy and delete it."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from explorer import in_words
from explorer.data import sources
from explorer.errors import StrataError
from explorer.evaluating.results import result_files
from explorer.places import stamps
from explorer.run_folder import STATUS, folders_with
from explorer.training.record.runs import Run
from explorer.ui import messages
from explorer.ui.access import job_results, jobs
from explorer.ui.plans import plan_form, plan_list, plan_result
from explorer.ui.runs import plan_queue, run_status
from explorer.ui.widgets import refused_clicks

if TYPE_CHECKING:
    from explorer.studies.plans.plan import Plan
    from explorer.studies.plans.plan_folder import PlanFolder, PlanStatus
    from explorer.studies.plans.plan_table import PlanTable

IDLE = 3.0  # seconds
AGAIN, EVALUATE = "Train what failed again", "Evaluate what is missing"  # of a plan that is finished
STOP, RESUME, DELETE, NEW, COPY = "plan stop", "plan resume", "plan delete", "plan new", "plan copy"
INTERRUPTED = (
    "The process that worked on the plan ended. Press **Resume** to go on with it: what is trained stays, and the "
    "training that was cut off continues from its last saved state."
)
STOPPED = "Stopped. Press **Resume** to go on with the plan: what is trained stays."
LEFT_OUT = (
    "The budget did not suffice for {} training{}: {}. To train them too, start a plan with a larger budget under "
    "another name; it uses what is trained already."
)


def show(folder: PlanFolder) -> None:
    """The plan; while it is under way its progress is updated every second, its table after each training."""
    refused_clicks.refused()
    try:
        plan = folder.plan()
        stamp = table_stamp(plan)  # before the table, so that what changes meanwhile draws it again
        found = table_at(folder, plan, stamp)
    except StrataError as error:
        messages.trouble(error)
        _delete(folder)
        return
    status = plan_queue.standing(folder)
    _buttons(folder, plan, status, bool(found.unmeasured))
    _headline(folder, plan, status, found)
    told = (status.live, stamp)
    # a plan that is not finished may be resumed in another tab
    every = 1.0 if status.live else None if status.state == "finished" else IDLE
    st.fragment(_progress, run_every=every)(folder, plan, found, told)
    plan_result.verdict(found)
    _what_failed(status, () if status.live else found.unmeasured)
    plan_result.show(folder.name, found)


def _buttons(folder: PlanFolder, plan: Plan, status: PlanStatus, unmeasured: bool) -> None:
    with st.container(horizontal=True):
        st.button("New plan", key=NEW, icon=":material/add:", on_click=plan_list.leave, help="Open the form.")
        if plan_form.holds(plan):
            st.button(
                "Duplicate and edit",
                key=COPY,
                icon=":material/content_copy:",
                on_click=_duplicate,
                args=(plan,),
                help="Fills the form with this plan.",
            )
        if status.live:
            return
        if status.state != "finished" or status.failures or unmeasured:
            again = AGAIN if status.failures else EVALUATE
            st.button(
                "Resume" if status.state != "finished" else again,
                key=RESUME,
                icon=":material/resume:",
                type="primary",
                on_click=_resume,
                args=(folder,),
            )
        _delete(folder)


def _delete(folder: PlanFolder) -> None:
    with st.popover("Delete", icon=":material/delete:"):
        st.write("This deletes the plan. Its runs stay, in the list of the Train page.")
        st.button("Delete plan", key=DELETE, type="primary", on_click=_deleted, args=(folder,))


def _headline(folder: PlanFolder, plan: Plan, status: PlanStatus, found: PlanTable) -> None:
    run_status.heading(folder.name, status.state)
    methods = dict.fromkeys([*plan.methods, *(one.method for one in plan.variants if one.method)])
    texts = " or ".join(" + ".join(map(sources.shown, text)) for text in plan.data)
    from explorer.studies.plans import plan_report

    told = [
        ", ".join(methods),
        f"on {', '.join(map(sources.shown, plan.models))}",
        f"text: {texts}",
        plan_report.sets_in_words(found),
        f"seeds: {', '.join(map(str, plan.seeds))}",
    ]
    st.caption(messages.plain(" · ".join(told)))


def _progress(folder: PlanFolder, plan: Plan, found: PlanTable, shown: tuple[bool, Hashable]) -> None:
    """Which training of how many, its stage, and roughly how long the rest takes; a change redraws the page."""
    status = plan_queue.standing(folder)
    if not folder.folder.is_dir() or (status.live, table_stamp(plan)) != shown:
        st.rerun()
    if status.live:
        _under_way(folder, status, found)
    elif status.state == "interrupted":
        st.warning(INTERRUPTED, icon=":material/power_off:")
    elif status.state == "stopped":
        st.info(STOPPED, icon=":material/stop_circle:")
    elif status.state == "failed":
        messages.trouble(status.error or "The plan failed.")


def _under_way(folder: PlanFolder, status: PlanStatus, found: PlanTable) -> None:
    from explorer.studies.plans.plan_estimate import seconds_left

    job = plan_queue.job_of(folder)
    told = [f"{found.done} of {found.total} trainings done"]
    if job is not None and job.state == jobs.RUNNING:
        progress = job.progress
        told.append(progress.text + (f", {progress.amount}" if progress.amount else ""))
    left = seconds_left(found, len(status.left_out))
    if left is not None and found.done < found.total:
        told.append(f"about {in_words.duration(left)} of training left")
    st.progress(min(1.0, found.done / found.total) if found.total else 0.0, messages.plain(" · ".join(told)))
    front = jobs.in_front(job) if job is not None else None
    if front is not None:
        st.caption(job_results.WAITING.format(messages.plain(front.title)))
    elif job is None:
        st.caption("Another process works on this plan.")
    if folder.stop_requested():
        st.caption("Stopping after this step …")
        return
    st.button(
        "Stop (can be resumed)",
        key=STOP,
        icon=":material/stop_circle:",
        on_click=_stop,
        args=(folder,),
        help="Saves the training under way. What is trained stays.",
    )


def _what_failed(status: PlanStatus, unmeasured: tuple[str, ...]) -> None:
    if status.failures:
        count = len(status.failures)
        lines = [f"- {messages.plain(what)}: {messages.plain(why)}" for what, why in status.failures.items()]
        st.error(
            f"{count} training{'s' if count > 1 else ''} or evaluation{'s' if count > 1 else ''} failed:\n\n"
            + "\n".join(lines),
            icon=":material/error:",
        )
    if status.left_out:
        count = len(status.left_out)
        told = LEFT_OUT.format(count, "s" * (count != 1), "; ".join(status.left_out))
        st.warning(messages.plain(told), icon=":material/hourglass_disabled:")
    for missing in (*status.missing, *unmeasured):
        st.warning(messages.plain(missing), icon=":material/block:")


def _stop(folder: PlanFolder) -> None:
    refused_clicks.attempt(lambda: plan_queue.stop(folder))


def _resume(folder: PlanFolder) -> None:
    refused_clicks.attempt(lambda: plan_queue.resume(folder))


def _duplicate(plan: Plan) -> None:
    plan_form.fill(plan)
    plan_list.leave()


def _deleted(folder: PlanFolder) -> None:
    def delete() -> None:
        plan_queue.delete(folder)
        plan_list.leave()

    refused_clicks.attempt(delete)


def table_at(folder: PlanFolder, plan: Plan, stamp: Hashable) -> PlanTable:
    """The table as it stood at a stamp, or a little later."""
    return _table_of(str(folder.folder), repr(plan), stamp, plan)


@st.cache_resource(max_entries=8, show_spinner=False)
def _table_of(folder: str, told: str, stamp: Hashable, _plan: Plan) -> PlanTable:
    from explorer.studies.plans import plan_table

    return plan_table.table(_plan)


def table_stamp(plan: Plan) -> Hashable:
    """A value that changes when a run begins or ends, a task is evaluated, or a text or base model is another one."""
    from explorer.studies.plans import plan_folder

    runs = stamps(sorted(folder / STATUS for folder in folders_with(STATUS)))
    states = tuple(_ended(*one) or Run(Path(one[0]).parent).status().state for one in runs)
    begun = stamps([plan_folder.plans_folder() / plan.name / STATUS])  # its tasks are in it
    return states, begun, plan_queue.as_it_is(plan), result_files.stamp() if plan.tasks else ()


@lru_cache(maxsize=10_000)
def _ended(path: str, stamp: Hashable) -> Hashable:
    """The state of a run that ended, and when; None for one that may change without a word, since its process ends."""
    status = Run(Path(path).parent).status()
    return None if status.live else (path, stamp, status.state)
