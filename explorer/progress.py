"""Progress of long work: a stage, and how much of it is done."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeVar

from explorer import fair_share, in_words

Result = TypeVar("Result")


@dataclass(frozen=True)
class Progress:
    """A stage by name, and how much of it is done; a total of 0 means unknown."""

    stage: str
    done: int
    total: int
    unit: str = ""  # "bytes" are shown as KB, MB or GB

    @property
    def amount(self) -> str:
        """`1,200 of 36,689`, `12.5 MB of 90.9 MB`; empty if the total is unknown."""
        if not self.total:
            return ""
        if self.unit == "bytes":
            return f"{in_words.size(self.done)} of {in_words.size(self.total)}"
        return f"{self.done:,} of {self.total:,}"


# Long work is a generator: it yields Progress and returns its result; to stop it, take no next step.
Work = Generator[Progress, None, Result]


def finish(work: Work[Result], tell: Callable[[Progress], object] = lambda progress: None) -> Result:
    """Run the work to its end, report its progress, and return its result."""
    while True:
        fair_share.adapt()
        try:
            tell(next(work))
        except StopIteration as end:
            result: Result = end.value
            return result
