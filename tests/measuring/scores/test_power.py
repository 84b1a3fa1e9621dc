"""Test the smallest gain against exact and simulated power, and the number of items that a gain needs."""

import numpy as np
import pytest
from scipy.stats import multinomial
from sklearn.metrics import average_precision_score

from benchmarks import coverage
from explorer.evaluating.kinds.probe_pairs import ProbeJudge
from explorer.evaluating.kinds.scored_pairs import PairJudge
from explorer.evaluating.kinds.triplets import TripletJudge
from explorer.measuring.scores import power
from explorer.measuring.scores.bootstrap import difference
from explorer.measuring.scores.metrics import AVERAGE_PRECISION, MEAN, SPEARMAN


def accuracy(items, changed):
    """Right and wrong items, half of either, of which a share changed, as many for the better as for the worse."""
    one = np.arange(items) % 2.0
    other = one.copy()
    other[: round(changed * items)] = 1 - other[: round(changed * items)]
    return one, other


def exact_power(items, changed, gain):
    """The probability that the interval of right and wrong items is above 0."""
    changed = max(changed, gain)
    places = np.array([(better, worse) for better in range(items + 1) for worse in range(items + 1 - better)])
    shares = [(changed + gain) / 2, (changed - gain) / 2, 1 - changed]
    chances = multinomial.pmf(np.column_stack([places, items - places.sum(1)]), items, shares)
    places, chances = places[chances > 1e-7], chances[chances > 1e-7]
    gaps = np.zeros((len(places), items))
    for row, (better, worse) in zip(gaps, places, strict=True):
        row[:better], row[better : better + worse] = 1, -1
    found = difference(np.zeros(items), np.zeros_like(gaps), gaps, metric=MEAN)
    return chances[found.low > 1e-9].sum()


@pytest.mark.parametrize("items", [20, 60, 240])
@pytest.mark.parametrize("changed", [0.0, 0.1, 0.3])
def test_the_smallest_gain_of_right_and_wrong_items_is_told_in_80_percent_of_samples(items, changed):
    gain = power.of_items(*accuracy(items, changed)).smallest_gain()
    assert exact_power(items, changed, gain / 100) == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize("items", [60, 240])
def test_the_smallest_gain_of_reciprocal_ranks_is_told_in_80_percent_of_samples(items):
    population, exists = coverage.smallest(lambda strength: coverage.of_ranks(2 * strength, items, 0.5), items, 60)
    assert exists
    assert (population.intervals(items, 1000, seed=1).low > 0).mean() == pytest.approx(0.8, abs=0.06)


def test_the_smallest_gain_of_pairs_is_told_in_80_percent_of_samples_whatever_gain_was_seen():
    """A gain of 7.5 points: by samples of models that are as good, and by samples of such a gain."""
    gaining = coverage.of_pairs(0.22, error=0.9)
    assert (gaining.intervals(60, 200).low > 0).mean() == pytest.approx(0.8, abs=0.08)
    for population in (gaining, coverage.of_pairs(0.0, error=0.9)):
        assert np.median(population.smallest_gains(60, 80)) == pytest.approx(gaining.truth, abs=1.2)


def test_few_pairs_tell_no_gain_of_most_samples():
    strongest = coverage.of_pairs(0.95, error=0.9)
    assert np.median(strongest.smallest_gains(20, 30)) == 100, "none"
    assert (strongest.intervals(20, 100).low > 0).mean() < 0.75


def spreads():
    random = np.random.default_rng(2)
    gold = random.uniform(0, 5, 60)
    one, other = gold + random.normal(0, 1.5, 60), gold + random.normal(0, 1.2, 60)
    ranks = 1 / random.integers(1, 9, (2, 60))
    return {
        "pairs": coverage.spread(gold, one, other),
        "equal pairs": coverage.spread(gold, one, one),
        "accuracy": power.of_items(*accuracy(60, 0.2)),
        "no item changed": power.of_items(*accuracy(60, 0.0)),
        "ranks": power.of_items(*ranks),
    }


@pytest.mark.parametrize("kind", spreads())
def test_a_gain_needs_the_fewest_items_whose_smallest_gain_it_is(kind):
    spread = spreads()[kind]
    assert spread.items_needed(spread.smallest_gain()) == pytest.approx(60, abs=1)
    for gain in (20.0, 4.0, 0.8):
        items = spread.items_needed(gain)
        assert spread.smallest_gain(items) <= gain + 1e-3
        fewer = spread.smallest_gain(items - 1)
        assert fewer is None or fewer > gain - 1e-3
    assert [spread.items_needed(gain) for gain in (0.0, -3.0, float("nan"), 1e-4)] == [None] * 4


def test_without_a_change_the_spread_is_assumed_and_says_so():
    found = spreads()
    assert {kind for kind, spread in found.items() if spread.assumed} == {"equal pairs", "no item changed"}
    assert found["no item changed"].smallest_gain() == pytest.approx(13, abs=0.5), "eight of 60, so that six are seen"
    assert 8 < found["equal pairs"].smallest_gain() < 12
    assert found["equal pairs"].smallest_gain(240) < 5


def test_a_gain_that_there_is_no_room_for_is_none():
    one = np.ones(60)
    one[:3] = 0
    assert power.of_items(one, one).room == pytest.approx(0.05)
    assert power.of_items(one, one).smallest_gain() is None
    assert power.of_items(one, one).smallest_gain(600) < 5
    gold = np.arange(20.0)
    assert coverage.spread(gold, gold + np.array([0, 1.5] * 10), gold).smallest_gain() is None


def test_a_score_that_is_missing_has_no_spread():
    gold = np.arange(8.0)
    assert coverage.spread(gold, np.ones(8), gold) is None
    assert power.of_items(np.ones(8), np.full(8, np.nan)) is None


class Judged(PairJudge, TripletJudge, ProbeJudge):
    """Items alone, without vectors."""

    def __init__(self, gold, measure=SPEARMAN):
        self.gold, self.measure = gold, measure


def test_a_judge_has_the_spread_of_its_score():
    random = np.random.default_rng(0)
    one, other = random.uniform(size=(2, 30))
    judge = Judged(np.arange(30.0))
    gap = difference(judge.gold, one, other)
    assert PairJudge.spread(judge, one, other, gap) == coverage.spread(judge.gold, one, other)
    labels = Judged(np.arange(30) % 2.0, AVERAGE_PRECISION)
    of_labels = PairJudge.spread(labels, one, other, difference(labels.gold, one, other, metric=AVERAGE_PRECISION))
    assert of_labels.room == pytest.approx(1 - average_precision_score(labels.gold, one))
    assert TripletJudge.spread(judge, one, other, gap) == power.of_items(one, other)
    assert ProbeJudge.spread(judge, one, other, gap) is None
