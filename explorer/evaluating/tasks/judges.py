"""Evaluation sets whose items are judged one by one: how each kind is scored, and what its items are as texts.

The kinds are scored pairs, retrieval sets, triplets, probe packs and labelled texts.
"""

from __future__ import annotations

import logging
import shlex
from abc import ABC
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from explorer.data import retrieval_sets, sample, sources, text_sets
from explorer.data.graded.sets import SetIdentity, SetKind
from explorer.data.labelled import labelled_sets
from explorer.data.set_items import Attribute, ItemSet, word_count
from explorer.data.tables.text_rows import Report
from explorer.encoding.load import declared
from explorer.encoding.read.head_facts import RolePrompts
from explorer.encoding.read.pooling import Reading
from explorer.encoding.read.windows import Windows
from explorer.encoding.read.windows import windows as windows_of
from explorer.errors import BadChoice, NotWritable, SetNotFound, StrataError
from explorer.evaluating.tasks import item_scores, retrieval
from explorer.evaluating.tasks.label_judge import LabelJudge
from explorer.knobs import Knobs, knob
from explorer.measuring.neighbours.ranking_judge import MEASURES, MRR, NDCG, RankingJudge
from explorer.measuring.scores.judge import Judge, PairJudge, ProbeJudge, TripletJudge
from explorer.measuring.scores.layer_scores import LayerScores
from explorer.measuring.scores.measure import Load, Settings, load_encoder, measure, shelf_key, stored_scores
from explorer.measuring.scores.metrics import ACCURACY, DISTINGUISHED, METRICS, check_aggregate, metrics_of, named
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found
    from explorer.encoding.read.encoder import Encoder

logger = logging.getLogger(__name__)

Given = TypeVar("Given", bound=ItemSet)

Floats = NDArray[np.float64]
TextColumns = dict[str, tuple[str, ...]]  # a text of each item, by heading

LABEL = "label"
LENGTH, PASSAGE_LENGTH = "length", "passage length"  # in words


class JudgedSet(ABC, Generic[Given]):
    """An evaluation set; a subclass is a kind of set.

    It is scored in float32 whatever is chosen, as the verdicts of runs are, so that one number stands on all pages.
    """

    main = ""  # the measure that it is reported by, if its kind has several
    measures: Sequence[str] = (ACCURACY,)  # those that it is scored by, the main one first
    judged_by: ClassVar[type[Any]]  # a `Judge` of the set
    has_passages: ClassVar[bool] = False  # which may be read in windows
    in_words: ClassVar[str]  # what a set of this kind has

    def __init__(self, given: Given) -> None:
        self.given = given

    def judge_under(self, encoder: Encoder, settings: Settings) -> Work[Judge]:
        """How the set is scored with the prompts of the encoder and some settings."""
        yield from ()
        return self.judge(encoder, encoder.role_prompts)

    def judge(self, encoder: Encoder, prompts: RolePrompts) -> Judge:
        """How the set is scored; queries and documents have these prompts."""
        judge: Judge = self.judged_by(self.given)
        return judge

    def measure(self, written: str | None) -> str:
        """The measure with a name, in any case; without one the main one."""
        return named(written, self.measures, f" of {self.given.name}") if written else self.measures[0]

    @property
    def columns(self) -> TextColumns:
        """The texts of every item, and labels."""
        return self.texts

    @property
    def texts(self) -> TextColumns:
        """The columns without the labels."""
        return dict(self.given.text_columns)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """What scores can be split by: further columns of a file, labels, and the number of words of the texts."""
        found = {one.name: one for one in self.given.attributes}
        cells = {one.cells for one in found.values()}
        for name, labels in self._labels().items():
            if len({*labels}) > 1 and labels not in cells:
                found.setdefault(name, Attribute(name, labels))
        for name, texts in self._measured_texts().items():
            lengths = _lengths(texts)
            if len({*lengths}) > 1:
                found.setdefault(name, Attribute(name, lengths))
        return tuple(found.values())

    def _labels(self) -> TextColumns:
        """What each item has by name, besides further columns of a file."""
        return {}

    def _measured_texts(self) -> dict[str, tuple[tuple[str, ...], ...]]:
        """The columns of texts of which the longest is the length of an item, by the name of the length."""
        return {LENGTH: tuple(self.texts.values())}

    @property
    def items(self) -> tuple[str, ...]:
        """The first text of every item, such as the query."""
        return next(iter(self.columns.values()))

    @property
    def pairs(self) -> text_sets.GradedPairs | None:
        """The pairs of texts: those that belong together have 1, those that do not 0; None of single texts."""
        rows = tuple(self._pairs())
        first, second, gold = zip(*rows, strict=True) if rows else ((), (), ())
        return text_sets.GradedPairs(self.given.name, first, second, gold, ("",) * len(rows)) if rows else None

    def _pairs(self) -> Iterable[tuple[str, str, float]]:
        return ()

    def exact(self, settings: Settings) -> Settings:
        """The settings that the set is scored with."""
        return replace(settings, precision="float32")

    def key(self, found: Found, settings: Settings) -> str:
        """The key of stored scores: model, set, its main measure, and settings."""
        windows = self.has_passages and settings.windows
        of_settings = settings.device, settings.max_length, declared.poolings(found.folder), windows
        return item_scores.key(found.digest, self.given.digest, self.main, *of_settings)

    def stored(self, found: Found, settings: Settings) -> LayerScores | None:
        """Scores that are stored; None if there are none."""
        return item_scores.kept(self.key(found, self.exact(settings)))

    def measured(
        self, found: Found, settings: Settings, load: Load = load_encoder, *, also: Sequence[Reading] = ()
    ) -> Work[LayerScores]:
        """Load stored scores, or measure and store them, with layers & poolings outside of the grid (`also`)."""
        settings = self.exact(settings)
        name = self.key(found, settings)
        scores = item_scores.kept(name)
        if scores is None or scores.lacks(also):
            known = () if scores is None else tuple(scores.also)
            yield Progress(f"loading {found.name}", 0, 0)
            encoder = load(found, settings)
            every = tuple(dict.fromkeys((*known, *also)))
            judge = yield from self.judge_under(encoder, settings)
            scores = yield from item_scores.score_items(encoder, judge, settings.max_length, every)
            try:
                item_scores.keep(name, scores)
            except NotWritable as error:  # return the scores even if they cannot be stored
                logger.warning("The scores were not stored. %s", error)
        return scores


