"""Show the status of a run or a plan, its estimate before it starts, the list of all runs, and a run's curves.

A run of many hours writes megabytes, and the page refreshes every second: each refresh parses only the new lines.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer import in_words, progress, run_folder
from explorer.data import sources
from explorer.drawing.scores import run_figures, watched
from explorer.measuring.comparing import headline
from explorer.training.record import runs
from explorer.training.record import status as statuses
from explorer.ui import messages
from explorer.ui.access import jobs
from explorer.ui.runs import training_queue
from explorer.ui.widgets import controls, downloads, job_buttons

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
REDRAWN = 2.0  # seconds
_CHOSEN = "_a run was chosen"
ROW_POINTS = 50  # at most, in the small curve of a row
WIDTH = 7  # pixels of a character
MOST_POINTS = 1000  # of a line in a figure; a screen shows no more
# steps that a smoothed loss averages over: a tenth of those so far, within these bounds
SHORTEST, LONGEST = 5, 200

ALIKE = 0.99  # mean cosine of random pairs from which on the embeddings have collapsed
COLLAPSED = (
    "The embeddings have collapsed: at step {} of seed {}, random pairs have a mean cosine of {:.3f}. Train again with "
    "a lower learning rate or a larger temperature."
)
ROUNDED = (
    "Steps are evaluated in bfloat16, as the run trains: up to 0.2 from the scores of base and tuned model, which are "
    "in float32."
)
FOLDER = "Folder"  # of a run that lists call by its row of a plan
AT_BEST_STEP = "Dev at best step"  # not the dev score of the tuned model
HOW_AT_BEST_STEP = (
    "Dev score × 100 when the best step was evaluated: in the precision of the training, before a blend with the base."
)
WATCHED = (
    "Recorded at every evaluation: your own pair if one is chosen, pairs of held-out rows, or a negation, a number and "
    "a role swap of the probe packs. Where two sentences differ in meaning, lower is better."
)
NOT_WATCHED = "Not recorded: this run was made before cosines of pairs were. Train it again to see them."
PRESENTED = 270  # pixels of the figures of lines in presentation mode
BLENDED = "Steps are evaluated as they are trained; the tuned model is blended with the base at α = {:g}."

Line = TypeVar("Line", bound=run_folder.MetricLine)


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


def heading(name: str, state: str) -> DeltaGenerator:
    """Draw a name and a state; gives their line, for further badges."""
    line = st.container(horizontal=True, vertical_alignment="center")
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
        "State": "example" if run.is_example else status.state,
        "Verdict": headline.short(status.learned),
        "Gain": tested and tested.shown_difference,
        "Test": tested and tested.exported,
        "Measure": (tested or None) and status.facts.measure_of("test"),
        "Method": status.facts.methods or None,
        "Base": messages.ends(sources.shown(status.facts.model)),
        "Dev": status.verdict.dev.exported if status.verdict and status.verdict.dev else None,
        AT_BEST_STEP: status.best,
        "Dev by step": scores[::stride] or None,
        "Time": in_words.duration(status.seconds) if status.seconds else None,
        **({FOLDER: run.name} if run.row else {}),
    }


class RunNumbers:
    """The lines of a run's metrics: training steps, with a smoothed loss, and evaluations on the dev set."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / run_folder.METRICS
        self._lock = threading.Lock()  # several tabs may read at once
        self._forget()

    def _forget(self) -> None:
        self._steps: dict[int, list[run_folder.TrainingStep]] = {}  # by the number of the seed
        self._evaluations: dict[int, list[run_folder.Evaluation]] = {}
        self._means: dict[int, float] = {}
        self._read, self._file, self._first, self._last = 0, 0, b"", b""

    def lines(self) -> list[run_folder.MetricLine]:
        """Each seed's evaluations and steps, thinned to what a figure can show; the best evaluation is always kept."""
        with self._lock:
            self._read_on()
            found: list[run_folder.MetricLine] = []
            for evaluations in self._evaluations.values():
                shown = _thinned(evaluations)
                best = {one.stage: one for one in evaluations if one.best}.values()  # of each stage
                missing = [one for one in best if one not in shown]
                found += sorted([*shown, *missing], key=lambda one: one.step) if missing else shown
            for steps in self._steps.values():
                found += _thinned(steps)
            return found

    def evaluations(self, number: int = 1) -> list[run_folder.Evaluation]:
        """The evaluations of a seed; by default the first one's."""
        with self._lock:
            self._read_on()
            return list(self._evaluations.get(number, []))

    def _read_on(self) -> None:
        try:
            with self._path.open("rb") as file:
                inode, first = self._path.stat().st_ino, file.readline()
                file.seek(self._read - len(self._last))
                # resuming rewrites the file up to the resumed step; another run may reuse the name, or its inode
                known = self._file, self._first, self._last
                if known != (inode, first, file.read(len(self._last))):
                    self._forget()
                    self._file, self._first = inode, first
                    file.seek(0)
                new = file.read()
        except OSError:
            self._forget()
            return
        whole = new[: new.rfind(b"\n") + 1]  # the last line may be half-written
        self._read += len(whole)
        self._last = whole[whole.rfind(b"\n", 0, -1) + 1 :] or self._last
        for line in whole.splitlines():
            read = run_folder.metric_line(line)
            if isinstance(read, run_folder.Evaluation):
                _put(self._evaluations.setdefault(read.number, []), read)
            elif read is not None and read.loss is not None:
                self._smooth(read, read.loss)

    def _smooth(self, line: run_folder.TrainingStep, loss: float) -> None:
        number, steps = line.number, self._steps.setdefault(line.number, [])
        # the first step of the run or of a stage, or a repeated one
        if not steps or line.step <= steps[-1].step or line.stage != steps[-1].stage:
            self._means[number] = loss
        newest = 2 / (1 + min(LONGEST, max(SHORTEST, len(steps) / 10)))
        mean = self._means[number] = (1 - newest) * self._means[number] + newest * loss
        _put(steps, replace(line, smooth=mean))


