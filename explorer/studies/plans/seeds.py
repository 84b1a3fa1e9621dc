"""One difference from those of several seeds, with an interval that holds the chance of the items and of the training.

Trainings that differ by their seed alone differ by more than nothing: with one seed, the interval over test items is of
this one model, and cannot tell what another training would give.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean, variance

from explorer.measuring.scores.bootstrap import LEVEL, student
from explorer.measuring.scores.judge import Gap
from explorer.measuring.scores.power import POWER
from explorer.measuring.scores.verdict import Verdict, edge_of

EDGE = (1 + LEVEL) / 2
ONE_SEED = "one seed cannot tell, since trainings that differ by their seed alone differ too"


def over_seeds(gaps: Sequence[Gap]) -> Gap:
    """The mean of the seeds' differences with its 95 % interval; that of the items for a single seed.

    All seeds have the same items, so the variance of the items stays as it is, and that of the mean over seeds adds to
    it. The degrees of freedom of the sum are those of Welch and Satterthwaite (1946): few for seeds that differ much.
    """
    if len(gaps) == 1:
        return gaps[0]
    middle = fmean(one.difference for one in gaps)
    of_mean = variance([one.difference for one in gaps], middle) / len(gaps)

    def half(sides: Sequence[float]) -> float:
        of_items = (fmean(sides) / NormalDist().inv_cdf(EDGE)) ** 2
        return student(EDGE, _freedom(of_items, of_mean, len(gaps))) * math.sqrt(of_items + of_mean)

    below = half([one.difference - one.low for one in gaps])
    return Gap(middle, middle - below, middle + half([one.high - one.difference for one in gaps]))


def wider_smallest(tried: int) -> float:
    """By how much the smallest gain that is told with 80 % is larger, if it is that of the best of several."""
    above = NormalDist().inv_cdf(POWER)
    return (edge_of(tried) + above) / (edge_of(1) + above)


def needed_over_seeds(verdicts: Sequence[Verdict], difference: float) -> int | None:
    """How many items tell a difference, by what each seed's difference needs; None if one of them is no gain.

    The items that a gain needs grow with the inverse of its square.
    """
    known = [(one.items_needed, one.difference) for one in verdicts if one.items_needed and one.difference]
    if difference <= 0 or not known or len(known) < len(verdicts):
        return None
    return round(fmean(items * (gain / difference) ** 2 for items, gain in known))


def _freedom(of_items: float, of_mean: float, seeds: int) -> float:
    return math.inf if not of_mean else (seeds - 1) * ((of_items + of_mean) / of_mean) ** 2
