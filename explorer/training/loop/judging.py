"""Score a base model and what was trained from it on the run's evaluation sets, as both are used."""

from __future__ import annotations

from torch import Tensor

from explorer.data.kinds import GradedPairs
from explorer.data.sources import HELD_OUT, EvaluationSet
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.head import Head
from explorer.evaluating.tasks.retrieval import check
from explorer.measuring.neighbours.ranking_judge import RankingJudge
from explorer.measuring.neighbours.ranking_measures import MRR, NDCG
from explorer.measuring.scores.judge import Judge, PairJudge
from explorer.measuring.scores.verdict import BaseItems, Outcome, outcome
from explorer.methods import Method
from explorer.progress import Progress, Work


def judge_of(given: EvaluationSet, encoder: Encoder) -> Judge:
    """How a set is scored: pairs by Spearman, a retrieval set by nDCG@10, held-out rows by MRR@10.

    Queries and documents have the prompts that a model declares for them, unless it has one prompt for every text.
    """
    if isinstance(given, GradedPairs):
        return PairJudge(given)
    measure = MRR if given.split == HELD_OUT else NDCG
    roles = encoder.role_prompts
    check(roles, encoder, encoder.limit(None))
    return RankingJudge(given, measure, roles.query, roles.document)


def base_items(encoder: Encoder, trained: Head, judge: Judge) -> Work[BaseItems]:
    """Judge the base under its model default and under the trained layer & pooling, in float32."""
    found: list[Tensor | None] = [None, None]
    done = 0
    for places, vectors in encoder.under_heads(judge.texts, (encoder.default_head, trained)):
        for number, part in enumerate(vectors):
            side = found[number]
            if side is None:
                side = found[number] = part.new_empty(len(judge.texts), part.shape[-1])
            side[places] = part
        done += len(places)
        yield Progress("evaluating the base", done, len(judge.texts))
    declared, same = (judge.items(side) for side in found if side is not None)
    return BaseItems(declared, same)


def tuned_outcome(method: Method, judge: Judge, base: BaseItems) -> Work[Outcome]:
    """Score the model as exported: in float32, whatever the precision of the training."""
    vectors = yield from method.reading(judge.texts)
    return outcome(judge, base, judge.items(vectors))
