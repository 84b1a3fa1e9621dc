"""When has a run learned enough?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from explorer.methods import Schedule


def enough(scores: Sequence[float], schedule: Schedule) -> bool:
    """Whether the development scores so far, that of step 0 first, say that it is time to stop."""
    if schedule.early_stop == "drops":
        return drops(scores) >= schedule.endurance
    if schedule.early_stop == "no new best":
        return since_best(scores[1:]) >= schedule.endurance
    return False


def drops(scores: Sequence[float]) -> int:
    """How often a score was lower than the one before; never forgotten, as in the code of SG-BERT."""
    return sum(later < earlier for earlier, later in pairwise(scores))


def since_best(scores: Sequence[float]) -> int:
    """How many scores came after the best one; where none is known, that is all of them."""
    known = [score for score in scores if not math.isnan(score)]
    return len(scores) - 1 - scores.index(max(known)) if known else len(scores)
