"""Show the status of a run or a plan: its estimate before it starts, a heading with a badge, progress and speed."""

from collections.abc import Callable
from typing import Any, Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer import in_words
from explorer.progress import Phase
from explorer.training.record import status as statuses
from explorer.training.record.status import Status
from explorer.ui import messages
from explorer.ui.access import jobs
from explorer.ui.access.jobs import Job
from explorer.ui.runs import training_queue
from explorer.ui.widgets import clicks

Colour = Literal["gray", "blue", "green", "orange", "red"]
BADGES: dict[str, tuple[Colour, str]] = {  # a colour of Streamlit and an icon for each state
    statuses.WAITING: ("gray", ":material/hourglass_empty:"),
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


def share(status: Status) -> float:
    """The share that is done, from 0 to 1: of the steps, or before training of the current phase."""
    done, of = (status.step, status.total) if status.since is not None else (status.done, status.of)
    return min(1.0, done / of) if of else 0.0


def place(status: Status) -> str:
    """`step 12 of 80`, `step 16 of 80, evaluating on the dev set`, `scoring the base, 120 of 240`."""
    if status.state == statuses.WAITING:
        return "waiting for its turn"
    amount = f", {status.done:,} of {status.of:,}" if status.of else ""
    phase = status.phase or Phase.STARTING
    if status.since is None:
        return f"{phase.text(status.about)}{amount}"
    step = f"step {status.step:,} of {status.total:,}"
    return step if phase is Phase.TRAINING else f"{step}, {phase.text(status.about)}"


def pace(status: Status) -> str:
    """`seed 2 (2 of 3) · 1.2 steps a second · about 4 min left`; unknown values are omitted."""
    parts = [f"seed {status.seed} ({status.seed_number} of {status.seeds})"] if status.seeds > 1 else []
    speed, left = status.steps_a_second, status.seconds_left
    if speed is not None:
        parts.append(f"{speed:.1f} steps a second" if speed >= 1 else f"{1 / speed:.1f} s a step")
    if left is not None and status.state == statuses.RUNNING:
        parts.append(f"about {in_words.duration(left)} left")
    return " · ".join(parts)


def heading(name: str, state: str) -> DeltaGenerator:
    """Draw a name and a state; gives their line, for further badges."""
    line = st.container(horizontal=True, vertical_alignment="center")
    line.subheader(messages.plain(name), width="content")
    colour, icon = BADGES.get(state, UNKNOWN)
    line.badge(messages.plain(state), icon=icon, color=colour)
    return line


def estimate(job: Job | None, line: DeltaGenerator, key: str, what: str, start: Callable[[], object]) -> Any:
    """The estimate of time and memory once its job is done; before it the button, or the progress. `what` is tried.

    While a run trains, the button is disabled.
    """
    if job is not None and job.state == jobs.DONE:
        return job.result
    if job is not None:
        jobs.progress_of(job)
        return None
    busy = bool(training_queue.under_way())
    if busy:
        st.caption(BUSY)
    clicks.button(
        line,
        "Estimate time and memory",
        None if busy else start,
        key=key,
        icon=":material/speed:",
        help=BUSY if busy else f"Trains one step {what} and reports time, memory and disk. Nothing is saved.",
    )
    return None
