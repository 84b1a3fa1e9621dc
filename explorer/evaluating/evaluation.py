"""Score several models on several tasks, save each result at once, and collect what is missing or fails.

A result that is saved already is not measured again. A model that fails does not keep the others from being scored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import TypeVar

from explorer.errors import DataError, ModelError, StrataError
from explorer.evaluating.cells import AnySubject, Sets, cell, columns, loaded
from explorer.evaluating.measured import TaskCost
from explorer.evaluating.results import result_files, task_labels
from explorer.evaluating.results.result_files import Result, ScoredModel
from explorer.evaluating.results.scored_task import EVALUATED, Options, ScoredTask
from explorer.progress import Progress, Work

Outcome = TypeVar("Outcome")
Models = Sequence[tuple[ScoredModel, AnySubject]]


@dataclass(frozen=True, eq=False)
class EvaluationResult:
    """The results, which of them were saved already, and in words what could not be scored."""

    results: tuple[Result, ...]
    reused: tuple[Result, ...]  # those of `results` that were not measured now
    missing: tuple[str, ...]  # tasks without data
    failed: tuple[str, ...]  # models, with the error
    columns: tuple[ScoredTask, ...]  # the tasks, each once
    repeated: tuple[str, ...] = ()  # tasks with the data of an earlier one, in words

    def and_(self, more: EvaluationResult) -> EvaluationResult:
        """Both evaluations as one."""
        return EvaluationResult(*(getattr(self, one.name) + getattr(more, one.name) for one in fields(self)))


@dataclass(frozen=True, eq=False)
class Forecast:
    """What an evaluation would measure, and how long that takes."""

    costs: tuple[tuple[str, str, TaskCost | None], ...]  # with model and label of the task; None: no transformer
    reused: int
    missing: tuple[str, ...]
    failed: tuple[str, ...]

    @property
    def seconds(self) -> float:
        """The expected time of all."""
        return sum(cost.seconds for _, _, cost in self.costs if cost)

    @property
    def at_most(self) -> float:
        """The time if no training of a classifier stops early."""
        return sum(cost.at_most for _, _, cost in self.costs if cost)


@dataclass
class _Told:
    """What could not be scored, by its message."""

    missing: dict[str, None] = field(default_factory=dict)
    failed: dict[tuple[str, str], list[str]] = field(default_factory=dict)  # tasks by model and message
    unusable: dict[ScoredModel, ModelError] = field(default_factory=dict)

    @contextmanager
    def of(self, model: ScoredModel, task: str) -> Iterator[None]:
        """Keep an error in what is done inside, and go on."""
        try:
            yield
        except DataError as error:
            self.missing[str(error)] = None
        except StrataError as error:
            if isinstance(error, ModelError):
                self.unusable[model] = error
            self.failed.setdefault((model.name, str(error)), []).append(task)

    def usable(self, model: ScoredModel) -> None:
        """An error if the model could not be loaded before: it would take as long to fail again."""
        if model in self.unusable:
            raise self.unusable[model]

    def failures(self, tasks: int) -> tuple[str, ...]:
        """Each model with its error, and the tasks if there are others without it."""
        where = {key: "" if len(of) == tasks else f" ({', '.join(of)})" for key, of in self.failed.items()}
        return tuple(f"{name}{where[name, message]}: {message}" for name, message in self.failed)


def evaluation(
    models: Models, tasks: Sequence[str], options: Options, share: slice = slice(None)
) -> Work[EvaluationResult]:
    """Score every model on every task; a task without its data is left out and named, as is a model that fails.

    Of several processes, each takes its `share` of the cells (model × task).
    """
    results: list[Result] = []
    reused: list[Result] = []
    told, sets = _Told(), loaded(tasks, options)
    cells = list(product(models, sets))[share]
    for done, ((model, subject), task) in enumerate(cells):
        yield Progress(f"{model.name}: {task}", done, len(cells))
        whole = None
        with told.of(model, task):
            one = cell(model, subject, sets[task], options)
            found = one.reused()
            if found is not None:
                reused.append(found)
                # a result of the same files and data may be saved under another name of the model only
                whole = None if result_files.path_of(model, one.scored).exists() else one.saved
            else:
                told.usable(model)
                found, whole = yield from _named(one.measured(), f"{model.name}, {task} ({done + 1} of {len(cells)})")
            results.append(found)
        if whole is not None:
            result_files.write(whole)  # a disk that cannot be written to ends the evaluation
        if all(other is not subject for (_, other), _ in cells[done + 1 :]):
            subject.unload()  # the next model needs the memory
    scored_on, repeated = _columns(models, sets, options)
    return EvaluationResult(
        tuple(results), tuple(reused), tuple(told.missing), told.failures(len(sets)), scored_on, repeated
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


def _named(work: Work[Outcome], name: str) -> Work[Outcome]:
    """The same work, whose stages say what is measured."""
    try:
        while True:
            progress = next(work)
            yield replace(progress, stage=f"{name}: {progress.text}")
    except StopIteration as end:
        found: Outcome = end.value
        return found
    finally:
        work.close()  # if it is stopped


def forecast(models: Models, tasks: Sequence[str], options: Options) -> Work[Forecast]:
    """Estimate what an evaluation takes, from a short trial of each result that is not saved."""
    costs: dict[str, tuple[str, str, TaskCost | None]] = {}  # by the key of the result, which is measured once
    reused = 0
    told, sets = _Told(), loaded(tasks, options)
    labels = task_labels.labels(_columns(models, sets, options)[0])
    cells = list(product(models, sets))
    for done, ((model, subject), task) in enumerate(cells):
        yield Progress(f"{model.name}: {task}", done, len(cells))
        with told.of(model, task):
            one = cell(model, subject, sets[task], options)
            if one.reused() is not None:
                reused += 1
            else:
                told.usable(model)
                cost = yield from one.cost()
                costs[one.scored.key(model.digest)] = model.name, labels[one.scored.digest], cost
        if (done + 1) % len(sets) == 0:
            subject.unload()
    return Forecast(tuple(costs.values()), reused, tuple(told.missing), told.failures(len(sets)))
