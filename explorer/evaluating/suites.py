"""The tasks that models are scored on, by suite, and one function that scores a model on one of them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from explorer.data import sources, uploads
from explorer.data.graded import question_pairs
from explorer.data.graded import sts as published
from explorer.data.graded.question_pairs import QuestionPairs
from explorer.data.kinds import GradedPairs
from explorer.data.labelled import labelled_sets
from explorer.data.labelled.labelled_set import LabelledSet
from explorer.data.retrieval.retrieval_set import RetrievalSet
from explorer.data.row_kinds import SCORED_PAIRS
from explorer.data.tables.columns import guess, plain
from explorer.data.tables.files import read_file
from explorer.data.tables.text_rows import graded_pairs
from explorer.encoding.load import declared
from explorer.encoding.locate import layout
from explorer.encoding.read.readings import MODEL_DEFAULT, Reading, parse
from explorer.errors import BadChoice
from explorer.evaluating.measured import Measured
from explorer.evaluating.results.scored_task import (
    RETRIEVAL,
    SEARCH,
    STS,
    TRANSFER,
    Options,
    ScoredTask,
    scored_task,
)
from explorer.evaluating.tasks import retrieval, search, sts, transfer, transfer_cost
from explorer.evaluating.tasks.transfer_cost import Cost
from explorer.measuring.scores.measure import Load, Settings, load_encoder, resolved
from explorer.places import given_path
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found
    from explorer.encoding.read.encoder import Encoder

Outcome = TypeVar("Outcome")

ALL = "all"  # in place of titles: every layer & pooling


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

    def unload(self) -> None:
        """Free the memory of the weights; they are loaded again if they are needed."""
        vars(self).pop("encoder", None)

    @cached_property
    def every_title(self) -> tuple[str, ...]:
        """The titles of all layers & poolings of the grid, without loading the weights."""
        return (*(one.title for one in declared.grid(self.found.folder)), MODEL_DEFAULT)

    def named(self, titles: Sequence[str]) -> list[Reading]:
        """The layers & poolings with these titles, in the grid or outside of it; none for `all`."""
        last = layout.last_layer(self.found.folder)
        return [parse(title, last) for title in titles if title != ALL]


Data = GradedPairs | LabelledSet | QuestionPairs | RetrievalSet
KIND_OF = {GradedPairs: STS, LabelledSet: TRANSFER, RetrievalSet: RETRIEVAL, QuestionPairs: SEARCH}


@dataclass(frozen=True)
class Kind:
    """How the tasks of a suite are loaded and scored."""

    load: Callable[[str, Options], Data]
    score: Callable[[Subject, Any, Options], Work[Measured]]


def _load_sts(task: str, options: Options) -> GradedPairs:
    return published.load(task, "test", online=options.online, text=options.text)


def _sts(subject: Subject, pairs: GradedPairs, options: Options) -> Work[Measured]:
    # stored scores are those of this device, whatever `auto` was where they were measured
    of_model = subject.found, pairs, resolved(subject.settings), options.text, subject.loaded
    return (yield from sts.sts(*of_model, again=options.again, also=subject.named(options.titles)))


def _load_labelled(task: str, options: Options) -> LabelledSet:
    return labelled_sets.load(task)[0]


def _transfer(subject: Subject, rows: LabelledSet, options: Options) -> Work[Measured]:
    return (yield from _on_labelled(transfer.transfer, subject, rows, options))


def _on_labelled(
    act: Callable[..., Work[Outcome]], subject: Subject, rows: LabelledSet, options: Options
) -> Work[Outcome]:
    """Score or estimate a classification task, by a function with the parameters of both."""
    yield Progress(f"loading {subject.found.name}", 0, 0)
    work = act(
        subject.encoder,
        rows,
        probe=options.probe,
        seeds=options.seeds,
        titles=titles_wanted(subject, rows, options),
        max_length=subject.settings.max_length,
    )
    return (yield from work)


def _load_search(task: str, options: Options) -> QuestionPairs:
    return question_pairs.load()


def _search(subject: Subject, questions: QuestionPairs, options: Options) -> Work[Measured]:
    yield Progress(f"loading {subject.found.name}", 0, 0)
    titles = titles_wanted(subject, questions, options)
    length = subject.settings.max_length or search.LENGTH
    work = search.search(subject.encoder, questions, titles=titles, index=options.index, max_length=length)
    return (yield from work)


def _load_retrieval(task: str, options: Options) -> RetrievalSet:
    return sources.RETRIEVAL_SETS[task]()


def _retrieval(subject: Subject, rows: RetrievalSet, options: Options) -> Work[Measured]:
    yield Progress(f"loading {subject.found.name}", 0, 0)
    work = retrieval.retrieval(
        subject.encoder,
        rows,
        titles=titles_wanted(subject, rows, options),
        max_length=subject.settings.max_length,
        prompts=retrieval.chosen(subject.encoder, *options.prompts),
    )
    return (yield from work)


def _load_own(task: str, options: Options) -> Data:
    """A file of the user: scored pairs, queries with passages, or labelled texts.

    A folder has labelled train and test files, or a retrieval set.
    """
    collection = sources.retrieval_set(task)
    if collection is not None:
        return collection
    path = given_path(task)
    if path.is_dir():
        return _load_labelled(task, options)
    table = read_file(path)
    mapping = guess(table)
    return graded_pairs(table, mapping)[0] if mapping.kind == SCORED_PAIRS else _load_labelled(task, options)


def _own(subject: Subject, data: Data, options: Options) -> Work[Measured]:
    if isinstance(data, LabelledSet):
        return (yield from _transfer(subject, data, options))
    if isinstance(data, RetrievalSet):
        return (yield from _retrieval(subject, data, options))
    assert isinstance(data, GradedPairs)
    return (yield from _sts(subject, data, options))


SUITES: Mapping[str, tuple[tuple[str, ...], Kind]] = {
    "sts": (sts.SEVEN, Kind(_load_sts, _sts)),
    "transfer": (transfer.TASKS, Kind(_load_labelled, _transfer)),
    "search": ((question_pairs.TASK,), Kind(_load_search, _search)),
    "retrieval": (tuple(sources.RETRIEVAL_SETS), Kind(_load_retrieval, _retrieval)),
    "sts-more": (sts.OTHERS, Kind(_load_sts, _sts)),
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


def loaded(task: str, options: Options) -> Data:
    """The sentences of a task, with their labels or scores."""
    return _kind(task).load(task, options)


def evaluate(subject: Subject, task: str, options: Options, data: Data | None = None) -> Work[Measured]:
    """Score a model on a task."""
    data = loaded(task, options) if data is None else data
    return (yield from _kind(task).score(subject, data, options))


def cost(subject: Subject, data: Data, options: Options) -> Work[Cost]:
    """Estimate what a task takes, without evaluating it; of a search, the time of the encoding alone."""
    if isinstance(data, LabelledSet):
        return (yield from _on_labelled(transfer_cost.estimate, subject, data, options))
    yield Progress(f"loading {subject.found.name}", 0, 0)
    length = subject.settings.max_length
    if isinstance(data, GradedPairs):
        return transfer_cost.of_encoding(subject.encoder, data.sentences, length)
    if isinstance(data, RetrievalSet):
        return transfer_cost.of_encoding(subject.encoder, data.texts, length)
    length = min(length or search.LENGTH, subject.encoder.max_length)
    return transfer_cost.of_encoding(subject.encoder, data.collection.texts, length)


def titles_wanted(subject: Subject, data: Data, options: Options) -> tuple[str, ...]:
    """The layers & poolings that a result must have; on scored pairs the whole grid, which costs no more than one."""
    usual = transfer.usual_titles(options.probe) if isinstance(data, LabelledSet) else None
    given = options.titles or usual or (ALL,)
    named = [one.title for one in subject.named(given)]
    every = subject.every_title if ALL in given or isinstance(data, GradedPairs) else ()
    return tuple(dict.fromkeys((*every, *named)))


def identified(task: str, data: Data, options: Options, settings: Settings) -> ScoredTask:
    """The task as results identify it."""
    digest = data.collection.digest if isinstance(data, QuestionPairs) else data.digest
    return scored_task(KIND_OF[type(data)], digest, options, settings, *label_of(task))


def label_of(task: str) -> tuple[str, str]:
    """The name of a task or set, and of a file the end of the path of its folder; of an upload its mark instead."""
    if any(task in tasks for tasks, _ in SUITES.values()) or not (sources.is_file(task) or sources.is_folder(task)):
        return task, ""
    uploaded = uploads.name_and_mark(task)
    if uploaded:
        return uploaded
    path = given_path(task).absolute()
    return path.name, "/".join(path.parent.parts[-2:]).strip("/")


def _kind(task: str) -> Kind:
    return next((kind for tasks, kind in SUITES.values() if task in tasks), Kind(_load_own, _own))


def _is_path(task: str) -> bool:
    with suppress(BadChoice, OSError):
        return given_path(task).exists()
    return False