@lru_cache(maxsize=16)  # every rerun of a page asks for those of its set
def _lengths(columns: tuple[tuple[str, ...], ...]) -> tuple[float, ...]:
    """The words of the longest text of each row."""
    return tuple(float(max(map(word_count, row))) for row in zip(*columns, strict=True))


class _ScoredPairs(JudgedSet[text_sets.GradedPairs]):
    """Scored by Spearman, of two labels by average precision, in the chosen precision; the cosines are stored."""

    judged_by = PairJudge
    in_words = "scored pairs"

    @property
    def measures(self) -> Sequence[str]:  # type: ignore[override]  # here it follows the gold scores
        return metrics_of(np.array(self.given.gold))

    @property
    def pairs(self) -> text_sets.GradedPairs:
        return self.given

    def _labels(self) -> TextColumns:
        return {"sub-corpus": self.given.parts, "tag": self.given.tags}

    def exact(self, settings: Settings) -> Settings:
        return settings

    def key(self, found: Found, settings: Settings) -> str:
        return shelf_key(found, self.given, settings)

    def stored(self, found: Found, settings: Settings) -> LayerScores | None:
        return stored_scores(self.key(found, settings))

    def measured(
        self, found: Found, settings: Settings, load: Load = load_encoder, *, also: Sequence[Reading] = ()
    ) -> Work[LayerScores]:
        return measure(found, self.given, settings, load, also=also)


class _Probes(JudgedSet[sample.ProbePairs]):
    """Scored by the share of paraphrases that are more similar than pairs with a small difference."""

    judged_by = ProbeJudge
    in_words = "probe pairs"
    measures = (DISTINGUISHED,)

    def stored(self, found: Found, settings: Settings) -> LayerScores | None:
        scores = super().stored(found, settings)
        return scores and self._with_gold(scores)

    def measured(
        self, found: Found, settings: Settings, load: Load = load_encoder, *, also: Sequence[Reading] = ()
    ) -> Work[LayerScores]:
        return self._with_gold((yield from super().measured(found, settings, load, also=also)))

    def _with_gold(self, scores: LayerScores) -> LayerScores:
        """With a 1 for each paraphrase: a score is of couples of one and another pair."""
        return replace(scores, gold=np.array(self.given.same, dtype=np.float64))

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """None: a score is of couples of pairs, which a group would break up."""
        return ()

    def _pairs(self) -> Iterable[tuple[str, str, float]]:
        return zip(self.given.first, self.given.second, map(float, self.given.same), strict=True)


