"""Show the status of a run or a plan, its estimate before it starts, and the list of all runs."""

from collections.abc import Callable
from typing import Any, Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer import in_words, progress, run_folder
from explorer.data import sources
from explorer.measuring.comparing import headline
from explorer.training.record import runs
from explorer.training.record import status as statuses
from explorer.ui import messages
from explorer.ui.access import jobs
from explorer.ui.runs import training_queue
from explorer.ui.runs.run_curves import numbers
from explorer.ui.widgets import controls, downloads, job_buttons

Colour = Literal["gray", "blue", "green", "orange", "red"]
IN_QUEUE = "in Slurm's queue"  # the state of a run whose job has not begun
BADGES: dict[str, tuple[Colour, str]] = {  # a colour of Streamlit and an icon for each state
    statuses.WAITING: ("gray", ":material/hourglass_empty:"),
    IN_QUEUE: ("gray", ":material/hourglass_empty:"),
    statuses.RUNNING: ("blue", ":material/play_circle:"),
    statuses.FINISHED: ("green", ":material/check_circle:"),
    statuses.STOPPED: ("orange", ":material/stop_circle:"),
    statuses.INTERRUPTED: ("orange", ":material/power_off:"),
    statuses.FAILED: ("red", ":material/error:"),
}
UNKNOWN: tuple[Colour, str] = ("gray", ":material/help:")  # a folder may say anything
BUSY = (
    "An estimate of time and memory is possible when the run under way has ended: until then its times would be wrong."
)
REDRAWN = 2.0  # seconds
_CHOSEN = "_a run was chosen"
ROW_POINTS = 50  # at most, in the small curve of a row
WIDTH = 7  # pixels of a character

FOLDER = "Folder"  # of a run that lists call by its row of a plan
AT_BEST_STEP = "Dev at best step"  # not the dev score of the tuned model
HOW_AT_BEST_STEP = (
    "Dev score × 100 when the best step was evaluated: in the precision of the training, before a blend with the base."
)


def share(status: statuses.Status) -> float:
    """The share that is done, from 0 to 1: of the steps, or before training of the current phase."""
    done, of = (status.step, status.total) if status.since is not None else (status.done, status.of)
    return min(1.0, done / of) if of else 0.0


def place(status: statuses.Status) -> str:
    """`step 12 of 80`, `step 16 of 80, evaluating on the dev set`, `scoring the base, 120 of 240`."""
    if status.state == statuses.WAITING:
        return "waiting for its turn"
    amount = f", {status.done:,} of {status.of:,}" if status.of else ""
    phase = status.phase or progress.Phase.STARTING
    if status.since is None:
        return f"{phase.text(status.about)}{amount}"
    step = f"step {status.step:,} of {status.total:,}"
    if status.stage is not None and status.facts.stages is not None:
        step = f"stage {status.stage} of {len(status.facts.stages.methods)}, {step}"
    elif status.stage is not None and status.facts.folds is not None:
        step = f"{status.facts.folds.part(status.stage)}, {step}"
    return step if phase is progress.Phase.TRAINING else f"{step}, {phase.text(status.about)}"


def pace(status: statuses.Status) -> str:
    """`seed 2 (2 of 3) · 1.2 steps a second · about 4 min left`; unknown values are omitted."""
    parts = [f"seed {status.seed} ({status.seed_number} of {status.seeds})"] if status.seeds > 1 else []
    speed, left = status.steps_a_second, status.seconds_left
    if speed is not None:
        parts.append(f"{speed:.1f} steps a second" if speed >= 1 else f"{1 / speed:.1f} s a step")
    if left is not None and status.state == statuses.RUNNING:
        parts.append(f"about {in_words.duration(left)} left")
    return " · ".join(parts)


def state(run: runs.Run, status: statuses.Status) -> str:
    """What a badge and a list say of a run."""
    return IN_QUEUE if status.state == statuses.STOPPED and run_folder.job_of(run.folder) else status.state


def heading(name: str, state: str) -> DeltaGenerator:
    """Draw a name and a state; gives their line, for further badges."""
    line = st.container(horizontal=True, vertical_alignment="center", width="content")
    line.subheader(messages.plain(name), width="content")
    colour, icon = BADGES.get(state, UNKNOWN)
    line.badge(messages.plain(state), icon=icon, color=colour)
    return line


