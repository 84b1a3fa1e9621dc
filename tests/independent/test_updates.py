"""Test the weights after every step of a run against AdamW by hand."""

import pytest

from tests.independent.adamw import METHOD, SCHEDULES, ByHand, assert_followed
from tests.trainings import furnish, in_no_time, new, train


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_step_of_a_run_is_adamw_by_hand(tmp_path, schedule):
    calm = furnish(tmp_path, dropout=0.0)
    with in_no_time():
        by_hand = ByHand(calm, schedule)
        run = train(new(calm, METHOD, settings=SCHEDULES[schedule]))
    if by_hand.chosen.clip:
        assert min(by_hand.lengths) > 1, "the premise: every gradient is clipped"
    assert_followed(run, by_hand)
