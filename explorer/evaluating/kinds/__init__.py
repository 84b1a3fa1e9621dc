"""Evaluation sets whose items are scored one by one: the base class of their kinds, and how a set is found and read.

A kind is a class in a file of this folder: scored pairs, probe packs, triplets, retrieval sets, translations and
labelled texts. It states what its sets are, how a file of them is read, and how vectors are scored on them. Layers,
Compare, Results, trainings and commands take any set by its kind.
"""

from __future__ import annotations

import logging
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from explorer.data import sources, text_sets
from explorer.data.graded import sets
from explorer.data.graded.sets import SetIdentity, SetKind
from explorer.data.labelled import labelled_sets
from explorer.data.set_items import ItemSet
from explorer.data.tables.text_rows import Report
from explorer.encoding.load import declared
from explorer.encoding.read.pooling import Reading
from explorer.encoding.read.prompts import RolePrompts
from explorer.errors import BadChoice, NotWritable, SetNotFound, StrataError
from explorer.evaluating import classes_in
from explorer.evaluating.kinds import item_scores
from explorer.knobs import Knobs, knob
from explorer.measuring.scores import pair_cosines
from explorer.measuring.scores.judge import Floats, Judge
from explorer.measuring.scores.layer_scores import LayerScores
from explorer.measuring.scores.measure import Load, Settings, load_encoder
from explorer.measuring.scores.metrics import ACCURACY, METRICS, check_aggregate, named
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.encoding.locate.model_names import Found
    from explorer.encoding.read.encoder import Encoder

logger = logging.getLogger(__name__)

Given = TypeVar("Given", bound=ItemSet)


class JudgedSet(Judge, Generic[Given]):
    """An evaluation set, and how vectors are scored on it; a subclass is a kind of set.

    It is scored in float32 whatever is chosen, as the verdicts of runs are, so that one number stands on all pages.
    """

    given: Given
    data: ClassVar[type[Any]]  # the sets of this kind
    in_words: ClassVar[str]  # what they have: `triplets`
    place: ClassVar[int] = 0  # among the kinds: a file is of the first that reads it; those of 0 have own formats
    shipped: ClassVar[Mapping[str, Callable[[], ItemSet]]] = {}  # sets of this kind that ship, by name
    for_runs: ClassVar[bool] = True  # whether a run can be evaluated on them
    has_protocol: ClassVar[bool] = False  # whether a class in `evaluating/tasks` scores them in a way of its own
    # what a set may be scored by, the main measure first, but for the metrics of pairs; what is good, in words
    explained: ClassVar[Mapping[str, str]] = {
        ACCURACY: "the share of items that are right, × 100: of triplets those whose anchor is nearer to its positive "
        "than to its negative (chance is 50), of labelled texts those that logistic regression puts into their class."
    }

    @classmethod
    def read(cls, source: str, online: bool) -> Given | None:
        """Read a file or folder of the user; None if it is not of this kind."""
        return None

    def with_prompts(self, encoder: Encoder, prompts: RolePrompts) -> Judge:
        """How the set is scored with these prompts of queries and documents."""
        return self

    def reads(self, encoder: Encoder) -> Encoder:
        """What encodes the texts of the set."""
        return encoder

    def with_settings(self, encoder: Encoder, settings: Settings) -> Work[Judge]:
        """How the set is scored with the prompts of the encoder and some settings."""
        yield from ()
        return self.with_prompts(encoder, encoder.role_prompts)

    @cached_property
    def measures(self) -> Sequence[str]:
        """What the set is scored by, the main measure first."""
        return tuple(self.explained)

    @cached_property
    def measure(self) -> str:
        """The main measure."""
        return self.measures[0]

    @cached_property
    def gold(self) -> Floats:
        """What a score compares the items with, if it is not their mean: gold scores, or 1 for each paraphrase."""
        return np.zeros(len(self))

    @cached_property
    def places(self) -> list[NDArray[np.intp]]:
        """Where the texts of each item are among those that are encoded, by column."""
        place = {text: at for at, text in enumerate(self.texts)}
        columns = self.given.text_columns.values()
        return [np.array([place[text] for text in column], dtype=np.intp) for column in columns]

    def cosines(self, vectors: Tensor, one: int = 0, other: int = 1) -> Floats:
        """The cosine of each item's texts of two columns."""
        return pair_cosines.exact_cosines(vectors, self.places[one], self.places[other])

    def measure_named(self, written: str | None) -> str:
        """The measure with a name, in any case; without one the main one."""
        return named(written, self.measures, f" of {self.name}") if written else self.measure

    def key(self, found: Found, settings: Settings) -> str:
        """The key of stored scores: model, set, its main measure if it has several, and settings."""
        main = self.measure if len(self.measures) > 1 else ""
        windows = bool(self.pool) and settings.windows
        of_settings = settings.device, settings.max_length, declared.poolings(found.folder), windows
        return item_scores.key(found.digest, self.digest, main, *of_settings)

    def stored(self, found: Found, settings: Settings) -> LayerScores | None:
        """Scores that are stored; None if there are none."""
        scores = item_scores.kept(self.key(found, settings))
        return scores and replace(scores, gold=self.gold)

    def measured(
        self, found: Found, settings: Settings, load: Load = load_encoder, *, also: Sequence[Reading] = ()
    ) -> Work[LayerScores]:
        """Load stored scores, or measure and store them, with layers & poolings outside of the grid (`also`)."""
        settings = replace(settings, precision="float32")
        name = self.key(found, settings)
        scores = item_scores.kept(name)
        if scores is None or scores.lacks(also):
            known = () if scores is None else tuple(scores.also)
            yield Progress(f"loading {found.name}", 0, 0)
            encoder = self.reads(load(found, settings))
            every = tuple(dict.fromkeys((*known, *also)))
            judge = yield from self.with_settings(encoder, settings)
            scores = yield from item_scores.score_items(encoder, judge, settings.max_length, every)
            try:
                item_scores.keep(name, scores)
            except NotWritable as error:  # return the scores even if they cannot be stored
                logger.warning("The scores were not stored. %s", error)
        return replace(scores, gold=self.gold)


