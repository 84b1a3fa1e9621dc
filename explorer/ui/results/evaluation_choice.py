"""What the form asks for, and the background work that evaluates or estimates it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from explorer.errors import BadChoice, StrataError
from explorer.evaluating.cells import AnySubject
from explorer.evaluating.evaluation import Evaluation, Forecast, Models, evaluation, forecast
from explorer.evaluating.results.result_files import ScoredModel
from explorer.evaluating.results.scored_task import EVALUATED, Options
from explorer.evaluating.tasks import Subject, named, tasks_of
from explorer.evaluating.word_subject import WordSubject, is_word_model
from explorer.progress import Progress, Work
from explorer.training.record.run_results import scored
from explorer.ui.access import cached
from explorer.ui.results.evaluation_settings import Written


@dataclass(frozen=True)
class EvaluationChoice:
    """Models, suites, single tasks or files, and settings, as they are in the form."""

    models: tuple[str, ...]
    suites: tuple[str, ...]
    single: tuple[str, ...]
    written: Written

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks of the suites, then the single ones, as they were typed."""
        return tuple(dict.fromkeys([*(task for suite in self.suites for task in tasks_of(suite)), *self.single]))

    def checked(self, known: list[str]) -> Checked:
        """The same with the names of tasks; an error that names what is missing or unknown.

        Models that are not among the known ones were typed in, and are looked for.
        """
        if not self.models or not self.tasks:
            raise BadChoice("Choose at least one model and one suite or task.")
        for model in self.models:
            if model not in known and not is_word_model(model):
                cached.found(model)
        tasks = tuple(dict.fromkeys(map(named, self.tasks)))
        return Checked(self.models, tasks, self.written.options(), self.written.max_length)


@dataclass(frozen=True)
class Checked:
    """Models, tasks and options of an evaluation."""

    models: tuple[str, ...]
    tasks: tuple[str, ...]
    options: Options
    max_length: int | None = None

    def evaluated(self) -> Work[Evaluation]:
        """Score the models on the tasks; an error if nothing could be scored."""
        models, failed = yield from self._subjects()
        found = yield from evaluation(models, self.tasks, self.options)
        found = replace(found, failed=(*failed, *found.failed))
        if not found.results:
            raise StrataError(next(iter((*found.failed, *found.missing)), "Nothing could be scored."))
        return found

    def expected(self) -> Work[Forecast]:
        """Estimate the time of what is not saved."""
        models, failed = yield from self._subjects()
        found = yield from forecast(models, self.tasks, self.options)
        return replace(found, failed=(*failed, *found.failed))

    def _subjects(self) -> Work[tuple[Models, tuple[str, ...]]]:
        """The models that are there, and in words those that are not."""
        found: list[tuple[ScoredModel, AnySubject]] = []
        failed: list[str] = []
        settings = replace(EVALUATED, max_length=self.max_length)
        for name in self.models:
            yield Progress(f"reading the files of {name}", 0, 0)
            if is_word_model(name):
                word = WordSubject(name, settings)
                found.append((word.scored, word))
                continue
            try:
                model = cached.found(name)
            except StrataError as error:  # such as a run that was deleted meanwhile
                failed.append(f"{name}: {error}")
                continue
            found.append((scored(model), Subject(model, settings, cached.encoder)))
        return found, tuple(failed)
