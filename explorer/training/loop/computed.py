"""What a training computes with, on which the last bits of its weights depend, and how far its repeats differ."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from explorer import fair_share
from explorer.encoding.load import hardware

if TYPE_CHECKING:
    from explorer.training.recipe import Recipe

THREADS, PROCESSOR = "threads", "processor"  # in what a recipe was made with, and in the state of a run
# Points of Spearman × 100 by which repeats of a recipe differed from one another at most, with other numbers of threads
# or other instructions of the processor: docs/results.md ("Repeats of a recipe").
REPEATS_DIFFER = {"float32": 0.01, "bfloat16": 0.4}
DIFFER = "repeats differ by up to {:g} in Spearman"
UNKNOWN = "how far repeats differ was not measured on {}"
OVERRULED = "OMP_NUM_THREADS is {}, but the recipe was made with {}, which the run keeps"
REFUSED = "the recipe was made with {}, of which this process can use {}"


@dataclass(frozen=True)
class Computed:
    """The threads and the processor that a run computes with, and those that its recipe was made with if it had others.

    With the same ones, and the same versions of libraries, a repeat has the same bytes.
    """

    threads: int
    processor: str
    device: str
    precision: str
    made_with_threads: int | None = None
    made_on: str = ""

    @classmethod
    def by(cls, then: Mapping[str, Any], device: str, precision: str) -> Computed:
        """Those of this process, for a recipe that was made with something."""
        now = made_with({}, device)
        other = {name: then[name] for name in now if then.get(name, now[name]) != now[name]}
        others = other.get(THREADS), other.get(PROCESSOR, "")
        return cls(now[THREADS], now[PROCESSOR], device, precision, *others)

    @property
    def words(self) -> str:
        """`2 threads of AMD EPYC (AVX512); with others, repeats differ by up to 0.4 in Spearman`."""
        found = f"{_threads(self.threads)} of {self.processor}"
        cpu = self.device == "cpu"
        points = REPEATS_DIFFER.get(self.precision, max(REPEATS_DIFFER.values()))
        differ = DIFFER.format(points) if cpu else UNKNOWN.format(self.device)
        if self.of_run == self.threads and not self.made_on:
            return f"{found}; with others, {differ}"
        return (
            f"{found}; its recipe was made with {_threads(self.of_run)} of {self.made_on or self.processor}: {differ}"
        )

    @property
    def of_run(self) -> int:
        """The number of threads that the run keeps, where a process can use so many."""
        return self.made_with_threads or self.threads

    def reports(self, then: Mapping[str, Any]) -> Iterator[str]:
        """What the log says: what this process computes with, and where that is not what was asked for.

        `then` is what the recipe was made with before this process began.
        """
        yield f"computes with {self.words}"
        asked = os.environ.get(fair_share.STATED, "")
        if self.of_run != self.threads:
            yield REFUSED.format(_threads(self.of_run), self.threads)
        elif THREADS in then and asked and asked != str(self.threads):
            yield OVERRULED.format(asked, _threads(self.threads))


def made_with(then: Mapping[str, Any], device: str) -> dict[str, Any]:
    """What a recipe states of it: what its run began with, otherwise what this process computes with."""
    now = {THREADS: fair_share.in_effect(), PROCESSOR: hardware.processor(device)}
    return {name: then.get(name, value) for name, value in now.items()}


def threads_of(recipe: Recipe) -> int:
    """The number of threads that a run of a recipe keeps from its first step on, and that its trial steps have too."""
    stated: int | None = recipe.made_with.get(THREADS)
    return stated or fair_share.at_start()


def _threads(number: int) -> str:
    return "1 thread" if number == 1 else f"{number:,} threads"
