"""Score several models on several tasks, save each result at once, and collect what is missing or fails.

A model on a task is a cell. Its saved result with the same key is not measured again; a model that fails does not keep
the others from being scored.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import Any, TypeVar

import numpy as np

from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.errors import DataError, ModelError, NotWritable, StrataError
from explorer.evaluating import task_prompts
from explorer.evaluating.encoded import TaskCost
from explorer.evaluating.results import result_files, scored_task
from explorer.evaluating.results.result_files import Result, ScoredModel
from explorer.evaluating.results.scored_task import EVALUATED, Measured, Options, ScoredTask, Setting, SoFar, unscored
from explorer.evaluating.tasks import Subject, Task, column_of, load
from explorer.evaluating.tasks.word_models import WordSubject
from explorer.measuring.scores.measure import Settings
from explorer.measuring.sentences.cut_texts import CutTexts
from explorer.progress import Progress, Work, map_progress

KEEP_EVERY = 10.0  # seconds between two results so far that are saved

Outcome = TypeVar("Outcome")
AnySubject = Subject | WordSubject
Models = Sequence[tuple[ScoredModel, AnySubject]]
Sets = dict[str, Task[Any] | DataError]  # each task with its data, or why there is none


@dataclass(frozen=True, eq=False)
class Cell:
    """A model, a task, and the saved result with the same key."""

    model: ScoredModel
    subject: AnySubject
    task: Task[Any]
    options: Options
    scored: ScoredTask
    wanted: tuple[str, ...]  # layers & poolings
    saved: Result | None

    @property
    def lacking(self) -> tuple[str, ...]:
        """The layers & poolings to measure; empty if the saved result has all."""
        known = self.saved.measured.titles if self.saved and not self.options.again else ()
        return tuple(title for title in self.wanted if title not in known)

    def reused(self) -> Result | None:
        """The saved result, if nothing is to be measured."""
        return None if self.saved is None or self.lacking else self._narrowed(self.saved)

    def measured(self) -> Work[tuple[Result, Result]]:
        """Measure what is lacking; the result that was asked for, and the whole one to save.

        Of long work, what is measured so far is saved now and then: if it is stopped, it goes on from there.
        """
        cut = self.cut()
        if cut is not None and cut.text:
            yield Progress(f"counting tokens of {self.task.name}", 0, 0, note=f"{self.labels}: {cut.text}")
        work = self.subject.score(self.task, replace(self.options, titles=self.lacking))
        last, unsaved = time.monotonic(), None
        try:
            while True:
                progress = next(work)
                unsaved = progress.measured if isinstance(progress, SoFar) else unsaved
                if unsaved is not None and time.monotonic() - last >= KEEP_EVERY:
                    self._save(unsaved)
                    last, unsaved = time.monotonic(), None
                yield progress
        except StopIteration as end:
            whole = self._joined(replace(end.value, cut=cut, setting={**end.value.setting, **self._prompt}))
            return self._narrowed(whole), whole
        except GeneratorExit:  # it is stopped
            if unsaved is not None:
                self._save(unsaved)
            raise
        finally:
            work.close()

    @property
    def _prompt(self) -> dict[str, Setting]:
        """The text of a prompt that was chosen for the task."""
        prompt = self.subject.found.prompt if isinstance(self.subject, Subject) else None
        return {} if prompt is None else {"prompt": prompt}

    def _save(self, so_far: Measured) -> None:
        with suppress(NotWritable):  # the work goes on; the whole result is written too, and its error shown
            result_files.write(self._joined(so_far))

    def _joined(self, new: Measured) -> Result:
        """New scores together with the saved ones of the same key."""
        if self.saved is not None:
            new = joined(self.saved.measured, new, self.subject.every_title)
        return Result(self.model, self.scored, new)

    @property
    def labels(self) -> str:
        """The task and the model, for a message."""
        return f"{self.scored.name}, {self.model.name}"

    def cut(self) -> CutTexts | None:
        """How many texts are longer than the model reads of them; None for a model without a transformer."""
        return None if isinstance(self.subject, WordSubject) else self.task.cut(self.subject, self.options)

    def cost(self) -> Work[TaskCost | None]:
        """Estimate what the lacking layers & poolings take; None for a model without a transformer."""
        cost = yield from self.subject.cost(self.task, replace(self.options, titles=self.lacking))
        return None if cost is None else replace(cost, cut=self.cut())

    def _narrowed(self, result: Result) -> Result:
        """The result with the wanted layers & poolings and the model default alone."""
        measured, wanted = result.measured, {*self.wanted, MODEL_DEFAULT}
        at = [place for place, title in enumerate(measured.titles) if title in wanted]
        titles = tuple(measured.titles[place] for place in at)
        return replace(result, measured=replace(measured, titles=titles, table=measured.table[at]))


def cell_of(model: ScoredModel, subject: AnySubject, task: Task[Any] | DataError, options: Options) -> Cell:
    """Look for the saved result of a model on a task; an error if the task has no data, or not for this model."""
    if isinstance(task, DataError):
        raise task
    wanted, scored = subject.titles(task, options), task.key(options, subject.settings)
    if isinstance(subject, Subject):
        subject, options = task_prompts.prompted(subject, task, options)
    return Cell(model, subject, task, options, scored, wanted, result_files.saved(model, scored))


def loaded(tasks: Sequence[str], options: Options) -> Sets:
    """The data of each task, loaded once for all models."""
    found: Sets = {}
    for task in tasks:
        try:
            found[task] = load(task, options)
        except DataError as error:
            found[task] = error
    return found


def columns(sets: Sets, options: Options, settings: Settings) -> dict[str, ScoredTask]:
    """Each task as results identify it; one without data, of which no result can be, by its name."""
    return {
        name: unscored(name, *column_of(name)) if isinstance(task, DataError) else task.key(options, settings)
        for name, task in sets.items()
    }


def joined(old: Measured, new: Measured, order: Sequence[str]) -> Measured:
    """The layers & poolings of two results with one key, in this order, others before the model default; where both
    have one, the new scores count."""
    if (old.measures, old.seeds) != (new.measures, new.seeds):
        return new
    rows = {of.titles[at]: of.table[at] for of in (old, new) for at in range(len(of.titles))}
    places = {title: place for place, title in enumerate(order)} | {MODEL_DEFAULT: len(rows) + len(order)}
    titles = tuple(sorted(rows, key=lambda title: places.get(title, len(order))))
    return replace(new, titles=titles, table=np.array([rows[title] for title in titles]))


@dataclass(frozen=True, eq=False)
class EvaluationResult:
    """The results, or what it takes to measure them, which were saved already, and in words what cannot be scored."""

    results: tuple[Result, ...]
    reused: tuple[Result, ...]  # those that were saved before
    missing: tuple[str, ...]  # tasks without data
    failed: tuple[str, ...]  # models, with the error
    columns: tuple[ScoredTask, ...]  # the tasks, each once
    repeated: tuple[str, ...] = ()  # tasks with the data of an earlier one, in words
    costs: tuple[tuple[str, str, TaskCost | None], ...] = ()  # with model and label of the task; None: no transformer

    def and_(self, more: EvaluationResult) -> EvaluationResult:
        """Both evaluations as one."""
        return EvaluationResult(*(getattr(self, one.name) + getattr(more, one.name) for one in fields(self)))

    @property
    def seconds(self) -> float:
        """The expected time of all costs."""
        return sum(cost.seconds for _, _, cost in self.costs if cost)

    @property
    def at_most(self) -> float:
        """The time if no training of a classifier stops early."""
        return sum(cost.at_most for _, _, cost in self.costs if cost)


@dataclass
class _Failures:
    """What could not be scored, by its message."""

    missing: dict[str, None] = field(default_factory=dict)
    failed: dict[tuple[str, str], list[str]] = field(default_factory=dict)  # tasks by model and message
    unusable: dict[ScoredModel, ModelError] = field(default_factory=dict)

    @contextmanager
    def kept(self, model: ScoredModel, task: str) -> Iterator[None]:
        """Keep an error of the block, and go on."""
        try:
            yield
        except DataError as error:
            self.missing[str(error)] = None
        except StrataError as error:
            if isinstance(error, ModelError):
                self.unusable[model] = error
            self.failed.setdefault((model.name, str(error)), []).append(task)

    def check_usable(self, model: ScoredModel) -> None:
        """Raise if the model could not be loaded before: it would take as long to fail again."""
        if model in self.unusable:
            raise self.unusable[model]

    def in_words(self, tasks: int) -> tuple[str, ...]:
        """Each model with its error, and the tasks if there are others without it."""
        where = {key: "" if len(of) == tasks else f" ({', '.join(of)})" for key, of in self.failed.items()}
        return tuple(f"{name}{where[name, message]}: {message}" for name, message in self.failed)


def evaluation(
    models: Models, tasks: Sequence[str], options: Options, share: slice = slice(None), sets: Sets | None = None
) -> Work[EvaluationResult]:
    """Score every model on every task; a task without its data is left out and named, as is a model that fails.

    Of several processes, each takes its `share` of the cells (model × task). Data that is `loaded` is not read again.
    """
    results: list[Result] = []
    reused: list[Result] = []
    failures, sets = _Failures(), loaded(tasks, options) if sets is None else sets
    cells = list(product(models, sets))[share]
    for done, ((model, subject), task) in enumerate(cells):
        yield Progress(f"{model.name}: {task}", done, len(cells))
        whole = None
        with failures.kept(model, task):
            one = cell_of(model, subject, sets[task], options)
            found = one.reused()
            if found is not None:
                reused.append(found)
                # a result of the same files and data may be saved under another name of the model only
                whole = None if result_files.path_of(model, one.scored).exists() else one.saved
            else:
                failures.check_usable(model)
                found, whole = yield from with_name(
                    one.measured(), f"{model.name}, {task} ({done + 1} of {len(cells)})"
                )
            results.append(found)
        if whole is not None:
            result_files.write(whole)  # a disk that cannot be written to ends the evaluation
        if all(other is not subject for (_, other), _ in cells[done + 1 :]):
            subject.unload()  # the next model needs the memory
    scored_on, repeated = _columns(models, sets, options)
    return EvaluationResult(
        tuple(results), tuple(reused), tuple(failures.missing), failures.in_words(len(sets)), scored_on, repeated
    )


def _columns(models: Models, sets: Sets, options: Options) -> tuple[tuple[ScoredTask, ...], tuple[str, ...]]:
    """The tasks under the settings of the models, equal ones once, and in words which are equal to an earlier one."""
    found: dict[str, ScoredTask] = {}
    repeated: dict[str, None] = {}
    for settings in dict.fromkeys(subject.settings for _, subject in models) or (EVALUATED,):
        for task, one in columns(sets, options, settings).items():
            first = found.setdefault(one.digest, one)
            if first is not one:
                repeated[f"{task} has the same data as {first.folder}/{first.name}: both are one column."] = None
    return tuple(found.values()), tuple(repeated)


def forecast(models: Models, tasks: Sequence[str], options: Options) -> Work[EvaluationResult]:
    """Estimate what an evaluation takes, from a short trial of each result that is not saved."""
    costs: dict[str, tuple[str, str, TaskCost | None]] = {}  # by the key of the result, which is measured once
    reused: list[Result] = []
    failures, sets = _Failures(), loaded(tasks, options)
    scored_on, repeated = _columns(models, sets, options)
    labels = scored_task.labels(scored_on)
    cells = list(product(models, sets))
    for done, ((model, subject), task) in enumerate(cells):
        yield Progress(f"{model.name}: {task}", done, len(cells))
        with failures.kept(model, task):
            one = cell_of(model, subject, sets[task], options)
            saved = one.reused()
            if saved is not None:
                reused.append(saved)
            else:
                failures.check_usable(model)
                cost = yield from one.cost()
                costs[one.scored.key(model.digest)] = model.name, labels[one.scored.digest], cost
        if (done + 1) % len(sets) == 0:
            subject.unload()
    missing, failed = tuple(failures.missing), failures.in_words(len(sets))
    return EvaluationResult((), tuple(reused), missing, failed, scored_on, repeated, tuple(costs.values()))


def with_name(work: Work[Outcome], name: str) -> Work[Outcome]:
    """Work whose stages begin with a name, such as that of the model that is measured."""
    return map_progress(work, lambda progress: replace(progress, stage=f"{name}: {progress.text}"))
