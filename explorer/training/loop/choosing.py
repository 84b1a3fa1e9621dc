"""Choose the best checkpoint by the scores of evaluations, decide ties, stop early, and say if nothing was learned."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import torch

from explorer.encoding.tune.tunable import effective
from explorer.measuring.comparing.nothing_learned import (
    BELOW,
    NO_GRADIENT,
    NO_RATE,
    STOPPED,
    TIED,
    NothingLearned,
)
from explorer.methods import Schedule

if TYPE_CHECKING:
    from explorer.training.loop.learner import Learner

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


def nothing_learned(learner: Learner) -> NothingLearned | None:
    """Why the weights in place equal those of the base, compared one by one; None if one of them differs."""
    if not learner.starts_as_base or not _is_base(learner):
        return None
    dev, held_out = learner.prepared.dev, learner.held_out
    on, items = (dev.name, len(dev)) if held_out is None else (held_out.name, len(held_out))
    base, *later = learner.scores or [math.nan]
    known = [score for score in later if not math.isnan(score)]
    best = max(known, default=math.nan)
    if not later and learner.step < learner.total:
        why = STOPPED
    elif not any(learner.rate(step) for step in range(learner.step)):
        why = NO_RATE
    elif learner.best_step == 0:
        why = TIED if base - best <= SAME else BELOW
    else:
        why = NO_GRADIENT
    before, after = (None if math.isnan(score) else score for score in (base, best))
    return NothingLearned(why, len(later), before, after, on, items)


def _is_base(learner: Learner) -> bool:
    """Whether the weights that would be saved are the base's, to the bit."""
    exported, before = learner.method.exported, learner.prepared.base
    weights = dict((before or exported.encoder).model.named_parameters())
    now = effective(exported.model)
    return weights.keys() == now.keys() and all(
        torch.equal(weight.detach(), weights[name].to(weight)) for name, weight in now.items()
    )
