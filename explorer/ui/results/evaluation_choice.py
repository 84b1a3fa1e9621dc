"""What the evaluate form asks for, models, tasks and folded settings, and the background work that evaluates them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from explorer.data.graded import sts
from explorer.encoding.read.readings import MODEL_DEFAULT
from explorer.errors import BadChoice, StrataError
from explorer.evaluating.cells import AnySubject
from explorer.evaluating.evaluation import EvaluationResult, Forecast, Models, evaluation, forecast
from explorer.evaluating.results import task_labels
from explorer.evaluating.results.result_files import ScoredModel
from explorer.evaluating.results.scored_task import EVALUATED, LOGISTIC, Options
from explorer.evaluating.tasks import ALL, Subject, named, tasks_of, transfer
from explorer.evaluating.word_subject import WordSubject, is_word_model
from explorer.measuring.neighbours.batch_search import INDEXES
from explorer.measuring.neighbours.index_setting import FLAT, IVF
from explorer.progress import Progress, Work
from explorer.training.record.run_results import scored
from explorer.ui.access import cached

SEEDS, LENGTH, AGAIN = "seeds of the classifier", "maximum length of texts", "measure again"
TEXT, PROBE, INDEX, TITLES = "text of STS sets", "classifier", "search index", "layers & poolings to score"
QUERY, DOCUMENT = "prompt of queries", "prompt of documents"
KEYS = (TEXT, PROBE, SEEDS, INDEX, TITLES, LENGTH, AGAIN, QUERY, DOCUMENT)  # in the order of `Written`
INDEX_NAMES = {FLAT: "flat (exact)", IVF: "IVF (inverted file)"}
USUAL, DEFAULT, EVERY = "usual", MODEL_DEFAULT, ALL
TITLE_NAMES = {USUAL: "automatic", DEFAULT: "the model default only", EVERY: "all"}
SHORTEST = 3  # tokens: [CLS], a word, [SEP]


@dataclass(frozen=True)
class Written:
    """The settings as they are in the fields; the seeds are read when the evaluation starts."""

    text: str
    probe: str
    seeds: str
    index: str
    titles: str
    max_length: int | None
    again: bool
    query: str | None
    document: str | None

    def options(self) -> Options:
        """The same as options of an evaluation; an error if the seeds are none."""
        seeds = transfer.seeds_in(self.seeds)
        transfer.check_choice(self.probe, seeds)
        titles = () if self.titles == USUAL else (self.titles,)
        prompts = self.query, self.document
        return Options(self.text, self.probe, seeds, self.index, titles, prompts, again=self.again)


def written() -> Written:
    """What the fields say; in a callback too, where it is newer than what was drawn."""
    text, probe, seeds, index, titles, length, again, *prompts = (st.session_state.get(key) for key in KEYS)
    first = (text or sts.RAW), (probe or LOGISTIC), str(seeds or "").strip(), (index or FLAT)
    return Written(*first, titles or USUAL, length, bool(again), *(prompt or None for prompt in prompts))


def draw_settings() -> None:
    """The fields."""
    with st.expander("Settings", icon=":material/tune:"):
        _radio(
            "Text of STS sets",
            tuple(task_labels.TEXTS),
            TEXT,
            "raw: the text as published. SentEval's: split into words and lower-cased, as in SentEval's files "
            "(`STS12/test_senteval.tsv`).",
            task_labels.TEXTS,
        )
        _radio(
            "Classifier of transfer tasks",
            tuple(transfer.PROBES),
            PROBE,
            "Trained on fixed vectors. SentEval's MLP is that of papers and takes minutes for each layer & pooling.",
            task_labels.PROBES,
        )
        st.text_input(
            "Seeds of the classifier",
            "1",
            key=SEEDS,
            persist_state="session",
            width=320,
            help="Whole numbers with commas between them, such as 1,2,3. The score is the mean over them.",
        )
        _radio(
            "Search index",
            INDEXES,
            INDEX,
            "flat compares a query with every document. IVF looks in the nearest lists only: faster, less exact.",
            INDEX_NAMES,
        )
        for label, key in (("Prompt of queries", QUERY), ("Prompt of documents", DOCUMENT)):
            st.text_input(
                label,
                value=None,
                key=key,
                persist_state="session",
                width=320,
                placeholder="as the model declares",
                help="Put before every text of this role in a retrieval set, such as 'query: '. Empty: what the model "
                "declares in config_sentence_transformers.json, as encode_query and encode_document add it.",
            )
        st.selectbox(
            "Layers & poolings of transfer, search and retrieval",
            TITLE_NAMES,
            format_func=lambda title: TITLE_NAMES.get(title, title),
            key=TITLES,
            accept_new_options=True,
            persist_state="session",
            width=320,
            help="automatic: all, but with SentEval's MLP the model default only. Fewer take less time. On scored "
            "pairs the whole grid is always scored. One layer & pooling can be typed, such as 'last of layer 3' or "
            "'mean of layers 4-6'.",
        )
        st.number_input(
            "Maximum length, in tokens",
            min_value=SHORTEST,
            value=None,
            key=LENGTH,
            persist_state="session",
            width=320,
            placeholder="the model's limit; 64 for search",
            help="3 or more. Longer texts are cut.",
        )
        st.toggle(
            "Measure saved results again",
            key=AGAIN,
            persist_state="session",
            help="Off: a saved result of the same model, data and settings is not measured again.",
        )


def _radio(label: str, options: tuple[str, ...], key: str, help: str, names: dict[str, str] | None = None) -> None:
    st.radio(
        label,
        options,
        format_func=lambda one: (names or {}).get(one, one),
        key=key,
        persist_state="session",
        horizontal=True,
        help=help,
    )


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
