"""One model on one task: the saved result with the same key, and the measurement of the rest."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from explorer.encoding.read.readings import MODEL_DEFAULT
from explorer.errors import DataError, NotWritable
from explorer.evaluating.measured import Measured, SoFar, TaskCost
from explorer.evaluating.results import result_files
from explorer.evaluating.results.result_files import Result, ScoredModel
from explorer.evaluating.results.scored_task import Options, ScoredTask, unscored
from explorer.evaluating.tasks import Subject, Task, column_of, load
from explorer.evaluating.word_subject import WordSubject
from explorer.measuring.scores.measure import Settings
from explorer.progress import Work

KEEP_EVERY = 10.0  # seconds between two results so far that are saved

AnySubject = Subject | WordSubject
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
        options = replace(self.options, titles=self.lacking)
        whole = yield from self._saving(self.subject.score(self.task, options))
        return self._narrowed(whole), whole

    def _saving(self, work: Work[Measured]) -> Work[Result]:
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
            return self._joined(end.value)
        except GeneratorExit:  # it is stopped
            if unsaved is not None:
                self._save(unsaved)
            raise
        finally:
            work.close()

    def _save(self, so_far: Measured) -> None:
        with suppress(NotWritable):  # the work goes on; the whole result is written too, and its error told
            result_files.write(self._joined(so_far))

    def _joined(self, new: Measured) -> Result:
        """New scores together with the saved ones of the same key."""
        if self.saved is not None:
            new = joined(self.saved.measured, new, self.subject.every_title)
        return Result(self.model, self.scored, new)

    def cost(self) -> Work[TaskCost | None]:
        """Estimate what the lacking layers & poolings take; None for a model without a transformer."""
        return (yield from self.subject.cost(self.task, replace(self.options, titles=self.lacking)))

    def _narrowed(self, result: Result) -> Result:
        return replace(result, measured=narrowed(result.measured, self.wanted))


def cell(model: ScoredModel, subject: AnySubject, task: Task[Any] | DataError, options: Options) -> Cell:
    """Look for the saved result of a model on a task; an error if the task has no data, or not for this model."""
    if isinstance(task, DataError):
        raise task
    wanted, scored = subject.titles(task, options), task.key(options, subject.settings)
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


def narrowed(measured: Measured, titles: Iterable[str]) -> Measured:
    """The result with these layers & poolings and the model default alone."""
    wanted = {*titles, MODEL_DEFAULT}
    places = [place for place, title in enumerate(measured.titles) if title in wanted]
    return replace(measured, titles=tuple(measured.titles[at] for at in places), table=measured.table[places])
