"""Score a model on pair classification: whether the cosine tells pairs that mean the same from other pairs.

As in MTEB, the main measure is the average precision of the pairs in the order of their cosines; F1 and accuracy are
those at the best threshold. MTEB's `max_ap` is the highest of several similarities, of which the cosine is one; all of
them order pairs of vectors of length 1 in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from explorer.data import sources
from explorer.data.labelled import pair_classification
from explorer.evaluating.results.scored_task import PAIR_CLASSIFICATION, Options
from explorer.evaluating.tasks import Suite
from explorer.evaluating.tasks.sts import ScoredPairs
from explorer.places import given_path

TASKS = tuple(known.name for known in pair_classification.SETS)


class PairClassification(ScoredPairs):
    """Pairs labelled 1 or 0 of a published set of MTEB, or of a folder in its layout."""

    kind = PAIR_CLASSIFICATION
    suites = (Suite("pair-classification", TASKS, 6, "duplicates and paraphrases"),)
    also: ClassVar[Mapping[str, str]] = {}
    decided_by = ()

    @classmethod
    def load(cls, name: str, options: Options) -> PairClassification:
        """Load the test split."""
        return cls(name, pair_classification.load(name, online=options.online))

    @classmethod
    def own(cls, source: str) -> PairClassification | None:
        """Load a folder with a test file of labelled pairs and no train file."""
        pairs = pair_classification.read(given_path(source)) if sources.is_folder(source) else None
        return None if pairs is None else cls(source, pairs)