def estimate(line: DeltaGenerator, key: str, what: str, job_key: str, start: Callable[[], object]) -> Any:
    """The estimate of time and memory once its job is done; before it the button, or the progress. `what` is tried.

    While a run trains, the button is disabled.
    """
    busy = jobs.find(job_key) is None and bool(training_queue.under_way())
    if busy:
        st.caption(BUSY)
    job = job_buttons.button(
        line,
        "Estimate time and memory",
        job_key,
        None if busy else start,
        key=key,
        icon=":material/speed:",
        help=BUSY if busy else f"Trains one step {what} and reports time, memory and disk. Nothing is saved.",
    )
    return None if job is None else job.result


def table(page: str, choose: Callable[[runs.Run], object], text: str) -> None:
    """The list; nothing if there is no run yet. No row is selected after `page`, what the page shows, changes."""
    runs.collect()
    for line in runs.unreadable():
        st.warning(messages.plain(line), icon=":material/block:")
    # while a run waits or trains, its row changes
    st.fragment(_listed, run_every=REDRAWN if training_queue.under_way() else None)(page, choose, text)


def _listed(page: str, choose: Callable[[runs.Run], object], text: str) -> None:
    if st.session_state.pop(_CHOSEN, False):
        st.rerun()  # the whole page shows what the click chose
    found = [*runs.every(), *runs.examples()]
    if not found:
        return
    st.subheader("Runs")

    def act(run: runs.Run) -> None:
        choose(run)
        st.session_state[_CHOSEN] = True

    rows = [_row(run) for run in found]
    controls.row_table(
        downloads.with_signs(rows, ("Gain",)),
        found,
        act,
        key=f"runs beside {page}",
        column_config={
            "Test": _score(
                "Test score × 100 of the tuned model: Spearman, of two labels average precision, or nDCG@10 or MRR@10 "
                "of queries."
            ),
            "Gain": st.column_config.NumberColumn(
                width="small",
                help="Test score of the tuned model minus that of its base under model default. Above 0 is better; "
                "the verdict says whether it could be chance.",
            ),
            "Verdict": st.column_config.TextColumn(
                width=max((WIDTH * len(row["Verdict"] or "") for row in rows), default=0) or None,
                help="What was learned or lost for certain, then what was perhaps lost: small differences in meaning, "
                "and scores on test sets and elsewhere.",
            ),
            "Measure": st.column_config.TextColumn(help="What Test, Gain and Dev are, × 100."),
            "Dev": _score("Dev score × 100 of the tuned model. The dev set chose it, so it is optimistic."),
            AT_BEST_STEP: _score(f"{HOW_AT_BEST_STEP} It is optimistic; report the test."),
            "Dev by step": st.column_config.LineChartColumn(width="small"),
        },
    )
    st.caption(f"Select a row to {text}. Runs are saved in `checkpoints`, or in the folder that `STRATA_RUNS` names.")


def _score(help: str) -> Any:
    return st.column_config.NumberColumn(format="%.2f", width="small", help=help)


def _row(run: runs.Run) -> dict[str, Any]:
    status = training_queue.standing(run)
    tested = status.verdict and status.verdict.test if status.facts.nothing is None else None
    scores = [one.dev for one in numbers(run.folder).evaluations()]
    stride = max(1, len(scores) // ROW_POINTS)
    return {
        "Run": messages.ends(run.called),
        "State": "example" if run.is_example else state(run, status),
        "Verdict": headline.short(status.learned),
        "Gain": tested and tested.shown_difference,
        "Test": tested and tested.after,
        "Measure": (tested or None) and status.facts.measure_of("test"),
        "Method": status.facts.methods or None,
        "Base": messages.ends(sources.shown(status.facts.model)),
        "Dev": status.verdict.dev.after if status.verdict and status.verdict.dev else None,
        AT_BEST_STEP: status.best,
        "Dev by step": scores[::stride] or None,
        "Time": in_words.duration(status.seconds) if status.seconds else None,
        **({FOLDER: run.name} if run.row else {}),
    }