def every() -> tuple[type[JudgedSet[Any]], ...]:
    """Every kind of set in the folder, in the order in which a file is tried."""
    return tuple(sorted(classes_in(__name__, tuple(__path__), JudgedSet), key=lambda kind: kind.place))


def judged(given: ItemSet) -> JudgedSet[Any]:
    """A set of any kind, with what its kind decides."""
    return next(kind for kind in every() if kind.data is type(given))(given)


def judge_of(given: ItemSet, encoder: Encoder, prompts: RolePrompts | None = None) -> Judge:
    """How a set is scored; queries and documents have these prompts, by default those of the encoder."""
    return judged(given).with_prompts(encoder, encoder.role_prompts if prompts is None else prompts)


def shipped() -> dict[str, Callable[[], ItemSet]]:
    """The sets that ship, by name, other than scored pairs."""
    return dict(chain.from_iterable(kind.shipped.items() for kind in every()))


def explained() -> dict[str, str]:
    """The measures of all kinds but the metrics of scored pairs, and what is good, in words."""
    return dict(chain.from_iterable(kind.explained.items() for kind in reversed(every())))


def load(given: SetIdentity, online: bool = False, *, for_runs: bool = False) -> ItemSet:
    """The set with this identity; `for_runs` only one that a run can be evaluated on."""
    if given.is_scored:
        return sets.load(given, online=online)
    source = sources.located(given)
    if known := shipped().get(source):
        return known()
    kinds = (kind for kind in every() if kind.for_runs or not for_runs)
    read = (kind.read(source, online) for kind in kinds)
    found: ItemSet | None = next((one for one in read if one is not None), None)
    assert found is not None, "the last kind says why a file is not of it"
    return found


def evaluated_on(given: SetIdentity, online: bool = False) -> ItemSet:
    """The set with this identity; a labelled one is named by its task, such as TREC, or by its path."""
    try:
        return load(given, online)
    except SetNotFound as error:
        of_another_kind = given.is_scored or given.kind in (SetKind.UPLOADED_FILE, SetKind.TEST_ROWS)
        if of_another_kind or error.split is not None or labelled_sets.is_known(given.written):
            raise
        known = ", ".join((*shipped(), *labelled_sets.names()))
        raise SetNotFound(f"{error} Of other kinds there are: {known}; or give a file or folder by its path.") from None


def run_set(given: SetIdentity, online: bool = False) -> ItemSet:
    """What a run is evaluated on."""
    return load(given, online, for_runs=True)


@dataclass(frozen=True)
class MeasureOptions(Knobs):
    """The measure by which a set is scored, and how its sub-corpora are aggregated."""

    metric: str | None = knob(
        None,
        metavar="NAME",
        empty="the main one of the set: Spearman, of pairs with two labels average precision, of queries nDCG@10, …",
        help="A measure that the set has, such as Pearson of scored pairs or MRR@10 of queries; its case does not "
        "matter.",
    )
    aggregate: str = knob(
        "all",
        help="all: one score over all pairs; mean over sub-corpora; wmean: weighted by their number of pairs.",
    )

    def consistent(self) -> None:
        """Write the measure as it is called, of any kind of set; others than any set has are refused."""
        check_aggregate(self.aggregate)
        of_pairs = [name for name, one in METRICS.items() if one.offered]
        by_kind = {kind.in_words: [*kind.explained] or of_pairs for kind in reversed(every())}
        choices = "that the set has: " + "; ".join(f"of {what} {', '.join(those)}" for what, those in by_kind.items())
        known = tuple(dict.fromkeys(chain.from_iterable(by_kind.values())))
        object.__setattr__(self, "metric", named(self.metric, known, choices=choices) if self.metric else None)


def only_scored_pairs(
    what: str, source: str, online: bool, load: Callable[[str, bool], ItemSet]
) -> tuple[text_sets.GradedPairs, Report | None]:
    """Scored or labelled pairs, for `what` takes no other kind; an error for another kind names what does.

    `load` reads a set that is none of `sources`.
    """
    try:
        return sources.scored_pairs(source, online=online)
    except StrataError as error:
        try:
            given = load(source, online)
        except StrataError:
            raise error from None
    if not isinstance(given, text_sets.GradedPairs):
        raise BadChoice(f"{what} is for scored or labelled pairs, and {held(given, source)}")
    return given, None


def held(given: ItemSet, source: str) -> str:
    """What kind of data a set holds, and the commands that take it: the end of an error."""
    name = shlex.quote(sources.shown(source))
    return (
        f"{given.name} has {judged(given).in_words}. Use score MODEL --on {name} for its scores, compare A B --on "
        f"{name} for two models, or similarity MODEL --text {name} for the cosines of random pairs of its texts."
    )
