"""Progress of long work: a stage, and how much of it is done."""

import time
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from enum import StrEnum, auto
from typing import TypeVar

from explorer import fair_share, in_words

Result = TypeVar("Result")


class Phase(StrEnum):
    """A stage that code or a stored file depends on; `WORDS` has what a person reads."""

    ASKING_HUB = auto()
    BUILDING = auto()
    DOWNLOADING = auto()  # about a file
    ENCODING_TEXTS = auto()
    ENCODING_TOKENS = auto()
    EVALUATING_BASE = auto()
    EVALUATING_BEST = auto()
    EVALUATING_DEV = auto()
    EVALUATING_HELD_OUT = auto()
    EVALUATING_TEST_ROWS = auto()
    FITTING = auto()
    INDEXING = auto()
    LOADING = auto()  # about a model
    MEASURING_STEP = auto()
    MINING = auto()
    READING_TEXT = auto()
    RESUMING = auto()
    SAVING = auto()
    SEARCHING = auto()
    STARTING = auto()
    TRAINING = auto()

    def text(self, about: str = "") -> str:
        """The phase in words, with the name of what it is about."""
        return WORDS[self].format(about)


WORDS = {
    Phase.ASKING_HUB: "asking huggingface.co",
    Phase.BUILDING: "building the method",
    Phase.DOWNLOADING: "downloading {}",
    Phase.ENCODING_TEXTS: "encoding texts",
    Phase.ENCODING_TOKENS: "encoding tokens",
    Phase.EVALUATING_BASE: "evaluating the base",
    Phase.EVALUATING_BEST: "evaluating the best checkpoint",
    Phase.EVALUATING_DEV: "evaluating on the dev set",
    Phase.EVALUATING_HELD_OUT: "evaluating on held-out rows",
    Phase.EVALUATING_TEST_ROWS: "evaluating on the test rows",
    Phase.FITTING: "fitting",
    Phase.INDEXING: "building the index",
    Phase.LOADING: "loading {}",
    Phase.MEASURING_STEP: "measuring one step",
    Phase.MINING: "mining hard negatives",
    Phase.READING_TEXT: "reading the text",
    Phase.RESUMING: "resuming",
    Phase.SAVING: "saving the model",
    Phase.SEARCHING: "searching",
    Phase.STARTING: "starting",
    Phase.TRAINING: "training",
}


@dataclass(frozen=True)
class Progress:
    """A stage, and how much of it is done; a total of 0 means unknown."""

    stage: Phase | str  # a phase, or words that are only shown
    done: int
    total: int
    unit: str = ""  # "bytes" are shown as KB, MB or GB
    about: str = ""  # of a phase: a name, such as that of the model that is loaded
    note: str = ""  # a line to read before the work goes on, such as what is not read of the texts
    pause: float = 0.0  # seconds without anything to do here: the work goes on in another process

    @property
    def text(self) -> str:
        """The stage in words."""
        return self.stage.text(self.about) if isinstance(self.stage, Phase) else self.stage

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


def map_progress(work: Work[Result], change: Callable[[Progress], Progress | None]) -> Work[Result]:
    """Work that reports something else in place of each progress, and nothing in place of None."""
    try:
        while True:
            progress = change(next(work))
            if progress is not None:
                yield progress
    except StopIteration as end:
        result: Result = end.value
        return result
    finally:
        work.close()  # if it is stopped


def in_phase(work: Work[Result], phase: Phase) -> Work[Result]:
    """Work whose progress is of this phase, whatever it calls it."""
    return map_progress(work, lambda progress: Progress(phase, progress.done, progress.total))


def finish(work: Work[Result], tell: Callable[[Progress], object] = lambda progress: None) -> Result:
    """Run the work to its end, report its progress, and return its result."""
    while True:
        fair_share.adapt()
        try:
            progress = next(work)
        except StopIteration as end:
            result: Result = end.value
            return result
        tell(progress)
        if progress.pause:
            time.sleep(progress.pause)


@dataclass(eq=False)
class _Turn:
    """One of several works: when its next step is due, and its last progress."""

    work: Work[None]
    due: float = 0.0
    progress: Progress = field(default_factory=lambda: Progress(Phase.STARTING, 0, 0))


def side_by_side(works: Iterable[Work[None]], most: int) -> Work[None]:
    """Take steps of at most so many works in turn, and begin the next one, in order, when one has ended.

    A work that goes on in another process has its next step after its pause. The progress is that of the oldest. If
    this work is closed, or a step fails, all that are under way are closed.
    """
    waiting = iter(works)
    under_way: list[_Turn] = []
    try:
        while True:
            while len(under_way) < most and (work := next(waiting, None)) is not None:
                under_way.append(_Turn(work))
            if not under_way:
                return
            turn = min(under_way, key=lambda one: one.due)
            time.sleep(max(0.0, turn.due - time.monotonic()))
            try:
                turn.progress = next(turn.work)
            except StopIteration:
                under_way.remove(turn)
                continue
            turn.due = time.monotonic() + turn.progress.pause
            oldest, others = under_way[0].progress, len(under_way) - 1
            text = f"{oldest.text} (and {others} more at once)"
            yield replace(oldest, stage=text if others else oldest.stage, note=turn.progress.note, pause=0.0)
    finally:
        with ExitStack() as ends:  # all of them, also if one cannot end well
            for turn in under_way:
                ends.callback(turn.work.close)
