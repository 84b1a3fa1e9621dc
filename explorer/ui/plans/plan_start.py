"""Start a plan: its form, how many trainings it is, what they take; and list the plans that were started."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer import errors, places, work_folder
from explorer.data import sources
from explorer.data.set_items import counted
from explorer.training.record import status as statuses
from explorer.ui import messages
from explorer.ui.access import cached_texts
from explorer.ui.plans import plan_form
from explorer.ui.runs import run_status, training_form, training_queue
from explorer.ui.widgets import controls, downloads, first_screen

if TYPE_CHECKING:
    from explorer.studies.plans.plan import Plan, PlanCell
    from explorer.studies.plans.plan_folder import PlanFolder

NAME, START, ESTIMATE = "plan name", "plan start", "plan estimate"
FILE = "plan from a file"
_STARTED, _LEFT = "_plan started", "_the form of a plan"
ANY = "plans/[!.]*"  # folders of plans
FORM = "plan"  # the name of a plan that is not started yet
TOO_FEW_ROWS = "{}: the text has {:,} rows; a batch needs {}. Lower the batch size or add text."
PLAN = "plan"


def form() -> None:
    """The form of a new plan, or an uploaded plan.yaml in its place, and the buttons."""
    controls.refused()
    answer, line, below = first_screen.answer(), first_screen.controls_row(), st.container()
    given = _uploaded()
    plan = plan_form.plan(FORM) if given is None else given
    with answer:
        found = _checked(replace(plan, name=FORM)) if plan is not None else None
    name = _name(line, given.name if given is not None else "")
    named = replace(plan, name=name) if plan is not None else None

    def start(named: Plan) -> None:
        choose(training_queue.start_plan(named).name)
        st.session_state[_STARTED] = True

    act = partial(start, named) if named is not None and found else None
    controls.button(line, "Start", act, key=START, type="primary", icon=":material/play_arrow:")
    if named is None or not found:
        below.caption("Fix the highlighted fields to start.")
        return
    job_key = training_queue.estimate_key(named)
    estimate = run_status.estimate(line, ESTIMATE, "of each row", job_key, partial(training_queue.estimate_plan, named))
    if estimate is not None:
        with below:
            st.info(messages.plain(f"Estimate: {estimate.text}."), icon=":material/speed:")
            for row, error in estimate.failures.items():
                messages.trouble(f"{row}: {error}")
    from explorer.studies.plans import plan_file

    st.caption("The same plan from the command line:")
    st.code("python -m explorer plan plan.yaml", language=None, wrap_lines=True)
    downloads.file("plan.yaml", plan_file.as_yaml(named), "plan.yaml", "application/yaml", key="plan yaml")


def _name(line: DeltaGenerator, of_file: str) -> str:
    """The name that is typed, or else that of the file, or one that no plan has."""
    if st.session_state.pop(_STARTED, False):
        st.session_state[NAME] = ""  # the next plan has another name
    names = (f"plan-{number}" for number in itertools.count(1))
    usual = of_file or next(name for name in names if not (places.runs_folder() / "plans" / name).exists())
    typed: str = line.text_input(
        "Plan name",
        key=NAME,
        width=280,
        placeholder=usual,
        persist_state="session",
        help="The names of its runs begin with it: letters, digits, '-', '_' and '.'. Optional.",
    )
    return typed.strip() or usual


def _uploaded() -> Plan | None:
    with st.popover("Open a plan.yaml", icon=":material/upload_file:"):
        upload = st.file_uploader(
            "plan.yaml",
            type=["yaml", "yml"],
            key=FILE,
            max_upload_size=1,
            help="The file replaces the form until you remove it.",
        )
    if upload is None:
        return None
    from explorer.studies.plans import plan_file

    text = upload.getvalue().decode("utf-8", errors="replace")
    try:
        found = plan_file.from_yaml(text, upload.name, Path(upload.name).stem)
    except errors.StrataError as error:
        messages.trouble(error)
        return None
    if any(plan_form.unreadable(data) for data in found.data):
        return None
    st.info(f"The plan of {messages.plain(upload.name)} replaces the form. Remove the file to use the form.")
    st.code(plan_file.as_yaml(found), language="yaml")
    return found


def _checked(plan: Plan) -> tuple[PlanCell, ...]:
    """The trainings of a plan, with their number shown; none if something is wrong, with the error shown."""
    from explorer.studies.plans.plan import cells

    try:
        found = cells(plan)
        for cell in found:
            for of in (one for one in cell.recipe.chain if one.kind.trains()):
                rows, *_ = cached_texts.rows(of.data, of.method, of.columns, of.keeps_duplicates)
                items = partial(of.kind.items, of.settings)
                if items(rows) < (batch := of.schedule().batch_size):
                    raise errors.BadChoice(TOO_FEW_ROWS.format(cell.row, rows, batch))
                of.schedule().rows_of(rows, "the text", items)
    except errors.StrataError as error:
        messages.trouble(error)
        return ()
    seeds = counted(len(plan.seeds), "seed")
    text = f"**{counted(len(found), 'training')}**: {counted(plan.rows, 'row')}"
    # methods without random numbers: one seed is enough for them
    names = dict.fromkeys(cell.recipe.method for cell in found if not cell.recipe.trains)
    once = ""
    if names and len(plan.seeds) > 1:
        uses = "use" if len(names) > 1 else "uses"
        once = f" {messages.plain(', '.join(names))} {uses} no random numbers: one seed is enough."
    st.markdown(f"{text} × {seeds}.{once}")
    return found


def table(shown: str) -> None:
    """The list; nothing if there is no plan yet. No row is selected after `shown`, what the page shows, changes."""
    if not any(places.runs_folder().glob(ANY)):
        return
    from explorer.studies.plans import plan_folder

    work_folder.collect(plan_folder.plans_folder())
    found = plan_folder.every()
    if not found:
        return
    st.subheader("Plans")
    rows = [_row(folder) for folder in found]
    controls.row_table(rows, found, lambda one: choose(one.name), key=f"plans beside {shown}")
    st.caption("Select a row to show its plan. Plans are saved beside the runs, in the folder `plans`.")


def _row(folder: PlanFolder) -> dict[str, Any]:
    status = training_queue.standing(folder)
    row: dict[str, Any] = {"Plan": folder.name, "State": status.state}
    try:
        plan = folder.plan()
    except errors.StrataError as error:
        return row | {"Methods": messages.shortened(str(error))}
    methods = dict.fromkeys([*plan.methods, *(one.method for one in plan.variants if one.method)])
    row |= {"Methods": ", ".join(methods), "Models": ", ".join(map(sources.shown, plan.models))}
    row |= {"Rows": plan.rows, "Seeds": len(plan.seeds)}
    problems = {"Failures": len(status.failures), "Left out": len(status.left_out)}
    return row | {name: count for name, count in problems.items() if count}  # most plans have neither


def asked_for(*, usual: bool = True) -> PlanFolder | None:
    """The plan that the address names, else if `usual` the last finished one until the form is asked for.

    None without one, or if it is missing (with an error).
    """
    is_form = not usual or st.session_state.get(_LEFT) or not list(places.runs_folder().glob(ANY))
    if PLAN not in st.query_params and is_form:
        return None
    from explorer.studies.plans import plan_folder

    if PLAN not in st.query_params:
        finished = (one for one in plan_folder.every() if one.status().state == statuses.FINISHED)
        last = max(finished, key=lambda one: one.status().started, default=None)
        if last is None:
            return None
        st.query_params[PLAN] = last.name
    return training_form.shown_under(
        PLAN, "_plan that was shown", plan_folder.find, "The plan {} is no longer there: it was deleted."
    )


def choose(name: str) -> None:
    """Show a plan, from its progress on."""
    st.query_params[PLAN] = name
    controls.from_the_top()


def leave() -> None:
    """Show the form."""
    st.query_params.pop(PLAN, None)
    st.session_state[_LEFT] = True
