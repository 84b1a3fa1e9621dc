"""What a training computes on, by which repeats may differ in the last bits, and what its steps take of the device."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from explorer import fair_share, in_words
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
SAMPLED_EVERY = 1.0  # seconds: a driver says how busy a GPU was in about the last one


@dataclass(frozen=True)
class Computed:
    """The threads and the processor that a run computes with, and those that its recipe was made with if it had others.

    With the same ones, and the same versions of libraries, a repeat has the same bytes. `name` is the processor as
    people call it; runs of earlier versions have none.
    """

    threads: int
    processor: str
    device: str
    precision: str
    made_with_threads: int | None = None
    made_on: str = ""
    name: str = ""

    @classmethod
    def by(cls, then: Mapping[str, Any], device: str, precision: str) -> Computed:
        """Those of this process, for a recipe that was made with something."""
        now = made_with({}, device)
        other = {name: then[name] for name in now if then.get(name, now[name]) != now[name]}
        others = other.get(THREADS), other.get(PROCESSOR, "")
        return cls(now[THREADS], now[PROCESSOR], device, precision, *others, name=hardware.device_name(device))

    @property
    def where(self) -> str:
        """`AMD EPYC 9R14, float32, 2 threads`, `NVIDIA H100 80GB HBM3, bfloat16`."""
        return self._of(self.name or self.processor)

    @property
    def words(self) -> str:
        """`AMD EPYC 9R14 (AVX512), float32, 2 threads; with others, repeats differ by up to 0.01 in Spearman`."""
        found = self._of(self.processor)
        cpu = self.device == "cpu"
        points = REPEATS_DIFFER.get(self.precision, max(REPEATS_DIFFER.values()))
        differ = DIFFER.format(points) if cpu else UNKNOWN.format(hardware.KINDS.get(self.device, self.device))
        if self.of_run == self.threads and not self.made_on:
            return f"{found}; with others, {differ}"
        return (
            f"{found}; its recipe was made with {_threads(self.of_run)} of {self.made_on or self.processor}: {differ}"
        )

    @property
    def of_run(self) -> int:
        """The number of threads that the run keeps, where a process can use so many."""
        return self.made_with_threads or self.threads

    def as_json(self) -> dict[str, Any]:
        """Device, precision and, of a processor, the threads."""
        found = {"device": self.name or self.processor, "precision": self.precision}
        return found | ({THREADS: self.threads} if self.device == "cpu" else {})

    def reports(self, then: Mapping[str, Any]) -> Iterator[str]:
        """What the log says: what this process computes with, and where that is not what was asked for.

        `then` is what the recipe was made with before this process began.
        """
        yield f"computes on {self.words}"
        asked = os.environ.get(fair_share.STATED, "")
        if self.of_run != self.threads:
            yield REFUSED.format(_threads(self.of_run), self.threads)
        elif THREADS in then and asked and asked != str(self.threads):
            yield OVERRULED.format(asked, _threads(self.threads))

    def _of(self, name: str) -> str:
        """What has this name, the precision and, of a processor, the threads."""
        return ", ".join([name, self.precision, *([_threads(self.threads)] if self.device == "cpu" else [])])


def planned(recipe: Recipe) -> Computed:
    """What a run of a recipe would compute on here; an error if this machine has no such device."""
    device = hardware.device(recipe.device)
    precision, name = hardware.precision(recipe.precision, device), hardware.device_name(device)
    return Computed(threads_of(recipe), hardware.processor(device), device, precision, name=name)


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


@dataclass(frozen=True)
class Speed:
    """The steps of a training and the seconds that they took, without evaluations; of several seeds, of all."""

    steps: int
    rows: int
    seconds: float

    @property
    def words(self) -> str:
        """`12.3 steps and 197 rows a second`."""
        steps, rows = self._rates
        return f"{_rate(steps)} steps and {_rate(rows)} rows a second"

    def as_json(self) -> dict[str, Any]:
        """The steps and the rows a second."""
        steps, rows = self._rates
        return {"steps_a_second": round(steps, 3), "rows_a_second": round(rows, 3)} if self.seconds > 0 else {}

    @property
    def _rates(self) -> tuple[float, float]:
        """Both a second; NaN if a damaged file states no seconds."""
        return (self.steps / self.seconds, self.rows / self.seconds) if self.seconds > 0 else (math.nan, math.nan)


@dataclass(frozen=True)
class PeakMemory:
    """The most bytes that a training held of the memory of a GPU."""

    bytes: int

    @property
    def words(self) -> str:
        """`3.2 GB`."""
        return in_words.size(self.bytes)

    def as_json(self) -> dict[str, Any]:
        """The bytes."""
        return {"peak_memory": self.bytes}


@dataclass(frozen=True)
class Busy:
    """The share of the time in which a GPU computed while a training made its steps, and how often it was asked."""

    share: float
    samples: int

    @property
    def words(self) -> str:
        """`83 % of the time`."""
        return f"{in_words.percent(self.share)} of the time"

    def as_json(self) -> dict[str, Any]:
        """The share, from 0 to 1."""
        return {"busy": round(self.share, 3)}


class DeviceMeter:
    """Measure what the steps of a training take of its device: time, memory, and how busy it is.

    What earlier processes of the run have measured is added by `go_on_from`.
    """

    def __init__(self, device: str) -> None:
        self._device = device
        self._held = hardware.held_memory(device)  # by models of pages
        self._before = Speed(0, 0, 0.0)
        self._steps, self._rows, self._seconds = 0, 0, 0.0
        self._since: float | None = None
        self._peak = 0
        self._shares, self._samples = 0.0, 0
        self._sampled = -math.inf

    def go_on_from(self, speed: Speed | None, peak: PeakMemory | None, busy: Busy | None) -> None:
        """Add to what earlier processes of the run have measured: the largest peak, and the speed of the whole."""
        self._before = speed or self._before
        self._peak = peak.bytes if peak else 0
        self._shares, self._samples = (busy.share * busy.samples, busy.samples) if busy else (0.0, 0)

    def begin(self) -> None:
        """A step begins; the clock goes on if those before it are not fetched yet: a GPU may still compute them."""
        if self._since is None:
            self._since = time.monotonic()
            if not self._steps:  # what was tried before the first step is no part of the training
                hardware.reset_peak(self._device)

    def fetched(self, steps: int, rows: int) -> None:
        """The device has done so many steps since the last fetch, with so many rows in all."""
        if self._since is None:
            return
        now = time.monotonic()
        self._seconds += now - self._since
        self._steps, self._rows, self._since = self._steps + steps, self._rows + rows, None
        if now - self._sampled >= SAMPLED_EVERY:
            self._sampled = now
            share = hardware.busy_share(self._device)
            if share is not None:
                self._shares, self._samples = self._shares + share, self._samples + 1

    @property
    def speed(self) -> Speed | None:
        """The speed of all steps of the run so far; None before the first one."""
        before, seconds = self._before, self._before.seconds + self._seconds
        return Speed(before.steps + self._steps, before.rows + self._rows, seconds) if seconds else None

    @property
    def peak(self) -> PeakMemory | None:
        """The most memory that the run held so far; None on a device that does not count it."""
        if self._steps:
            self._peak = max(self._peak, hardware.peak_memory(self._device) - self._held)
        return PeakMemory(self._peak) if self._peak > 0 else None

    @property
    def busy(self) -> Busy | None:
        """How busy the device was; None if its driver does not say, or says that nothing was ever computed."""
        return Busy(self._shares / self._samples, self._samples) if self._shares else None


def _rate(number: float) -> str:
    """A number a second, to three digits: `0.21`, `12.3`, `1,970`."""
    return f"{number:,.0f}" if number >= 99.95 else f"{number:.3g}"
