"""What came of killing a run at some of its points, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """What came of the points of a method in one way: their number, how many were tried, and the faults."""

    method: str
    way: str
    points: int
    tried: int
    faults: list[str]
    seconds: float


def spread(points: int, most: int) -> list[int]:
    """So many of some points at equal distances (0: all)."""
    if not 0 < most < points:
        return list(range(points))
    return sorted({int((number + 0.5) * points / most) for number in range(most)})


def heading(seconds: str = "CPU s") -> None:
    """Print the head of the table."""
    print(f"{'method':<16}{'way':<20}{'points':>8}{'tried':>8}{'faults':>8}{seconds:>8}", flush=True)


def show(one: Outcome) -> None:
    """Print a row of it, and its faults."""
    print(f"{one.method:<16}{one.way:<20}{one.points:>8}{one.tried:>8}{len(one.faults):>8}{one.seconds:>8.0f}")
    print("".join(f"  {fault}\n" for fault in one.faults), end="", flush=True)


def verdict(found: Sequence[Outcome]) -> int:
    """Say whether all is well; 1 if it is not."""
    faults = sum(len(one.faults) for one in found)
    print("All runs ended as the unbroken ones did." if not faults else f"{faults} faults.")
    return 1 if faults else 0
