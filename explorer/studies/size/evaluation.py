"""What an encoder is scored on: scored pairs, a retrieval set, triplets, probe packs or labelled texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.data import sources
from explorer.data.labelled import labelled_sets
from explorer.data.labelled.labelled_set import LabelledSet
from explorer.data.sources import EvaluationSet
from explorer.evaluating.tasks.label_judge import LabelJudge
from explorer.measuring.scores.judge import Judge
from explorer.training.loop.judging import judge_of

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

Evaluated = EvaluationSet | LabelledSet


def evaluated_on(source: str, online: bool = False) -> Evaluated:
    """The set with this name or path; a labelled one by the name of its task, such as TREC."""
    if labelled_sets.is_labelled(source):
        return labelled_sets.load(source)[0]
    return sources.evaluation_set(source, online=online)


def judge_for(given: Evaluated, encoder: Encoder) -> Judge:
    """How a set is scored; queries and documents have the prompts of the encoder."""
    if isinstance(given, LabelledSet):
        return LabelJudge(given)
    return judge_of(given, encoder, encoder.role_prompts)
