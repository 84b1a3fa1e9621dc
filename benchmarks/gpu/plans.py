"""Measure a plan of short trainings, several at once and one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.at_once import RUNS, in_turn
from benchmarks.gpu.models import shaped
from benchmarks.gpu.parts import Row, Setting

SHARE = 0.35  # of the time of one after the other, which all at once should take


def at_once(setting: Setting) -> Iterator[Row]:
    """The times of both, and whether the runs have the same test scores."""
    model, runs = shaped(setting, "MiniLM"), 2 if setting.dry else RUNS
    found = in_turn(Path(setting.folder), setting.device, 1, str(model.folder), runs)
    yield Row(f"{model.name}, float32: {runs} trainings", f"{found.words} (goal {SHARE})")
    # processes of their own, and other threads on a processor, may round otherwise
    yield Row("test scores", f"apart by at most {found.apart:.4f}", found.apart <= 0.01)
