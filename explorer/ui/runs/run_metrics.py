"""Read a run's metrics while it grows, and draw them as curves, with a warning if the embeddings collapse.

A run of many hours writes megabytes, and the page refreshes every second: each refresh parses only the new lines.
"""

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import streamlit as st

from explorer import run_folder
from explorer.drawing.scores import run_figures
from explorer.training.record.runs import Run
from explorer.training.record.status import Status
from explorer.ui import messages
from explorer.ui.widgets import downloads

POINTS = 1000  # of a line in a figure; a screen shows no more
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
                best = next((one for one in reversed(evaluations) if one.best), None)
                found += shown if best is None or best in shown else sorted([*shown, best], key=lambda one: one.step)
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
        if not steps or line.step <= steps[-1].step:  # the first step, or a repeated one
            self._means[number] = loss
        newest = 2 / (1 + min(LONGEST, max(SHORTEST, len(steps) / 10)))
        mean = self._means[number] = (1 - newest) * self._means[number] + newest * loss
        _put(steps, replace(line, smooth=mean))


def _put(lines: list[Line], line: Line) -> None:
    """Add a line; it replaces lines of steps that are repeated after a resume."""
    while lines and lines[-1].step >= line.step:
        lines.pop()
    lines.append(line)


def _thinned(lines: Sequence[Line]) -> list[Line]:
    """At most POINTS of the lines, evenly spaced, including the last one."""
    if len(lines) <= POINTS:
        return list(lines)
    stride = -(-len(lines) // (POINTS - 1))
    return [*lines[:-1:stride], lines[-1]]


@st.cache_resource(max_entries=64, show_spinner=False)
def numbers(folder: Path) -> RunNumbers:
    """The cached metrics of a run; they reread the file if it is replaced."""
    return RunNumbers(folder)


def figures(run: Run, status: Status) -> None:
    """The dev score next to the loss; embedding geometry is folded."""
    lines = numbers(run.folder).lines()
    if not lines:
        return
    _collapse(lines)
    total = status.total if status.live else 0  # an ended run needs no room for further steps
    left, right = st.columns(2, gap="medium")
    with left:
        reading = status.facts.reading.words if status.facts.reading else ""
        measure = status.facts.measure_of("dev")
        st.markdown(f"**{measure} on the dev set**" + (f", {messages.plain(reading)}" * bool(reading)))
        downloads.draw(
            run_figures.dev_scores(lines, status.base, total, same_reading=same_reading(status), measure=measure),
            key=f"dev {run.name}",
            config=downloads.config("run"),
            alt="The dev score by step, with the base's scores as horizontal lines. The log holds the numbers.",
        )
        if status.facts.precision == "bfloat16":
            st.caption(ROUNDED)
    with right:
        st.markdown("**Loss**, each step and smoothed")
        downloads.draw(
            run_figures.losses(lines, total),
            key=f"loss {run.name}",
            config=downloads.config("run"),
            alt="The loss by step, as it is and smoothed.",
        )
    # drawn only while it is open
    folded = st.expander(
        "Embedding geometry", icon=":material/scatter_plot:", key=f"open geometry {run.name}", on_change="rerun"
    )
    if not folded.open:
        return
    with folded:
        st.caption(
            "Mean cosine in training batches: of positive pairs (higher is better) and of random pairs (lower is "
            "better; near 1 is collapse). Alignment and uniformity (Wang and Isola 2020) on the dev set: lower is "
            "better for both."
        )
        downloads.draw(
            run_figures.geometry(lines, total),
            key=f"geometry {run.name}",
            config=downloads.config("run"),
            alt="Mean cosines of positive pairs and random pairs, alignment and uniformity by step.",
        )


def same_reading(status: Status) -> float | None:
    """The base's dev score under the layer & pooling that is trained."""
    return status.verdict.dev.same_reading_base if status.verdict and status.verdict.dev else None


def _collapse(lines: list[run_folder.MetricLine]) -> None:
    evaluations = [line for line in lines if isinstance(line, run_folder.Evaluation)]
    if not evaluations:
        return
    last = max(evaluations, key=lambda one: (one.number, one.step))
    if last.random_pairs is not None and last.random_pairs >= ALIKE:
        st.warning(COLLAPSED.format(last.step, last.seed, last.random_pairs), icon=":material/compress:")
