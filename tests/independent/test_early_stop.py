"""Test when training stops and which checkpoint it keeps, for given dev scores, against the released code's counter."""

from dataclasses import replace

import numpy as np
import pytest

from explorer.methods import Schedule
from explorer.training.loop import learner
from explorer.training.loop.learner import enough
from tests.trainings import furnish, in_no_time, looks, new, train

HIGH = [90.0, 60.0, 61.0, 60.5, 62.0, 61.5, 63.0, 62.0, 64.0, 63.0, 65.0]  # the base first, far above the rest
LOW = [10.0, *HIGH[1:]]


def drops(scores, endurance):
    """The evaluation at which SG-BERT's code stops: a counter of falls that never starts over, from step 1 on."""
    before, falls = 0.0, 0
    for number, score in enumerate(scores[1:], start=1):
        falls += score < before
        before = score
        if falls == endurance:
            return number
    return None


def no_new_best(scores, endurance):
    """Patience: so many evaluations in a row without a new best, from step 1 on."""
    best, since = 0.0, 0
    for number, score in enumerate(scores[1:], start=1):
        best, since = (score, 0) if score > best else (best, since + 1)
        if since == endurance:
            return number
    return None


RULES = {"drops": drops, "no new best": no_new_best}


def stops_at(scores, rule, endurance):
    schedule = Schedule(early_stop=rule, endurance=endurance)
    return next((number for number in range(len(scores)) if enough(scores[: number + 1], schedule)), None)


def assert_same_stops(rule, base, endurance):
    """On dev scores at random, after that of the base."""
    random, stopped = np.random.default_rng(endurance), 0
    for _ in range(30):
        scores = [base, *random.integers(50, 70, 25).astype(float).tolist()]
        expected = RULES[rule](scores, endurance)
        assert stops_at(scores, rule, endurance) == expected
        stopped += expected is not None
    assert stopped, "otherwise nothing stops"


@pytest.mark.parametrize("endurance", [1, 2, 3, 10])
@pytest.mark.parametrize(("rule", "base"), [("drops", 0.0), ("no new best", 0.0), ("no new best", 99.0)])
def test_a_rule_stops_where_its_counter_does(rule, base, endurance):
    assert_same_stops(rule, base, endurance)


def test_a_high_score_of_the_base_is_no_fall():
    assert_same_stops("drops", 99.0, 1)


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    return furnish(tmp_path_factory.mktemp("calm"), dropout=0.0)


@pytest.mark.parametrize(
    ("rule", "scores", "endurance"),
    [("drops", LOW, 3), ("drops", HIGH, 3), ("no new best", HIGH, 2), ("none", HIGH, 1)],
)
def test_a_run_stops_there_and_keeps_the_best_step_after_the_base(calm, monkeypatch, rule, scores, endurance):
    given, look = iter(scores), learner.checkup
    monkeypatch.setattr(learner, "checkup", lambda *seen, **how: replace(look(*seen, **how), score=next(given)))
    steps = {"steps": len(scores) - 1, "evaluate_every": 1, "early_stop": rule, "endurance": endurance}
    with in_no_time():
        run = train(new(calm, "simcse", settings=steps))
    last = RULES[rule](scores, endurance) if rule in RULES else None
    last = len(scores) - 1 if last is None else last
    assert list(looks(run).values()) == scores[: last + 1]
    (result,) = run.status().results
    assert (result.steps, result.dev) == (last, max(scores[1 : last + 1]))
    assert result.best_step == scores.index(result.dev)
