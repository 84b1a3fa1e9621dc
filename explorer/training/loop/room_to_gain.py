"""Score the base on the test set of a recipe before training, and say whether there is little to gain.

There is if the base misses less than a twentieth of the queries or triplets, or fewer than six: were five improved and
none worse, that could be chance (sign test, p = 0.06). With scored pairs there is from Spearman 90 on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer.data.retrieval.retrieval_set import RetrievalSet
from explorer.data.text_sets import GradedPairs, Triplets
from explorer.encoding.load import loading
from explorer.encoding.locate import model_names
from explorer.measuring.neighbours.ranking_judge import MRR, RankingJudge
from explorer.measuring.scores.judge import Judge, PairJudge, TripletJudge
from explorer.progress import Work
from explorer.training.loop.judging import under_heads
from explorer.training.loop.preparing import read_texts
from explorer.training.recipe import Recipe

FEWEST = 6  # missed queries or triplets from which on an improvement of all of them is significant
SHARE = 0.05  # of them that are missed
HIGH = 90.0  # Spearman × 100
FOUND = "The base{already} finds {:.1f} % of your {:,} test pairs: for each first sentence, its partner ranks first."
ORDERED = "The base{already} has {:.1f} % of your {:,} test triplets in the right order."
CORRELATED = "The base{already} has a Spearman of {:.1f} on your {:,} test pairs."
LITTLE = "There is little to gain: test it on harder rows, or expect a result that could be chance."


@dataclass(frozen=True)
class RoomToGain:
    """What the base scores on a test set."""

    score: float  # × 100: Spearman, or the share of items that are right
    items: int  # pairs, triplets or queries
    missed: int | None  # items that are not right; None of scored pairs
    sentence: str  # FOUND, ORDERED or CORRELATED

    @property
    def is_little(self) -> bool:
        """Whether training can hardly show an improvement."""
        if self.missed is None:
            return self.score >= HIGH
        return self.missed < max(FEWEST, SHARE * self.items)

    @property
    def text(self) -> str:
        """The score in a sentence, and whether there is little to gain."""
        text = self.sentence.format(self.score, self.items, already=" already" * self.is_little)
        return f"{text} {LITTLE}" if self.is_little else text


def room_to_gain(recipe: Recipe) -> Work[RoomToGain | None]:
    """The base under its model default, in float32, on the rows that the run is tested on; None for other sets."""
    test = read_texts(recipe).test
    if not isinstance(test, (GradedPairs, RetrievalSet, Triplets)):
        return None
    encoder = loading.load(model_names.find(recipe.model), precision="float32", device=recipe.device)
    prompts = encoder.role_prompts
    judge: Judge
    if isinstance(test, GradedPairs):
        judge = PairJudge(test)
    elif isinstance(test, Triplets):
        judge = TripletJudge(test)
    else:
        judge = RankingJudge(test, MRR, prompts.query, prompts.document)
    (vectors,) = yield from under_heads(encoder, judge.texts, (encoder.default_head,), "testing the base")
    items = judge.items(vectors)
    if isinstance(judge, PairJudge):
        return RoomToGain(judge.score(items), len(judge), None, CORRELATED)
    right = int(np.count_nonzero(items == 1))  # of a query: a relevant text is the first
    sentence = ORDERED if isinstance(judge, TripletJudge) else FOUND
    return RoomToGain(100 * right / len(judge), len(judge), len(judge) - right, sentence)
