"""Show one run, under way or ended, from its folder alone, and the buttons for it."""

from dataclasses import replace
from functools import partial

import streamlit as st

from explorer import errors, in_words, run_folder
from explorer.data import sources
from explorer.training.loop.computed import PROCESSOR, THREADS
from explorer.training.record import run_facts
from explorer.training.record import status as statuses
from explorer.training.record.runs import DISCARD, KEEP, Run
from explorer.ui import blend, messages
from explorer.ui.access import jobs
from explorer.ui.runs import run_curves, run_status, training_form, training_queue
from explorer.ui.train import recipe_form
from explorer.ui.train.run_card import card
from explorer.ui.widgets import controls, downloads, first_screen

UPDATED, REDRAWN = 1.0, 3.0  # seconds
SCORES, CURVES, LOG, BLEND, RUNS = "Scores", "Loss and geometry", "About and log", "Blend", "Runs"  # tabs
INTERRUPTED = (
    "The training process ended before the run finished. Press **Resume** to continue from the last saved checkpoint, "
    "or from the start if there is none."
)
STOPPED_AT = "Stopped at step {:,} of {:,}. Press **Resume** to continue from there."
IN_QUEUE = "Waits in Slurm's queue as job {}. `squeue -j {}` says whether it is still there."
STOPPED_EARLY = "Stopped before its first step. Press **Resume** to continue from there."
GPU_MEMORY = "Memory of the GPU: {}."
NOT_TESTED = "Not tested: the run was stopped. Resume it to finish and test it."


def page(run: Run) -> None:
    """The run: its buttons, its verdict or its progress, its curves, and the rest in tabs.

    While it is live, its progress is updated every second and its curves every few seconds. One that can be resumed
    may be resumed in another tab or by a command, which is noticed within a few seconds.
    """
    status = training_queue.standing(run)
    live, followed = status.live, REDRAWN if _can_be_resumed(run, status) else None
    with first_screen.controls_row():
        actions(run, status)
    with first_screen.answer():
        st.fragment(_place, run_every=UPDATED if live else followed)(run, run_status.state(run, status))
    with first_screen.figure():
        # replacing a figure is visible, so not every second
        st.fragment(run_curves.figures, run_every=REDRAWN if live else None)(run)
    tab = first_screen.tabs([SCORES, CURVES, LOG, BLEND, RUNS])
    if tab == SCORES:
        card(run, training_queue.standing(run))
    elif tab == CURVES:
        st.fragment(run_curves.loss_and_geometry, run_every=REDRAWN if live else None)(run)
    elif tab == LOG:
        st.fragment(_log, run_every=REDRAWN if live else None)(run)
    elif tab == BLEND:
        blend.of_run(run)
    else:
        run_status.table(run.name, training_form.choose, "show its run")


def _place(run: Run, was: str) -> None:
    status = training_queue.standing(run)
    # began, ended, was resumed or discarded, here or in another tab
    if run_status.state(run, status) != was or not run.folder.is_dir():
        st.rerun()  # the whole page: its badge, its buttons, its list of runs, and this fragment's clock
    controls.refused()
    if status.live:
        _under_way(run, status)
        return
    if status.state == statuses.FAILED:
        messages.trouble(status.error or "The run failed.", status.details)
    elif status.state == statuses.INTERRUPTED:
        st.warning(INTERRUPTED, icon=":material/power_off:")
    elif status.state == statuses.STOPPED:
        text = STOPPED_AT.format(status.step, status.total) if status.total else STOPPED_EARLY
        if job := run_folder.job_of(run.folder):
            text = IN_QUEUE.format(job, job)
        st.info(text, icon=":material/stop_circle:")
    if not messages.answer(status.learned) and status.verdict is not None:
        st.info(NOT_TESTED, icon=":material/science_off:")


