"""Say if a training has learned nothing, and why: its weights are compared with those of the base."""

import math

import torch

from explorer.encoding.tune.tunable import effective
from explorer.measuring.comparing.nothing_learned import BELOW, NO_GRADIENT, NO_RATE, STOPPED, TIED, NothingLearned
from explorer.training.loop.choosing import SAME
from explorer.training.loop.learner import Learner


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