class _Triplets(JudgedSet[text_sets.Triplets]):
    """Scored by the share in which the positive is more similar to the anchor than the negative."""

    judged_by = TripletJudge
    in_words = "triplets"

    def _pairs(self) -> Iterable[tuple[str, str, float]]:
        for anchor, positive, negative in zip(*self.columns.values(), strict=True):
            yield from ((anchor, positive, 1.0), (anchor, negative, 0.0))


class _Queries(JudgedSet[retrieval_sets.RetrievalSet]):
    """Scored by nDCG@10, held-out rows by MRR@10."""

    has_passages = True
    in_words = "queries with passages"

    @property
    def main(self) -> str:  # type: ignore[override]  # a constant of the class elsewhere; here it follows the set
        return MRR if self.given.split in sources.OWN_ROWS else NDCG

    @property
    def measures(self) -> Sequence[str]:  # type: ignore[override]  # here the main one follows the set
        return self.main, *(one for one in MEASURES if one != self.main)

    def judge(self, encoder: Encoder, prompts: RolePrompts) -> Judge:
        """The base is judged as it is used, with the prompts that it declares."""
        judge = self._ranking(encoder, prompts)
        if prompts != encoder.role_prompts:
            judge.before = self._ranking(encoder, encoder.role_prompts)
        return judge

    def judge_under(self, encoder: Encoder, settings: Settings) -> Work[Judge]:
        """With windows of long passages, if the settings say so."""
        prompts = encoder.role_prompts
        if not settings.windows:
            return self.judge(encoder, prompts)
        retrieval.check(prompts, encoder, encoder.limit(settings.max_length))
        about = self.given.documents, settings.max_length, prompts.document
        return self._ranking(encoder, prompts, (yield from windows_of(encoder, *about)))

    def _ranking(self, encoder: Encoder, prompts: RolePrompts, windows: Windows | None = None) -> RankingJudge:
        retrieval.check(prompts, encoder, encoder.limit(None))
        return RankingJudge(self.given, self.main, prompts.query, prompts.document, windows)

    def _measured_texts(self) -> dict[str, tuple[tuple[str, ...], ...]]:
        return {LENGTH: (self.columns["query"],), PASSAGE_LENGTH: (self.columns["passage"],)}

    def _pairs(self) -> Iterable[tuple[str, str, float]]:
        related = zip(self.given.queries, self.given.judgements, strict=True)
        return ((query, self.given.documents[place], 1.0) for query, judged in related for place in judged)


class _Labelled(JudgedSet[labelled_sets.LabelledSet]):
    """Scored by the accuracy of logistic regression."""

    judged_by = LabelJudge
    in_words = "texts with labels"

    @property
    def columns(self) -> TextColumns:
        return {**self.texts, LABEL: self.given.scored.labels}

    def _labels(self) -> TextColumns:
        return {LABEL: self.given.scored.labels}


KINDS: dict[type, type[JudgedSet[Any]]] = {
    text_sets.GradedPairs: _ScoredPairs,
    sample.ProbePairs: _Probes,
    text_sets.Triplets: _Triplets,
    retrieval_sets.RetrievalSet: _Queries,
    labelled_sets.LabelledSet: _Labelled,
}


def judged(given: ItemSet) -> JudgedSet[Any]:
    """A set of any kind, with what its kind decides."""
    return KINDS[type(given)](given)


def judge_of(given: ItemSet, encoder: Encoder, prompts: RolePrompts | None = None) -> Judge:
    """How a set is scored; queries and documents have these prompts, by default those of the encoder."""
    return judged(given).judge(encoder, encoder.role_prompts if prompts is None else prompts)


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
        known = (*(name for name, one in METRICS.items() if one.offered), DISTINGUISHED, ACCURACY, *MEASURES)
        object.__setattr__(self, "metric", named(self.metric, known) if self.metric else None)


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


def evaluated_on(given: SetIdentity, online: bool = False) -> ItemSet:
    """The set with this identity; a labelled one is named by its task, such as TREC, or by its path."""
    if not given.is_scored and labelled_sets.is_labelled(source := sources.located(given)):
        return labelled_sets.load(source)[0]
    try:
        return sources.evaluation_set(given, online=online)
    except SetNotFound as error:
        if given.kind != SetKind.OTHER or error.split is not None:
            raise
        known = ", ".join((*sources.NAMED_SETS, *labelled_sets.names()))
        raise SetNotFound(f"{error} Of other kinds there are: {known}; or give a file or folder by its path.") from None
