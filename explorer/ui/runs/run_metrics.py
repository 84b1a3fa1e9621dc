"""What has a run measured so far? Its metrics are read on from where the last look ended, never twice.

A run of many hours writes megabytes, and a page looks every second.
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
# steps a smoothed loss looks back on: a tenth of those so far, within these bounds
SHORTEST, LONGEST = 5, 200

Line = dict[str, Any]


class RunNumbers:
    """The lines of a run's metrics: of steps, with a smoothed loss, and of looks at the development pairs."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / METRICS
        self._lock = threading.Lock()  # several tabs may look at once
        self._forget()

    def _forget(self) -> None:
        self._steps: dict[int, list[Line]] = {}  # by the number of the seed
        self._looks: dict[int, list[Line]] = {}
        self._means: dict[int, float] = {}
        self._read, self._file, self._first = 0, 0, b""

    def lines(self) -> list[Line]:
        """Of each seed's looks and steps as many as a figure can show, the best look among them."""
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
        """The looks of a seed, the first one's unless it is said."""
        with self._lock:
            self._read_on()
            return list(self._looks.get(number, []))

    def _read_on(self) -> None:
        try:
            with self._path.open("rb") as file:
                about = self._path.stat()
                first = file.readline()
                # a resumed run's lines are written anew, up to where it goes on; another run may have the same name
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
        if not steps or step <= steps[-1]["step"]:  # the first, or one that is made again
            self._means[number] = line["loss"]
        newest = 2 / (1 + min(LONGEST, max(SHORTEST, len(steps) / 10)))
        mean = self._means[number] = (1 - newest) * self._means[number] + newest * line["loss"]
        _put(steps, {**line, "smooth": mean})


def _put(lines: list[Line], line: Line) -> None:
    """Add a line; those of steps that are made again, since no state was kept, give way."""
    while lines and lines[-1]["step"] >= line["step"]:
        lines.pop()
    lines.append(line)


def _step(line: Line) -> int:
    step: int = line["step"]
    return step


def _thinned(lines: list[Line]) -> list[Line]:
    """At most POINTS of the lines, evenly, the last one among them."""
    if len(lines) <= POINTS:
        return lines
    stride = -(-len(lines) // (POINTS - 1))
    kept = lines[::stride]
    return kept if kept[-1] is lines[-1] else [*kept, lines[-1]]


@st.cache_resource(max_entries=64, show_spinner=False)
def numbers(folder: Path) -> RunNumbers:
    """What a run has measured; it reads on in the file by itself, and anew when there is another one in its place."""
    return RunNumbers(folder)
