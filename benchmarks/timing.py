"""Time two things in turn, so that their ratio is reliable on a noisy machine."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def interleaved(things: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each thing, in turn, round after round: a slow minute of the machine hits all of them."""
    for thing in things.values():
        thing()  # once for caches and threads to be there
    seconds: dict[str, list[float]] = {name: [] for name in things}
    for _ in range(rounds):
        for name, thing in things.items():
            started = time.perf_counter()
            thing()
            seconds[name].append(time.perf_counter() - started)
    return seconds


def told(seconds: list[float]) -> str:
    """Median and range."""
    return f"{statistics.median(seconds):7.3f} s  ({min(seconds):.3f} to {max(seconds):.3f})"


def ratio(one: list[float], other: list[float]) -> float:
    """The median, over rounds, of one thing's time by the other's in the same round."""
    return statistics.median(a / b for a, b in zip(one, other, strict=True))
