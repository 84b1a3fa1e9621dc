"""The tasks that models are scored on, by suite, and one function that scores a model on one of them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from explorer.data.graded import sts as published
from explorer.errors import BadChoice
from explorer.evaluating import sts
from explorer.evaluating.measured import Measured
from explorer.measuring.scores.measure import Load, Settings, load_encoder
from explorer.progress import Work

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found
    from explorer.encoding.read.encoder import Encoder


@dataclass(frozen=True)
class Options:
    """What decides the scores of a task besides model and data."""

    text: str = published.RAW  # of STS sets
    seeds: tuple[int, ...] = (1,)  # of classifiers
    online: bool = False


@dataclass(frozen=True, eq=False)
class Subject:
    """A model to score; its weights are loaded when the first task needs them."""

    found: Found
    settings: Settings = field(default_factory=Settings)
    load: Load = load_encoder

    @cached_property
    def encoder(self) -> Encoder:
        """The loaded model."""
        return self.load(self.found, self.settings)


Evaluate = Callable[[Subject, str, Options], Work[Measured]]


def _sts(subject: Subject, task: str, options: Options) -> Work[Measured]:
    pairs = published.load(task, "test", online=options.online, text=options.text)
    found = yield from sts.sts(
        subject.found, pairs, task, subject.settings, options.text, lambda found, settings: subject.encoder
    )
    return replace(found, task=column(task, options))


SUITES: Mapping[str, tuple[tuple[str, ...], Evaluate]] = {
    "sts": (sts.SEVEN, _sts),
    "sts-more": (sts.OTHERS, _sts),
}


def tasks_of(suite: str) -> tuple[str, ...]:
    """The tasks of a suite."""
    if suite not in SUITES:
        raise BadChoice(f"There is no suite '{suite}'. Choose one of {', '.join(SUITES)}.")
    return SUITES[suite][0]


def named(task: str) -> str:
    """The task with this name, ignoring case and punctuation."""
    known = {_plain(name): name for tasks, _ in SUITES.values() for name in tasks}
    if _plain(task) in known:
        return known[_plain(task)]
    near = difflib.get_close_matches(_plain(task), known, n=1, cutoff=0.7)
    hint = f" Did you mean '{known[near[0]]}'?" if near else ""
    raise BadChoice(f"There is no task '{task}'.{hint} There are: {', '.join(known.values())}.")


def evaluate(subject: Subject, task: str, options: Options) -> Work[Measured]:
    """Score a model on a task."""
    _, run = next(suite for suite in SUITES.values() if task in suite[0])
    return run(subject, task, options)


def column(task: str, options: Options) -> str:
    """The name of a task's results: with the text or classifier, if it is not the usual one."""
    sts_text = task in sts.TASKS and options.text != published.RAW
    return f"{task} ({options.text} text)" if sts_text else task


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))
