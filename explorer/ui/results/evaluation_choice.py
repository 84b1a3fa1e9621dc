"""What the evaluate form asks for, models, tasks and folded settings, and the background work that evaluates them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from explorer.encoding.read.readings import MODEL_DEFAULT
from explorer.errors import BadChoice, StrataError
from explorer.evaluating.cells import AnySubject
from explorer.evaluating.evaluation import EvaluationResult, Forecast, Models, evaluation, forecast
from explorer.evaluating.results.result_files import ScoredModel
from explorer.evaluating.results.scored_task import EVALUATED, Options
from explorer.evaluating.tasks import ALL, Subject, named, tasks_of, transfer
from explorer.evaluating.word_subject import WordSubject, is_word_model
from explorer.knobs import Knob
from explorer.measuring.scores.measure import Settings
from explorer.progress import Progress, Work
from explorer.training.record.run_results import scored
from explorer.ui.access import cached
from explorer.ui.widgets import setting_fields

FORM = "evaluate"
# in the order of the form
FIELDS = {
    "text": Options.knobs["text"],
    "probe": Options.knobs["probe"],
    "seeds": Options.knobs["seeds"],
    "index": Options.knobs["index"],
    "query_prompt": Options.knobs["query_prompt"],
    "document_prompt": Options.knobs["document_prompt"],
    "titles": Options.knobs["titles"],
    "max_length": Settings.knobs["max_length"],
    "again": Options.knobs["again"],
}
USUAL, DEFAULT, EVERY = "usual", MODEL_DEFAULT, ALL
TITLE_NAMES = {USUAL: "automatic", DEFAULT: "the model default only", EVERY: "all"}


def draw_settings() -> None:
    """The fields."""
    with st.expander("Settings", icon=":material/tune:"):
        for name, knob in FIELDS.items():
            if name == "titles":
                _titles(knob)
            elif name == "max_length":
                setting_fields.draw(FORM, knob, placeholder=f"{knob.empty}; 64 for search")
            else:
                setting_fields.draw(FORM, knob)


def _titles(knob: Knob) -> None:
    """A menu for the usual choices, since a form rarely needs more than one layer & pooling."""
    st.selectbox(
        knob.label,
        TITLE_NAMES,
        format_func=lambda title: TITLE_NAMES.get(title, title),
        key=setting_fields.key_of(FORM, knob.name),
        accept_new_options=True,
        persist_state="session",
        width=setting_fields.WIDTH,
        help=f"automatic: {knob.empty}. {knob.help}",
    )


@dataclass(frozen=True)
class EvaluationChoice:
    """Models, suites, single tasks or files, and settings, as they are in the form."""

    models: tuple[str, ...]
    suites: tuple[str, ...]
    single: tuple[str, ...]
    typed: Mapping[str, Any]  # the settings that are not empty

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
        settings = setting_fields.checked({**self.typed, "titles": self._titles()}, FIELDS)
        length = settings.pop("max_length", None)
        options = Options(**settings)
        transfer.check_choice(options.probe, options.seeds)
        return Checked(self.models, tasks, options, length)

    def _titles(self) -> tuple[str, ...]:
        """The layers & poolings to score; () for the usual ones."""
        title = self.typed.get("titles", USUAL)
        return () if title == USUAL else (title,)


@dataclass(frozen=True)
class Checked:
    """Models, tasks and options of an evaluation."""

    models: tuple[str, ...]
    tasks: tuple[str, ...]
    options: Options
    max_length: int | None = None

    def evaluated(self) -> Work[EvaluationResult]:
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
