"""Show a plan: its progress, its table while runs change, failures, and buttons to stop, resume, copy and delete it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from explorer import errors, in_words, places, run_folder
from explorer.data import sources
from explorer.drawing.scores.costs import MethodMark, score_by_cost, score_by_rows
from explorer.evaluating.results import result_files, table_formats
from explorer.knobs import Knobs, knob
from explorer.training.record.runs import Run
from explorer.ui import messages
from explorer.ui.access import jobs
from explorer.ui.frame import page_list
from explorer.ui.plans import advice, plan_form, plan_start
from explorer.ui.runs import run_status, training_queue
from explorer.ui.widgets import controls, downloads, first_screen

if TYPE_CHECKING:
    from explorer.studies.plans.plan import Plan
    from explorer.studies.plans.plan_folder import PlanFolder, PlanStatus
    from explorer.studies.plans.plan_table import PlanTable
    from explorer.studies.plans.row_curve import RowCurve

IDLE = 3.0  # seconds
HEIGHT, PRESENTED = 380, 285  # pixels of the figure
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
TRAIN, COMPARE = "pages/train.py", "pages/compare.py"
ROW = "plan row"
HELP = {
    "base, trained layer & pooling": "Test score of the base under the layer & pooling that is trained, before "
    "training. The difference to the base is that to its model default instead, the model as people use it.",
    "test": "Test score × 100 of the tuned model, mean ± standard deviation over seeds. Higher is better, at most 100.",
    "difference to the base": "Test score minus that of the base under model default, with the widest 95 % interval of "
    "the seeds. Above 0 is better; it could be chance if the interval includes 0.",
    "difference by training": "The part of this difference that is due to training: above the base under the layer & "
    "pooling that is trained. The rest is due to that layer & pooling.",
    "nothing learned, seeds": "With how many seeds the model equals its base.",
    "elsewhere, difference to the base": "The same difference on a set that the runs were not trained for.",
    "dev": "Dev score × 100 of the tuned model. The dev set chose it, so it is optimistic; report the test.",
    "seconds": "Seconds of one training, the mean over seeds. Lower is cheaper.",
    "seconds per point": "Seconds of training for one point above the base. Lower is better; empty unless the "
    "difference is significant for every seed.",
    "memory (GB)": "Memory that a step on the longest rows needs, in GB. Lower is better.",
    "seeds": "How many of the row's trainings are finished.",
}


@dataclass(frozen=True)
class ShownRuns(Knobs):
    """Whose runs are below the table."""

    row: str = knob("", title="Runs of row", empty="the first row that has any", help="")


def show(folder: PlanFolder) -> None:
    """The plan; while it is under way its progress is updated every second, its table after each training."""
    controls.refused()
    try:
        plan = folder.plan()
        stamp = table_stamp(plan)  # before the table, so that what changes meanwhile draws it again
        found = table_at(folder, plan, stamp)
    except errors.StrataError as error:
        messages.trouble(error)
        _delete(folder)
        return
    from explorer.studies.plans import plan_report

    status = training_queue.standing(folder)
    with first_screen.controls_row():
        run_status.heading(folder.name, status.state)
        _buttons(folder, plan, status, bool(found.unmeasured))
    answer, figure = first_screen.answer(), first_screen.figure()
    # a plan that is not finished may be resumed in another tab
    every = 1.0 if status.live else None if status.state == "finished" else IDLE
    rows, best = plan_report.scored(found), plan_report.verdict(found)
    with answer:
        st.fragment(_progress, run_every=every)(folder, plan, found, (status.live, stamp))
        if not advice.answered(folder, found, status):
            for text in (best, plan_report.forgotten(found)):
                if text is not None:
                    messages.verdict(text)
            if len(rows) > 1 and not downloads.presenting():
                st.caption(plan_report.BEST_OF.format(len(rows)))
    st.caption(messages.plain(_in_a_line(plan, found)))
    if missing := plan_report.unscored(found):
        st.caption(messages.plain(missing))
    with figure if len(rows) < 2 else st.container():
        _curves(folder, plan, found, stamp)
    _what_failed(status, () if status.live else found.unmeasured)
    if len(rows) > 1:
        with figure:
            _cost(folder.name, plan_report.marks(rows), " or ".join(found.measures))
    _table(folder.name, found)
    _runs(found)


def _in_a_line(plan: Plan, table: PlanTable) -> str:
    """Methods, models, text, evaluation sets and seeds."""
    from explorer.studies.plans import plan_report

    methods = dict.fromkeys([*plan.methods, *(one.method for one in plan.variants if one.method)])
    texts = " or ".join(" + ".join(map(sources.shown, text)) for text in plan.data)
    models, seeds = ", ".join(map(sources.shown, plan.models)), ", ".join(map(str, plan.seeds))
    sets = plan_report.sets_in_words(table)
    return " · ".join((", ".join(methods), f"on {models}", f"text: {texts}", sets, f"seeds: {seeds}"))


def _cost(name: str, marks: Sequence[MethodMark], measure: str) -> None:
    from explorer.studies.plans import plan_report

    st.markdown("**Score against cost**", help=messages.plain(plan_report.READ))
    downloads.draw(
        score_by_cost(marks, measure),
        height=HEIGHT,
        presented=PRESENTED,
        config=downloads.config(f"plan-{downloads.file_name(name)}"),
        alt=f"Difference to the base against seconds of training, for {len(marks)} rows.",
    )


def _buttons(folder: PlanFolder, plan: Plan, status: PlanStatus, unmeasured: bool) -> None:
    def duplicate() -> None:
        plan_form.fill(plan)
        plan_start.leave()

    with st.container(horizontal=True, width="content"):
        st.button("New plan", key=NEW, icon=":material/add:", on_click=plan_start.leave, help="Open the form.")
        if plan_form.holds(plan):
            st.button(
                "Duplicate and edit",
                key=COPY,
                icon=":material/content_copy:",
                on_click=duplicate,
                help="Fills the form with this plan.",
            )
        if status.live:
            return
        if status.state != "finished" or status.failures or unmeasured:
            again = AGAIN if status.failures else EVALUATE
            controls.callback_button(
                "Resume" if status.state != "finished" else again,
                lambda: training_queue.resume_plan(folder),
                key=RESUME,
                icon=":material/resume:",
                type="primary",
            )
        _delete(folder)


def _delete(folder: PlanFolder) -> None:
    def delete() -> None:
        training_queue.delete(folder)
        plan_start.leave()

    with st.popover("Delete", icon=":material/delete:"):
        st.write("This deletes the plan. Its runs stay, in the list of the Train page.")
        controls.callback_button("Delete plan", delete, key=DELETE, type="primary")


def _progress(folder: PlanFolder, plan: Plan, table: PlanTable, shown: tuple[bool, Hashable]) -> None:
    """Which training of how many, its stage, and roughly how long the rest takes; a change redraws the page."""
    status = training_queue.standing(folder)
    if not folder.folder.is_dir() or (status.live, table_stamp(plan)) != shown:
        st.rerun()
    if status.state == "interrupted":
        st.warning(INTERRUPTED, icon=":material/power_off:")
    elif status.state == "stopped":
        st.info(STOPPED, icon=":material/stop_circle:")
    elif status.state == "failed":
        messages.trouble(status.error or "The plan failed.", status.details)
    if not status.live:
        return
    from explorer.studies.plans import execution
    from explorer.studies.plans.plan_table import seconds_left

    job = training_queue.job_of(folder)
    parts = [f"{table.done} of {table.total} trainings done"]
    if job is not None and job.state == jobs.RUNNING:
        progress = job.progress
        parts.append(progress.text + (f", {progress.amount}" if progress.amount else ""))
    left = seconds_left(table, len(status.left_out))
    if left is not None and table.done < table.total:
        parts.append(f"about {in_words.duration(left / status.at_once)} of training left")
    st.progress(min(1.0, table.done / table.total) if table.total else 0.0, messages.plain(" · ".join(parts)))
    front = jobs.in_front(job) if job is not None else None
    if front is not None:
        st.caption(jobs.WAITING_FOR.format(messages.plain(front.title)))
    elif job is None:
        st.caption("Another process works on this plan.")
    if status.at_once > 1:
        st.caption(execution.AT_ONCE.format(status.at_once))
    if folder.stop_requested():
        st.caption("Stopping after this step …")
        return
    controls.callback_button(
        "Stop (can be resumed)",
        lambda: training_queue.stop(folder),
        key=STOP,
        icon=":material/stop_circle:",
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
        text = LEFT_OUT.format(count, "s" * (count != 1), "; ".join(status.left_out))
        st.warning(messages.plain(text), icon=":material/hourglass_disabled:")
    for missing in (*status.missing, *unmeasured):
        st.warning(messages.plain(missing), icon=":material/block:")


def table_at(folder: PlanFolder, plan: Plan, stamp: Hashable) -> PlanTable:
    """The table as it stood at a stamp, or a little later."""
    return _table_of(str(folder.folder), repr(plan), stamp, plan)


@st.cache_resource(max_entries=8, show_spinner=False)
def _table_of(folder: str, text: str, stamp: Hashable, _plan: Plan) -> PlanTable:
    from explorer.studies.plans import plan_table

    return plan_table.table(_plan)


def table_stamp(plan: Plan) -> Hashable:
    """A value that changes when a run begins or ends, a task is evaluated, or a text or base model is another one."""
    from explorer.studies.plans import plan_folder

    runs = places.stamps(sorted(folder / run_folder.STATUS for folder in run_folder.folders_with(run_folder.STATUS)))
    states = tuple(_ended(*one) or Run(Path(one[0]).parent).status().state for one in runs)
    begun = places.stamps([plan_folder.plans_folder() / plan.name / run_folder.STATUS])  # its tasks are in it
    return states, begun, training_queue.inputs_digest(plan), result_files.stamp() if plan.tasks else ()


@lru_cache(maxsize=10_000)
def _ended(path: str, stamp: Hashable) -> Hashable:
    """The state of a run that ended, and when; None for one that may change without a word, since its process ends."""
    status = Run(Path(path).parent).status()
    return None if status.live else (path, stamp, status.state)


def _curves(folder: PlanFolder, plan: Plan, table: PlanTable, stamp: Hashable) -> None:
    """What more training rows bring, if the plan has two numbers of rows that are done."""
    from explorer.studies.plans import plan_report

    curves = _curves_of(str(folder.folder), repr(plan), stamp, table)
    if not curves:
        return
    st.subheader("Score by training rows")
    for curve in curves:
        messages.verdict(plan_report.of_rows(curve, len(curves) > 1))
    lines = plan_report.row_lines(curves)
    downloads.draw(
        score_by_rows(lines, plan_report.bases(curves), " or ".join(table.measures)),
        config=downloads.config(f"rows-{downloads.file_name(folder.name)}"),
        alt=f"Test score by number of training rows, for {', '.join(lines)}.",
    )
    st.caption(messages.plain(plan_report.about_rows(curves)))


@st.cache_resource(max_entries=8, show_spinner="Comparing the numbers of rows …")
def _curves_of(folder: str, text: str, stamp: Hashable, _found: PlanTable) -> tuple[RowCurve, ...]:
    from explorer.studies.plans import row_curve

    return row_curve.curves(_found)


def _table(name: str, table: PlanTable) -> None:
    from explorer.studies.plans import plan_columns, plan_report

    columns, cells = plan_columns.written(table)
    header, rows = table_formats.shown(columns, cells)
    widths = {header[0]: st.column_config.TextColumn(pinned=True)}
    for column, title in zip(columns[1:], header[1:], strict=True):
        # pixels for `81.96 ± 0.17`, also before there is a number; other columns are wide enough by their name
        by_name = title != column.name or column.name in HELP
        widths[title] = st.column_config.TextColumn(width=None if by_name else 115, help=HELP.get(column.name))
    st.subheader("Table")
    st.dataframe(
        [dict(zip(header, row, strict=True)) for row in rows], hide_index=True, key="plan table", column_config=widths
    )
    st.caption(plan_report.how_in_words(table))
    with st.container(horizontal=True):
        downloads.formats(columns, cells, downloads.file_name(name), "plan")
        # made on request: the self-contained page includes 4 MB of plotly
        made, file = lambda: plan_report.report(table), f"{downloads.file_name(name)}.html"
        downloads.file("Report (HTML)", made, file, "text/html", icon=":material/description:", key="plan as html")


def _runs(table: PlanTable) -> None:
    begun = {row.label: row for row in table.rows if any(one.run is not None for one in row.cells)}
    if not begun:
        return
    st.subheader("Runs")
    if st.session_state.get(ROW) not in begun:
        st.session_state[ROW] = next(iter(begun))
    label: str = controls.draw("", ShownRuns.knobs["row"], key=ROW, offered=begun, accept_new_options=False)
    for one in begun[label].cells:
        line = st.container(horizontal=True, vertical_alignment="center")
        run, parts = one.run, messages.plain(f"Seed {one.seed}: {one.state}")
        if run is None:
            line.caption(parts)
            continue
        line.page_link(
            TRAIN,
            label=parts,
            icon=":material/model_training:",
            query_params={"run": run.name},
            help=messages.plain(run.name),
            width="content",
        )
        if run.has_model and line.button(
            "Compare with base",
            key=f"compare {run.name}",
            icon=":material/compare_arrows:",
            on_click=page_list.compare_with_base,
            args=(run,),
        ):
            st.switch_page(COMPARE, query_params={})
