"""Early stopping rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from explorer.methods import Schedule


def enough(scores: Sequence[float], schedule: Schedule) -> bool:
    """Whether the dev scores so far, step 0 first, meet the rule for early stopping; the score of step 0 is ignored."""
    trained = scores[1:]
    if schedule.early_stop == "drops":
        return drops(trained) >= schedule.endurance
    if schedule.early_stop == "no new best":
        return since_best(trained) >= schedule.endurance
    return False


def drops(scores: Sequence[float]) -> int:
    """How often a score was lower than the one before, counted over the whole run as in the code of SG-BERT."""
    return sum(later < earlier for earlier, later in pairwise(scores))


def since_best(scores: Sequence[float]) -> int:
    """The number of scores after the best one; all of them if every score is NaN."""
    known = [score for score in scores if not math.isnan(score)]
    return len(scores) - 1 - scores.index(max(known)) if known else len(scores)
