"""How far is a long piece of work?"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True)
class Progress:
    """A stage by name, and how much of it is done."""

    stage: str
    done: int
    total: int


# Long work is a generator: it yields Progress and returns its result; to stop it is to take no next step.
Work = Generator[Progress, None, Result]


def finish(work: Work[Result]) -> Result:
    """Do all of it, and give its result."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: Result = end.value
            return result
