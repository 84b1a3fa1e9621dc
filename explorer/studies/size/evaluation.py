"""What an encoder is scored on: scored pairs, a retrieval set, triplets, probe packs or labelled texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from explorer.data import sources
from explorer.data.labelled import labelled_sets, published_sets
from explorer.data.labelled.labelled_set import LabelledSet
from explorer.data.retrieval import beir_folder
from explorer.data.row_kinds import LABELLED_TEXTS
from explorer.data.sources import EvaluationSet
from explorer.data.tables.columns import guess
from explorer.data.tables.files import read_file
from explorer.evaluating.tasks.label_judge import LabelJudge
from explorer.measuring.scores.judge import Judge
from explorer.training.loop.judging import judge_of

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

Evaluated = EvaluationSet | LabelledSet


def evaluated_on(source: str, online: bool = False) -> Evaluated:
    """The set with this name or path; a labelled one by the name of its task, such as TREC."""
    return labelled_sets.load(source)[0] if _is_labelled(source) else sources.evaluation_set(source, online=online)


def judge_for(given: Evaluated, encoder: Encoder) -> Judge:
    """How a set is scored; queries and documents have the prompts of the encoder."""
    if isinstance(given, LabelledSet):
        return LabelJudge(given)
    return judge_of(given, encoder, encoder.role_prompts)


def _is_labelled(source: str) -> bool:
    if published_sets.is_known(source):
        return True
    if sources.is_folder(source):
        return not beir_folder.is_retrieval_folder(Path(source).expanduser())
    if not sources.is_file(source):
        return False
    return guess(read_file(Path(source).expanduser())).kind == LABELLED_TEXTS
