"""Test early stopping: the rule of SG-BERT's code, and patience."""

from itertools import pairwise

import pytest

from explorer.methods import Schedule
from explorer.training.loop.learner import drops, enough, since_best

# reference for the rule of the code: with endurance 3 it stops at the 6th look, and the best is the 5th
PUBLISHED = [70.0, 69.0, 71.0, 70.0, 72.0, 71.0, 73.0]
NAN = float("nan")


def stops_at(scores, rule, endurance):
    """The number of the look, that of the base included, at which it is enough; None if it never is."""
    schedule = Schedule(early_stop=rule, endurance=endurance)
    return next((n for n in range(1, len(scores) + 1) if enough(scores[:n], schedule)), None)


def test_falls_are_counted_as_in_the_code_of_sg_bert():
    for base in (0.0, 99.0):
        assert stops_at([base, *PUBLISHED], "drops", 3) == 1 + 6
    assert max(range(6), key=PUBLISHED.__getitem__) == 4, "the best so far is the 5th"
    assert stops_at([0.0, *PUBLISHED], "no new best", 3) is None, "a patience that starts over would go on"


@pytest.mark.parametrize("endurance", [1, 2, 3, 4])
def test_a_fall_is_a_score_below_the_one_before(endurance):
    falls = [later < earlier for earlier, later in pairwise(PUBLISHED)]
    reached = [sum(falls[:number]) for number in range(len(falls) + 1)]
    expected = 1 + reached.index(endurance) + 1 if endurance in reached else None
    assert stops_at([0.0, *PUBLISHED], "drops", endurance) == expected


def test_a_score_as_before_is_no_fall():
    assert drops([70.0, 70.0, 69.0, 69.0]) == 1


def test_patience_starts_over_at_a_new_best_and_does_not_count_the_base():
    climbing = [90.0, 60.0, 59.0, 58.0, 61.0, 60.0, 60.0, 61.0]  # the base first
    assert stops_at(climbing, "no new best", 2) == 4
    assert stops_at(climbing, "no new best", 3) == 8, "as good as the best is no new best"
    assert stops_at(climbing, "no new best", 4) is None
    assert since_best(climbing[1:]) == 3


def test_without_a_rule_it_is_never_enough():
    assert stops_at([70.0] + [1.0] * 50, "none", 1) is None
    assert stops_at([70.0] + [1.0] * 50, "no new best", 3) == 5
    assert not enough([], Schedule(early_stop="no new best", endurance=1))
    assert not enough([], Schedule(early_stop="drops", endurance=1))


def test_a_score_that_is_missing_is_no_best():
    assert since_best([NAN, 70.0, 69.0, NAN]) == 2
    assert since_best([NAN, NAN]) == 2
    assert stops_at([80.0, NAN, 70.0, 69.0, 68.0], "no new best", 2) == 5
