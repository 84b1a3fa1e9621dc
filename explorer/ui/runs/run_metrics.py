"""Read a run's metrics file incrementally: each refresh parses only the new lines.

A run of many hours writes megabytes, and the page refreshes every second.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import streamlit as st

from explorer import run_folder
from explorer.run_folder import METRICS, Evaluation, MetricLine, TrainingStep

POINTS = 1000  # of a line in a figure; a screen shows no more
# steps that a smoothed loss averages over: a tenth of those so far, within these bounds
SHORTEST, LONGEST = 5, 200

Line = TypeVar("Line", bound=MetricLine)


class RunNumbers:
    """The lines of a run's metrics: training steps, with a smoothed loss, and evaluations on the dev set."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / METRICS
        self._lock = threading.Lock()  # several tabs may read at once
        self._forget()

    def _forget(self) -> None:
        self._steps: dict[int, list[TrainingStep]] = {}  # by the number of the seed
        self._evaluations: dict[int, list[Evaluation]] = {}
        self._means: dict[int, float] = {}
        self._read, self._file, self._first, self._last = 0, 0, b"", b""

    def lines(self) -> list[MetricLine]:
        """Each seed's evaluations and steps, thinned to what a figure can show; the best evaluation is always kept."""
        with self._lock:
            self._read_on()
            found: list[MetricLine] = []
            for evaluations in self._evaluations.values():
                shown = _thinned(evaluations)
                best = next((one for one in reversed(evaluations) if one.best), None)
                found += shown if best is None or best in shown else sorted([*shown, best], key=_step)
            for steps in self._steps.values():
                found += _thinned(steps)
            return found

    def evaluations(self, number: int = 1) -> list[Evaluation]:
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
            if isinstance(read, Evaluation):
                _put(self._evaluations.setdefault(read.number, []), read)
            elif read is not None and read.loss is not None:
                self._smooth(read, read.loss)

    def _smooth(self, line: TrainingStep, loss: float) -> None:
        number, steps = line.number, self._steps.setdefault(line.number, [])
        if not steps or line.step <= steps[-1].step:  # the first step, or a repeated one
            self._means[number] = loss
        newest = 2 / (1 + min(LONGEST, max(SHORTEST, len(steps) / 10)))
        mean = self._means[number] = (1 - newest) * self._means[number] + newest * loss
        _put(steps, replace(line, smooth=mean))


def _step(line: MetricLine) -> int:
    return line.step


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
