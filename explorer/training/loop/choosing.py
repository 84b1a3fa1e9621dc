"""Choose the best checkpoint by the scores of evaluations, decide ties, and stop early."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from explorer.methods import Schedule

SAME = 1e-9  # scores × 100 that differ by less are equal


def is_better(score: float, best: float, lower_loss: Callable[[], bool | None]) -> bool:
    """Whether a score is better than the best one before it.

    A set that is small or solved gives many checkpoints one score. The first of them is the least trained, so that of
    equal ones the loss on held-out rows decides (`lower_loss`), and the later one is better if that is not known.
    """
    return score > best if abs(score - best) > SAME else lower_loss() is not False


def tied(scores: Sequence[float]) -> int:
    """How many of the scores are equal to the best one."""
    known = [score for score in scores if not math.isnan(score)]
    return sum(max(known) - score <= SAME for score in known)


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
