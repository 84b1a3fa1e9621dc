"""The base class of the kinds of tasks that models are scored on, and the list of them: the classes in this folder."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from explorer.data import sources, uploads
from explorer.data.retrieval_sets import Passages
from explorer.data.set_items import ItemSet
from explorer.data.tables.columns import plain
from explorer.encoding.load import declared
from explorer.encoding.locate import layout
from explorer.encoding.read.pooling import MODEL_DEFAULT, Reading, parse
from explorer.errors import BadChoice
from explorer.evaluating import classes_in
from explorer.evaluating.encoded import TaskCost, of_encoding
from explorer.evaluating.results.scored_task import OF_ENCODING, Measured, Options, ScoredTask, stated
from explorer.measuring.scores.measure import Load, Settings, load_encoder, resolved
from explorer.measuring.sentences import cut_texts
from explorer.measuring.sentences.cut_texts import CutTexts
from explorer.places import given_path
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from typing import Self

    from explorer.encoding.locate.model_names import Found
    from explorer.encoding.read.encoder import Encoder


Data = TypeVar("Data", bound=ItemSet)

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

    def titles(self, task: Task[Any], options: Options) -> tuple[str, ...]:
        """The layers & poolings that a result of a task must have."""
        return task.titles(self, options)

    def score(self, task: Task[Any], options: Options) -> Work[Measured]:
        """Score the model on a task."""
        return task.score(self, options)

    def cost(self, task: Task[Any], options: Options) -> Work[TaskCost | None]:
        """Estimate what a task takes, without evaluating it."""
        return task.cost(self, options)


@dataclass(frozen=True)
class Suite:
    """Tasks that are scored together, under a name."""

    name: str
    tasks: tuple[str, ...]
    place: int = 9  # among the suites
    about: str = ""  # what they are, in a list of suites


@dataclass(frozen=True, eq=False)
class Task(ABC, Generic[Data]):
    """A task with its data. A subclass is a kind of task: how its data is loaded, scored and identified."""

    name: str  # of the published task, or the path of a file or folder
    data: Data

    kind: ClassVar[str]  # in the keys of results
    suites: ClassVar[tuple[Suite, ...]] = ()
    also: ClassVar[Mapping[str, str]] = {}  # tasks of the suites by their other names, without case and punctuation
    decided_by: ClassVar[tuple[str, ...]] = ()  # the options that decide its scores, as `scored_task.stated` names them
    any_file: ClassVar[bool] = False  # whether a file is of this kind that is of no other

    @classmethod
    @abstractmethod
    def load(cls, name: str, options: Options) -> Self:
        """Load the published task with this name; or a file or folder, if `any_file`."""

    @classmethod
    def own(cls, source: str) -> Self | None:
        """Load a file or folder of the user; None if it is not of this kind."""
        return None

    def among(self, corpus: Passages) -> Self:
        """The task with the passages of a corpus, too; refused by kinds without passages."""
        raise BadChoice(
            f"A corpus is for queries with passages, and {self.name} has none. Leave it out, or name other tasks."
        )

    @property
    def texts(self) -> Sequence[str]:
        """What is encoded."""
        return self.data.sentences

    @abstractmethod
    def score(self, subject: Subject, options: Options) -> Work[Measured]:
        """Score a model."""

    def titles(self, subject: Subject, options: Options) -> tuple[str, ...]:
        """The layers & poolings that a result must have, by default the whole grid."""
        given = options.titles or (ALL,)
        every = subject.every_title if ALL in given else ()
        return tuple(dict.fromkeys((*every, *(one.title for one in subject.named(given)))))

    def cost(self, subject: Subject, options: Options) -> Work[TaskCost | None]:
        """Estimate what it takes, without evaluating it: the time of the encoding alone."""
        yield Progress(f"loading {subject.found.name}", 0, 0)
        return of_encoding(subject.encoder, self.texts, self.length(subject))

    def cut(self, subject: Subject, options: Options) -> CutTexts:
        """How many of its texts are longer than what is read of them."""
        return cut_texts.count(subject.encoder, self.texts, self.length(subject), cut_texts.EVALUATION)

    def length(self, subject: Subject) -> int | None:
        """The number of tokens that are read of a text; None for the model's own."""
        return subject.settings.max_length

    def key(self, options: Options, settings: Settings) -> ScoredTask:
        """The task as results identify it; name and folder are those of its column."""
        every = stated(options, resolved(settings))
        prompt = (
            () if options.prompt is None else ("prompt",)
        )  # without one, results are those of before there were any
        decisive = {one: every[one] for one in (*self.decided_by, *prompt, *OF_ENCODING)}
        return ScoredTask(self.kind, self.data.digest, decisive, *column_of(self.name))


def kinds() -> tuple[type[Task[Any]], ...]:
    """Every kind of task in the folder; the one that takes any file is the last."""
    return tuple(sorted(classes_in(__name__, tuple(__path__), Task), key=lambda kind: kind.any_file))


def suites() -> Mapping[str, tuple[str, ...]]:
    """The tasks of every suite, by its name."""
    return {suite.name: suite.tasks for suite in every_suite()}


def every_suite() -> list[Suite]:
    """All suites in their order."""
    return sorted((suite for kind in kinds() for suite in kind.suites), key=lambda suite: (suite.place, suite.name))


def tasks_of(suite: str) -> tuple[str, ...]:
    """The tasks of a suite."""
    known = suites()
    if suite not in known:
        raise BadChoice(f"There is no suite '{suite}'. Choose one of {', '.join(known)}.")
    return known[suite]


def published() -> list[str]:
    """The tasks of all suites, each once."""
    return list(dict.fromkeys(task for suite in every_suite() for task in suite.tasks))


def named(task: str) -> str:
    """The task with this name, ignoring case and punctuation; a path of a file or folder stays as it is."""
    known = {other: name for kind in kinds() for other, name in kind.also.items()}
    known |= {plain(name): name for name in published()}
    if plain(task) in known and not (set(task) & set("/\\~")) and not task.startswith("."):
        return known[plain(task)]
    with suppress(BadChoice, OSError):
        if given_path(task).exists():
            return task
    near = difflib.get_close_matches(plain(task), known, n=1, cutoff=0.7)
    hint = f" Did you mean '{known[near[0]]}'?" if near else ""
    raise BadChoice(f"There is neither a task nor a file '{task}'.{hint} There are: {', '.join(published())}.")


def load(task: str, options: Options) -> Task[Any]:
    """Load a published task, or a file or folder of the user, of the kind that knows it."""
    every = kinds()
    found = next((kind.load(task, options) for kind in every if any(task in one.tasks for one in kind.suites)), None)
    found = found or next(filter(None, (kind.own(task) for kind in every)), None) or every[-1].load(task, options)
    return found.among(sources.passages(options.corpus)) if options.corpus else found


def column_of(task: str) -> tuple[str, str]:
    """The name of a task or set, and of a file the end of the path of its folder; of an upload its mark instead."""
    if task in published() or not (sources.is_file(task) or sources.is_folder(task)):
        return task, ""
    uploaded = uploads.name_and_mark(task)
    if uploaded:
        return uploaded
    path = given_path(task).absolute()
    return path.name, "/".join(path.parent.parts[-2:]).strip("/")
