"""What a model is scored on, and how: scored pairs, a retrieval set, triplets, probe packs or labelled texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.data import sources
from explorer.data.graded.probes import ProbePairs
from explorer.data.graded.set_identity import SetIdentity
from explorer.data.kinds import GradedPairs, Triplets
from explorer.data.labelled import labelled_sets
from explorer.data.labelled.labelled_set import LabelledSet
from explorer.data.retrieval.retrieval_set import RetrievalSet
from explorer.data.sources import HELD_OUT, EvaluationSet
from explorer.encoding.read.prompts import RolePrompts
from explorer.evaluating.tasks.label_judge import LabelJudge
from explorer.evaluating.tasks.retrieval import check
from explorer.measuring.neighbours.ranking_judge import RankingJudge
from explorer.measuring.neighbours.ranking_measures import MRR, NDCG
from explorer.measuring.scores.judge import Judge, PairJudge
from explorer.measuring.scores.meaning_judges import ProbeJudge, TripletJudge

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

Evaluated = EvaluationSet | LabelledSet


def evaluated_on(given: SetIdentity, online: bool = False) -> Evaluated:
    """The set with this identity; a labelled one is named by its task, such as TREC, or by its path."""
    if not given.is_scored and labelled_sets.is_labelled(source := sources.located(given)):
        return labelled_sets.load(source)[0]
    return sources.evaluation_set(given, online=online)


def judge_for(given: Evaluated, encoder: Encoder) -> Judge:
    """How a set is scored; queries and documents have the prompts of the encoder."""
    if isinstance(given, LabelledSet):
        return LabelJudge(given)
    return judge_of(given, encoder, encoder.role_prompts)


def main_measure(given: RetrievalSet) -> str:
    """The measure that a retrieval set is reported by: MRR@10 of held-out rows, nDCG@10 of any other."""
    return MRR if given.split == HELD_OUT else NDCG


def judge_of(given: EvaluationSet, encoder: Encoder, prompts: RolePrompts) -> Judge:
    """How a set is scored: pairs by Spearman, a retrieval set by nDCG@10, held-out rows by MRR@10.

    Triplets and probe packs are scored by the share that is in the right order. Queries and documents have these
    prompts; for the base as it is used, those that it declares.
    """
    if isinstance(given, GradedPairs):
        return PairJudge(given)
    if isinstance(given, Triplets):
        return TripletJudge(given)
    if isinstance(given, ProbePairs):
        return ProbeJudge(given)
    measure = main_measure(given)
    judge, before = (_ranking(given, measure, encoder, roles) for roles in (prompts, encoder.role_prompts))
    if prompts != encoder.role_prompts:
        judge.before = before
    return judge


def _ranking(given: RetrievalSet, measure: str, encoder: Encoder, prompts: RolePrompts) -> RankingJudge:
    check(prompts, encoder, encoder.limit(None))
    return RankingJudge(given, measure, prompts.query, prompts.document)
