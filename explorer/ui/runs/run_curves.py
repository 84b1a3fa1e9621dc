"""Draw the curves of a run from its metrics: dev score, watched pairs, loss and embedding geometry.

A run of many hours writes megabytes, and the page refreshes every second: each refresh parses only the new lines.
"""

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import streamlit as st

from explorer import run_folder
from explorer.drawing.scores import run_figures, watched
from explorer.training.record import runs
from explorer.training.record import status as statuses
from explorer.ui import messages
from explorer.ui.runs import training_queue
from explorer.ui.widgets import downloads

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
WATCHED = (
    "Recorded at every evaluation: your own pair if one is chosen, pairs of held-out rows, or a negation, a number and "
    "a role swap of the probe packs. Where two sentences differ in meaning, lower is better."
)
NOT_WATCHED = "Not recorded: this run was made before cosines of pairs were. Train it again to see them."
NOT_SCORED, NOT_YET = "No step has a score.", "The scores of steps are drawn here once the run has made them."
PRESENTED = 270  # pixels of the figures of lines in presentation mode
BLENDED = "Steps are evaluated as they are trained; the tuned model is blended with the base at α = {:g}."
Line = TypeVar("Line", bound=run_folder.MetricLine)


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
        notes = [ROUNDED] * (status.facts.precision == "bfloat16")
        if status.facts.blend is not None:
            notes.append(BLENDED.format(status.facts.blend))
        title = f"**{status.facts.step_score}**" + (f", {messages.plain(reading)}" * bool(reading))
        st.markdown(title, help=" ".join(notes) or None)
        _scores(lines, status, total, parts, name)
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


def _scores(
    lines: Sequence[run_folder.MetricLine], status: statuses.Status, total: int, parts: Sequence[str], name: str
) -> None:
    """The score by step; a line in place of an empty figure: before the first step of a fold there is no score."""
    scored = any(isinstance(line, run_folder.Evaluation) and line.selection_score is not None for line in lines)
    if (lines or status.facts.is_cross_fitted) and not scored:
        st.caption(NOT_YET if status.live else NOT_SCORED)
        return
    measure = status.facts.step_measure
    downloads.draw(
        run_figures.dev_scores(
            lines, status.base, total, same_reading=same_reading(status), measure=measure, parts=parts
        ),
        presented=PRESENTED,
        key=f"dev {name}",
        config=downloads.config("run"),
        alt="The score by step, with the base's scores as horizontal lines. The log holds the numbers.",
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
    return status.verdict.dev.before_as_trained if status.verdict and status.verdict.dev else None
