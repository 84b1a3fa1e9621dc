"""The tasks that models are scored on, by suite, and one function that scores a model on one of them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from explorer.data.graded import question_pairs
from explorer.data.graded import sts as published
from explorer.data.labelled import labelled_sets
from explorer.data.tables.columns import guess, plain
from explorer.data.tables.files import read_file
from explorer.data.tables.text_rows import graded_pairs
from explorer.errors import BadChoice
from explorer.evaluating.encoded import titles_of
from explorer.evaluating.measured import Measured
from explorer.evaluating.tasks import search, sts, transfer, transfer_cost
from explorer.measuring.scores.measure import Load, Settings, load_encoder
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from explorer.data.kinds import GradedPairs
    from explorer.encoding.locate.model_names import Found
    from explorer.encoding.read.encoder import Encoder

Outcome = TypeVar("Outcome")

ALL = "all"  # in place of titles: every layer & pooling


@dataclass(frozen=True)
class Options:
    """What decides the scores of a task besides model and data."""

    text: str = published.RAW  # of STS sets
    probe: str = transfer.LOGISTIC
    seeds: tuple[int, ...] = (1,)  # of the probe
    index: str = "flat"  # of searches
    titles: tuple[str, ...] = ()  # for transfer and search; () for all, but of SentEval's slow probe the model default
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

    def loaded(self, found: Found, settings: Settings) -> Encoder:
        """The same, for work that loads a model when it has no stored scores."""
        return self.encoder

    def titles(self, options: Options) -> tuple[str, ...] | None:
        """The layers & poolings that were asked for; None for those that a task chooses."""
        return titles_of(self.encoder) if ALL in options.titles else options.titles or None


Evaluate = Callable[[Subject, str, Options], Work[Measured]]


def _sts(subject: Subject, task: str, options: Options) -> Work[Measured]:
    pairs = published.load(task, "test", online=options.online, text=options.text)
    return (yield from _scored_pairs(subject, pairs, task, options))


def _scored_pairs(subject: Subject, pairs: GradedPairs, task: str, options: Options) -> Work[Measured]:
    return (yield from sts.sts(subject.found, pairs, task, subject.settings, options.text, subject.loaded))


def _transfer(subject: Subject, task: str, options: Options) -> Work[Measured]:
    return (yield from _on_labelled(transfer.transfer, subject, task, options))


def _on_labelled(act: Callable[..., Work[Outcome]], subject: Subject, task: str, options: Options) -> Work[Outcome]:
    """Score or estimate a classification task, by a function with the parameters of both."""
    rows, _ = labelled_sets.load(task)
    yield Progress(f"loading {subject.found.name}", 0, 0)
    work = act(
        subject.encoder,
        rows,
        probe=options.probe,
        seeds=options.seeds,
        titles=subject.titles(options),
        max_length=subject.settings.max_length,
    )
    return (yield from work)


def cost(subject: Subject, task: str, options: Options) -> Work[transfer_cost.Cost]:
    """Estimate what a classification task takes, without evaluating it."""
    if task not in transfer.TASKS and not (_is_path(task) and _is_labelled(task)):
        raise BadChoice(f"Only classification tasks are estimated: {', '.join(transfer.TASKS)}, and labelled files.")
    return (yield from _on_labelled(transfer_cost.estimate, subject, task, options))


def _search(subject: Subject, task: str, options: Options) -> Work[Measured]:
    questions = question_pairs.load()
    yield Progress(f"loading {subject.found.name}", 0, 0)
    titles = subject.titles(options) or titles_of(subject.encoder)
    length = subject.settings.max_length or search.LENGTH
    work = search.search(subject.encoder, questions, titles=titles, index=options.index, max_length=length)
    return (yield from work)


def _own(subject: Subject, task: str, options: Options) -> Work[Measured]:
    """A file of the user: scored pairs, or labelled texts; a folder has labelled train and test files."""
    if _is_labelled(task):
        return (yield from _transfer(subject, task, options))
    table = read_file(Path(task).expanduser())
    pairs, _ = graded_pairs(table, guess(table))
    return (yield from _scored_pairs(subject, pairs, task, options))


def _is_labelled(task: str) -> bool:
    """Whether a path is that of labelled texts: a folder, or a file without scored pairs."""
    path = Path(task).expanduser()
    return path.is_dir() or guess(read_file(path)).kind != "graded pairs"


SUITES: Mapping[str, tuple[tuple[str, ...], Evaluate]] = {
    "sts": (sts.SEVEN, _sts),
    "transfer": (transfer.TASKS, _transfer),
    "search": ((question_pairs.TASK,), _search),
    "sts-more": (sts.OTHERS, _sts),
}


def tasks_of(suite: str) -> tuple[str, ...]:
    """The tasks of a suite."""
    if suite not in SUITES:
        raise BadChoice(f"There is no suite '{suite}'. Choose one of {', '.join(SUITES)}.")
    return SUITES[suite][0]


def named(task: str) -> str:
    """The task with this name, ignoring case and punctuation; a path of a file or folder stays as it is."""
    known = {plain(name): name for tasks, _ in SUITES.values() for name in tasks}
    if plain(task) in known:
        return known[plain(task)]
    if _is_path(task):
        return task
    near = difflib.get_close_matches(plain(task), known, n=1, cutoff=0.7)
    hint = f" Did you mean '{known[near[0]]}'?" if near else ""
    raise BadChoice(f"There is neither a task nor a file '{task}'.{hint} There are: {', '.join(known.values())}.")


def evaluate(subject: Subject, task: str, options: Options) -> Work[Measured]:
    """Score a model on a task."""
    run = next((run for tasks, run in SUITES.values() if task in tasks), _own)
    measured = yield from run(subject, task, options)
    return replace(measured, task=column(task, options))


def column(task: str, options: Options) -> str:
    """The name of a task's results: with the text, probe or index, if it is not the usual one."""
    usual = Options()
    if task in sts.TASKS and options.text != usual.text:
        return f"{task} ({options.text} text)"
    if task in transfer.TASKS and options.probe != usual.probe:
        return f"{task} (SentEval's MLP)"
    if task == question_pairs.TASK and options.index != usual.index:
        return f"{task} ({options.index.upper()})"
    known = any(task in tasks for tasks, _ in SUITES.values())
    return task if known else Path(task).name


def _is_path(task: str) -> bool:
    try:
        return Path(task).expanduser().exists()
    except (OSError, RuntimeError, ValueError):  # too long, no such user, a null byte
        return False