def _log(run: Run) -> None:
    """What the run was made with, and its log."""
    status = training_queue.standing(run)
    facts = status.facts
    text = " + ".join(map(sources.shown, facts.data))
    rows = "" if facts.rows is None else f" ({facts.rows:,} rows)"
    parts = [
        *([f"run {run.name}"] if run.row else []),
        f"{facts.methods} on {sources.shown(facts.model)}",
        *([] if facts.stages else [f"text: {text}{rows}"]),  # which stages state
        f"dev: {sources.shown(facts.dev or in_words.NONE)}",
        f"test: {', '.join(map(sources.shown, (facts.test or in_words.NONE, *facts.more_tests)))}",
    ]
    if facts.ran and facts.computed is None:  # of an older version, which is not listed below
        parts.append(facts.ran)
    parts += facts.listed(run_facts.PAGE).values()
    st.caption(messages.plain(" · ".join(parts)))
    st.code(run.log_tail() or "The log is empty.", language=None, wrap_lines=True)
    downloads.file("Download the log", lambda: run.log_tail(10**9).encode(), f"{run.name}.log", "text/plain")


def _under_way(run: Run, status: statuses.Status) -> None:
    parts = [run_status.place(status), run_status.pace(status), f"{in_words.duration(status.seconds)} so far"]
    st.progress(run_status.share(status), messages.plain(" · ".join(filter(None, parts))))
    job = training_queue.job_of(run)
    front = jobs.in_front(job) if job is not None else None
    if front is not None:
        st.caption(jobs.WAITING_FOR.format(messages.plain(front.title)))
    memory, estimate = status.device_memory, status.facts.estimate
    notes = [GPU_MEMORY.format(memory.words)] if memory is not None else []
    notes += [f"Estimated at the start: {estimate.words}."] if estimate is not None else []
    if notes:
        st.caption(messages.plain(" ".join(notes)))
    if run.stop_requested():
        st.caption("Stopping after this step …")
        return
    with st.container(horizontal=True):
        controls.callback_button(
            "Stop (can be resumed)",
            partial(training_queue.stop, run, KEEP),
            key="run stop",
            icon=":material/stop_circle:",
            help="Saves the best checkpoint so far as the run's model. The run can be resumed.",
        )
        with st.popover("Discard", icon=":material/delete:"):
            st.write("This stops the run and deletes its folder and its model. It cannot be undone.")
            discard = partial(training_queue.stop, run, DISCARD)
            controls.callback_button("Discard run", discard, key="run discard", type="primary")


def _can_be_resumed(run: Run, status: statuses.Status) -> bool:
    return not (status.live or run.is_example or status.state == statuses.FINISHED)


def actions(run: Run, status: statuses.Status) -> None:
    """The buttons; a run under way can only be duplicated."""
    name = f"name for {run.name}"
    run_status.heading(run.called, "example, read-only" if run.is_example else run_status.state(run, status))
    with st.container(horizontal=True, width="content"):
        st.button("New run", key="run new", icon=":material/add:", on_click=training_form.leave, help="Open the form.")
        controls.callback_button(
            "Duplicate and edit",
            partial(_duplicate, run),
            key="run duplicate",
            icon=":material/content_copy:",
            help="Fills the form with this run's recipe.",
        )
        if run.is_example:
            controls.callback_button(
                "Train it again",
                partial(_train_again, run),
                key="run again",
                type="primary",
                icon=":material/replay:",
                help="Starts a new run with the same recipe and saves its model.",
            )
        if status.live or run.is_example:
            return
        if _can_be_resumed(run, status):
            resume = partial(training_queue.resume, run)
            controls.callback_button("Resume", resume, key="run resume", icon=":material/resume:")
        with st.popover("Rename", icon=":material/edit:"):
            st.text_input("New name", run.name, key=name)
            controls.callback_button("Rename run", partial(_rename, run, name), key="run rename")
        with st.popover("Delete", icon=":material/delete:"):
            st.write("This deletes the run's folder and its model. It cannot be undone.")
            controls.callback_button("Delete run", partial(_delete, run), key="run delete", type="primary")


def _duplicate(run: Run) -> None:
    recipe_form.fill(run.recipe())
    training_form.leave()


def _train_again(run: Run) -> None:
    recipe = run.recipe()
    kept = {name: value for name, value in recipe.made_with.items() if name in (THREADS, PROCESSOR)}
    training_form.choose(training_queue.start(replace(recipe, made_with=kept)))


def _rename(run: Run, key: str) -> None:
    new = str(st.session_state[key]).strip()
    if not new:
        raise errors.BadChoice("The new name is empty. Type letters, digits, '-', '_' and '.'.")
    if new != run.name:
        training_form.choose(training_queue.rename(run, new))


def _delete(run: Run) -> None:
    training_queue.delete(run)
    training_form.leave()