def _put(lines: list[Line], line: Line) -> None:
    """Add a line; it replaces lines of steps that are repeated after a resume."""
    while lines and (lines[-1].stage or 0, lines[-1].step) >= (line.stage or 0, line.step):
        lines.pop()
    lines.append(line)


def _thinned(lines: Sequence[Line]) -> list[Line]:
    """At most MOST_POINTS of the lines, evenly spaced, including the last one."""
    if len(lines) <= MOST_POINTS:
        return list(lines)
    stride = -(-len(lines) // (MOST_POINTS - 1))
    return [*lines[:-1:stride], lines[-1]]


@st.cache_resource(max_entries=64, show_spinner=False)
def numbers(folder: Path) -> RunNumbers:
    """The cached metrics of a run; they reread the file if it is replaced."""
    return RunNumbers(folder)


def figures(run: runs.Run) -> None:
    """The dev score, and the cosines of the watched pairs, step by step."""
    status, lines = training_queue.standing(run), numbers(run.folder).lines()
    evaluations = [line for line in lines if isinstance(line, run_folder.Evaluation)]
    last = max(evaluations, key=lambda one: (one.number, one.step), default=None)
    if last is not None and last.random_pairs is not None and last.random_pairs >= ALIKE:
        st.warning(COLLAPSED.format(last.step, last.seed, last.random_pairs), icon=":material/compress:")
    if evaluations or status.live:
        curves(lines, status, run.name)


def curves(lines: Sequence[run_folder.MetricLine], status: statuses.Status, name: str) -> None:
    """Both figures of lines, side by side; those of a run that is not started have one evaluation, of its base."""
    total = status.total if status.live else 0  # an ended run needs no room for further steps
    parts = status.facts.folds.parts if status.facts.folds else ()
    left, right = st.columns(2, gap="medium")
    with left:
        reading = status.facts.reading.words if status.facts.reading else ""
        measure = status.facts.measure_of("dev")
        notes = [ROUNDED] * (status.facts.precision == "bfloat16")
        if status.facts.blend is not None:
            notes.append(BLENDED.format(status.facts.blend))
        title = f"**{measure} on the dev set**" + (f", {messages.plain(reading)}" * bool(reading))
        st.markdown(title, help=" ".join(notes) or None)
        downloads.draw(
            run_figures.dev_scores(
                lines, status.base, total, same_reading=same_reading(status), measure=measure, parts=parts
            ),
            presented=PRESENTED,
            key=f"dev {name}",
            config=downloads.config("run"),
            alt="The dev score by step, with the base's scores as horizontal lines. The log holds the numbers.",
        )
    with right:
        st.markdown("**Cosines of watched pairs**", help=WATCHED)
        pairs = status.facts.watched
        if not pairs or (lines and not any(isinstance(line, run_folder.Evaluation) and line.cosines for line in lines)):
            st.caption(NOT_WATCHED if lines else "Recorded at every evaluation.")
            return
        downloads.draw(
            watched.watched_cosines(lines, pairs, total, parts),
            presented=PRESENTED,
            key=f"watched {name}",
            config=downloads.config("run"),
            alt="The cosine of each watched pair by step. `train --json` prints the numbers.",
        )


def loss_and_geometry(run: runs.Run) -> None:
    """The loss of every step, and the embedding geometry at evaluations."""
    status, lines = training_queue.standing(run), numbers(run.folder).lines()
    if not lines:
        return
    total = status.total if status.live else 0
    parts = status.facts.folds.parts if status.facts.folds else ()
    st.markdown("**Loss**, each step and smoothed")
    downloads.draw(
        run_figures.losses(lines, total, parts=parts),
        key=f"loss {run.name}",
        config=downloads.config("run"),
        alt="The loss by step, as it is and smoothed.",
    )
    st.markdown(
        "**Embedding geometry**",
        help="Mean cosine in training batches: of positive pairs (higher is better) and of random pairs (lower is "
        "better; near 1 is collapse). Alignment and uniformity (Wang and Isola 2020) on the dev set: lower is "
        "better for both.",
    )
    downloads.draw(
        run_figures.geometry(lines, total, parts=parts),
        key=f"geometry {run.name}",
        config=downloads.config("run"),
        alt="Mean cosines of positive pairs and random pairs, alignment and uniformity by step.",
    )


def same_reading(status: statuses.Status) -> float | None:
    """The base's dev score under the layer & pooling that is trained."""
    return status.verdict.dev.same_reading_base if status.verdict and status.verdict.dev else None
