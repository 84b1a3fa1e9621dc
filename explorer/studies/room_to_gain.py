"""Score the base of a run before the start: what is too long in the text, what there is to gain, where it begins."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from explorer.data import retrieval_sets, text_sets
from explorer.data.set_items import ItemSet, size_of
from explorer.encoding.load import chosen_prompts, loading
from explorer.encoding.locate import model_names
from explorer.evaluating.kinds.queries import RankingJudge
from explorer.evaluating.kinds.scored_pairs import PairJudge
from explorer.evaluating.kinds.triplets import TripletJudge
from explorer.measuring.neighbours.rankings import MRR
from explorer.measuring.scores import bootstrap, metrics, pair_cosines
from explorer.measuring.scores.judge import FIRST, Judge
from explorer.progress import Work
from explorer.training.loop import judging, preparing, training_texts
from explorer.training.recipe import Recipe

if TYPE_CHECKING:
    from explorer.data.watched_pairs import WatchedPair
    from explorer.encoding.read.encoder import Encoder
    from explorer.measuring.sentences.cut_texts import CutTexts

SHARE = 0.05  # of items that are missed
SHOWN = 3  # queries
MOST_TEXTS = 1000  # of a dev set that is scored before the start
SEARCHED = "The base puts a right passage at rank 1 for {right:,} of your {of}; it misses {missed:,}."
ORDERED = "The base has {score:.1f} % of your {of} in the right order."
CORRELATED = "The base has a Spearman of {score:.1f} on your {of}."
PRECISE = "The base has an average precision of {score:.1f} on your {of}, where chance is {chance:.1f}."
LITTLE = "There is little to gain: test it on harder rows, or expect a result that could be chance."


@dataclass(frozen=True)
class BeforeStart:
    """What there is to say of a text and its base before a training starts."""

    cut: CutTexts | None  # None of documents, of which spans are read
    room: RoomToGain | None  # None for sets that no vectors alone are scored on


@dataclass(frozen=True)
class Miss:
    """A query for which the base puts another passage at rank 1 than a right one."""

    query: str
    first: str
    right: str


@dataclass(frozen=True)
class RoomToGain:
    """What the base scores on a test set."""

    score: float  # × 100: Spearman, average precision, or the share of items that are right
    items: int  # pairs, triplets or queries
    of: str  # the same in words: `197 queries among 1,953 passages`
    missed: int | None  # items that are not right; None of scored pairs
    sentence: str  # SEARCHED, ORDERED, CORRELATED or PRECISE
    misses: tuple[Miss, ...] = ()  # some of the queries that it misses
    chance: float = 0.0  # the score of pairs in any order: of two labels the share of matches

    @property
    def is_little(self) -> bool:
        """Whether training can hardly show an improvement.

        It can if the base misses a twentieth of the queries or triplets, and at least six: were five improved and none
        worse, that could be chance (sign test, p = 0.06). With scored pairs it can below Spearman 90, with two labels
        below nine tenths of the way from chance to 100.
        """
        if self.missed is None:
            return 100 * (self.score - self.chance) >= metrics.HIGH * (100 - self.chance)
        return self.missed < max(bootstrap.FEWEST, SHARE * self.items)

    @property
    def text(self) -> str:
        """The score in a sentence, and whether there is little to gain."""
        missed = self.missed or 0
        text = self.sentence.format(
            score=self.score, of=self.of, missed=missed, right=self.items - missed, chance=self.chance
        )
        return f"{text} {LITTLE}" if self.is_little else text


def before_start(recipe: Recipe, *, scored: bool = True) -> Work[BeforeStart]:
    """Count what is too long and, if `scored`, score the base under its model default on the first test set."""
    texts = training_texts.read_texts(recipe)
    encoder = loading.load(
        chosen_prompts.after(model_names.find(recipe.model), recipe.prompt), precision="float32", device=recipe.device
    )
    longest = recipe.schedule().max_length if recipe.kind.trains() else None
    room = yield from room_to_gain(encoder.as_used, texts.tests[0] if texts.tests and scored else None)
    return BeforeStart(training_texts.cut(texts.corpus, encoder, longest), room)


def room_to_gain(encoder: Encoder, test: ItemSet | None) -> Work[RoomToGain | None]:
    """What the base scores on a test set; None for sets that no vectors alone are scored on."""
    if not isinstance(test, (text_sets.GradedPairs, retrieval_sets.RetrievalSet, text_sets.Triplets)):
        return None
    judge: Judge
    if isinstance(test, text_sets.GradedPairs):
        judge = PairJudge(test)
    elif isinstance(test, text_sets.Triplets):
        judge = TripletJudge(test)
    else:
        judge = RankingJudge(test, MRR, encoder.role_prompts)
    (vectors,) = yield from judging.under_heads(encoder, judge.texts, (encoder.default_head,), "testing the base")
    found = judge.by_measure(vectors)
    items, count, of = found[judge.measure], len(judge), size_of(test)
    if isinstance(judge, PairJudge):
        if judge.measure == metrics.AVERAGE_PRECISION:
            chance = 100 * float((judge.gold == judge.gold.max()).mean())
            return RoomToGain(judge.score(items), count, of, None, PRECISE, chance=chance)
        return RoomToGain(judge.score(items), count, of, None, CORRELATED)
    right = int(np.count_nonzero(items == 1))  # of a query: a relevant text is the first
    if isinstance(test, retrieval_sets.RetrievalSet):
        firsts = found[FIRST]
        wrong = [query for query in range(count) if items[query] < 1 and np.isfinite(firsts[query])][:SHOWN]
        misses = tuple(
            Miss(test.queries[query], test.documents[int(firsts[query])], test.documents[min(test.judgements[query])])
            for query in wrong
        )
        return RoomToGain(100 * right / count, count, of, count - right, SEARCHED, misses)
    return RoomToGain(100 * right / count, count, of, count - right, ORDERED)


@dataclass(frozen=True)
class FirstPoint:
    """Where the curves of a run begin: what its base scores on the dev set, and the cosines of the watched pairs."""

    dev: float | None  # None of a large set, which is scored when the run starts, and of one without a score
    measure: str
    pairs: tuple[WatchedPair, ...]
    cosines: tuple[float, ...]


def first_point(recipe: Recipe) -> Work[FirstPoint]:
    """Encode a dev set of at most MOST_TEXTS sentences and the watched pairs, under the model default of the base."""
    prepared = yield from preparing.prepare(replace(recipe, elsewhere=()), recipe.device, mine=False)
    encoder, judge = prepared.encoder, prepared.dev
    texts = [text for pair in prepared.watched for text in (pair.first, pair.second)]
    score = None
    if len(judge.texts) <= MOST_TEXTS and not prepared.folds:
        (vectors,) = yield from judging.under_heads(encoder, judge.texts, (encoder.default_head,), "testing the base")
        found = judge.score(judge.items(vectors))
        score = None if math.isnan(found) else found
    (vectors,) = yield from judging.under_heads(encoder, texts, (encoder.default_head,), "encoding pairs")
    first, second = np.arange(len(texts)).reshape(-1, 2).T
    cosines = tuple(map(float, pair_cosines.exact_cosines(vectors, first, second)))
    return FirstPoint(score, judge.measure, prepared.watched, cosines)
