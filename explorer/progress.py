"""How far is a long piece of work?"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True)
class Progress:
    """A stage by name, and how much of it is done; a total of 0 says that nobody knows."""

    stage: str
    done: int
    total: int
    unit: str = ""  # "bytes" are told as MB

    @property
    def amount(self) -> str:
        """`1,200 of 36,689`, `12.5 of 90.9 MB`; empty where the total is not known."""
        if not self.total:
            return ""
        if self.unit == "bytes":
            return f"{self.done / 1e6:.1f} of {self.total / 1e6:.1f} MB"
        return f"{self.done:,} of {self.total:,}"


# Long work is a generator: it yields Progress and returns its result; to stop it is to take no next step.
Work = Generator[Progress, None, Result]


def finish(work: Work[Result], tell: Callable[[Progress], object] = lambda progress: None) -> Result:
    """Do all of it, telling how far it is, and give its result."""
    while True:
        try:
            tell(next(work))
        except StopIteration as end:
            result: Result = end.value
            return result
