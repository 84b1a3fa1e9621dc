"""Read a run's metrics file incrementally: each refresh parses only the new lines.

A run of many hours writes megabytes, and the page refreshes every second.
"""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from explorer.training.record.runs import METRICS

if TYPE_CHECKING:
    pass


POINTS = 1000  # of a line in a figure; a screen shows no more
# steps that a smoothed loss averages over: a tenth of those so far, within these bounds
SHORTEST, LONGEST = 5, 200

Line = dict[str, Any]


class RunNumbers:
    """The lines of a run's metrics: training steps, with a smoothed loss, and evaluations on the dev set."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / METRICS
        self._lock = threading.Lock()  # several tabs may read at once
        self._forget()

    def _forget(self) -> None:
        self._steps: dict[int, list[Line]] = {}  # by the number of the seed
        self._looks: dict[int, list[Line]] = {}
        self._means: dict[int, float] = {}
        self._read, self._file, self._first = 0, 0, b""

    def lines(self) -> list[Line]:
        """Each seed's evaluations and steps, thinned to what a figure can show; the best evaluation is always kept."""
        with self._lock:
            self._read_on()
            found: list[Line] = []
            for looks in self._looks.values():
                shown = _thinned(looks)
                best = next((look for look in reversed(looks) if look.get("best")), None)
                found += shown if best is None or best in shown else sorted([*shown, best], key=_step)
            for steps in self._steps.values():
                found += _thinned(steps)
            return found

    def looks(self, number: int = 1) -> list[Line]:
        """The evaluations of a seed; by default the first one's."""
        with self._lock:
            self._read_on()
            return list(self._looks.get(number, []))

    def _read_on(self) -> None:
        try:
            with self._path.open("rb") as file:
                about = self._path.stat()
                first = file.readline()
                # resuming rewrites the file up to the resumed step; another run may reuse the name
                if about.st_size < self._read or about.st_ino != self._file or first != self._first:
                    self._forget()
                    self._file, self._first = about.st_ino, first
                file.seek(self._read)
                new = file.read()
        except OSError:
            self._forget()
            return
        whole = new[: new.rfind(b"\n") + 1]  # the last line may be half-written
        self._read += len(whole)
        for line in whole.splitlines():
            with suppress(ValueError, KeyError, TypeError):  # a disk that was full leaves half a line in the middle
                self._take(json.loads(line))

    def _take(self, line: Line) -> None:
        number, step = line["number"], line["step"]
        if "loss" not in line:
            _put(self._looks.setdefault(number, []), line)
            return
        steps = self._steps.setdefault(number, [])
        if not steps or step <= steps[-1]["step"]:  # the first step, or a repeated one
            self._means[number] = line["loss"]
        newest = 2 / (1 + min(LONGEST, max(SHORTEST, len(steps) / 10)))
        mean = self._means[number] = (1 - newest) * self._means[number] + newest * line["loss"]
        _put(steps, {**line, "smooth": mean})


def _put(lines: list[Line], line: Line) -> None:
    """Add a line; it replaces lines of steps that are repeated after a resume."""
    while lines and lines[-1]["step"] >= line["step"]:
        lines.pop()
    lines.append(line)


def _step(line: Line) -> int:
    step: int = line["step"]
    return step


def _thinned(lines: list[Line]) -> list[Line]:
    """At most POINTS of the lines, evenly spaced, including the last one."""
    if len(lines) <= POINTS:
        return lines
    stride = -(-len(lines) // (POINTS - 1))
    kept = lines[::stride]
    return kept if kept[-1] is lines[-1] else [*kept, lines[-1]]


@st.cache_resource(max_entries=64, show_spinner=False)
def numbers(folder: Path) -> RunNumbers:
    """The cached metrics of a run; they reread the file if it is replaced."""
    return RunNumbers(folder)
