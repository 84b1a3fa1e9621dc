"""Test that the best layer & pooling is chosen on the dev set alone, of one model or of two."""

from dataclasses import replace

import numpy as np
import pytest

from explorer.data import sample
from explorer.data.text_sets import GradedPairs
from explorer.encoding.read.pooling import GRID_POOLINGS, OWN, Reading
from explorer.errors import BadChoice
from explorer.measuring.scores import best_cell, bootstrap
from explorer.measuring.scores.best_cell import pick
from explorer.measuring.scores.bootstrap import Interval
from explorer.measuring.scores.layer_scores import score_layers
from explorer.progress import finish


@pytest.fixture(scope="module")
def halves(bundled_scores):
    whole = sample.pairs()
    return tuple(bundled_scores.of_pairs(whole.rows_of(half)) for half in (sample.dev(), sample.test()))


def slow_order(scores):
    cells = [Reading(row, pooling) for row in scores.rows for pooling in GRID_POOLINGS]
    return sorted([cell for cell in cells if np.isfinite(scores.score(cell))], key=scores.score, reverse=True)


def test_best_and_runner_up_are_those_of_the_dev_set(halves):
    dev, test = halves
    found = best_cell.choose(dev, test)
    assert [found.best, found.runner_up] == slow_order(dev)[:2]
    assert (found.dev_score, found.test_score) == (dev.score(found.best), test.score(found.best))


@pytest.mark.parametrize(("metric", "aggregate"), [("Spearman", "all"), ("Pearson", "all"), ("Spearman", "wmean")])
def test_the_intervals_are_those_of_the_bootstrap_on_the_test_set(halves, metric, aggregate):
    dev, test = halves
    found = best_cell.choose(dev, test, metric, aggregate)
    for rival, interval in ((found.runner_up, found.over_runner_up), (OWN, found.over_default)):
        sides = test.cosines_of(rival), test.cosines_of(found.best)
        slow = bootstrap.difference(test.gold, *sides, test.parts, metric, aggregate)
        for side in ("difference", "low", "high"):
            assert getattr(interval, side) == pytest.approx(float(getattr(slow, side)), abs=1e-9)
        gap = test.score(found.best, metric, aggregate) - test.score(rival, metric, aggregate)
        assert float(interval.difference) == pytest.approx(gap, abs=0.01)


def test_scores_of_a_half_are_those_of_the_half_encoded_alone(tiny_encoder, bundled_scores):
    whole = sample.pairs()
    scores = finish(score_layers(tiny_encoder, whole))
    alone = finish(score_layers(tiny_encoder, sample.test()))
    part = scores.of_pairs(whole.rows_of(sample.test()))
    assert (part.gold.tolist(), part.parts) == (alone.gold.tolist(), alone.parts)
    assert np.abs(part.cosines - alone.cosines).max() < 1e-5
    assert bundled_scores.of_pairs(range(240)).table() == pytest.approx(bundled_scores.table(), nan_ok=True)
    assert bundled_scores.of_pairs(range(9)).own.shape == (9,)


def test_without_a_model_default_or_a_score_there_is_none_to_compare_with(tiny_encoder, few_pairs):
    scores = finish(score_layers(tiny_encoder, few_pairs))
    found = best_cell.choose(scores, scores)
    assert scores.own is None
    assert found.over_default is None
    assert found.over_runner_up.difference.shape == ()
    pairs = GradedPairs("few", ("a b", "c d", "e f"), ("g h", "i j", "k l"), (1.0, 2.0, 3.0), ("x", "y", "z"))
    scores = finish(score_layers(tiny_encoder, pairs))
    assert best_cell.choose(scores, scores, aggregate="mean") is None


@pytest.mark.parametrize(
    ("default", "second", "holds"),
    [((1, 0.5, 2), (1, 0.5, 2), True), ((-1, -2, 0.5), None, True), ((-1, -2, -0.5), (1, 0.5, 2), False),
     ((1, 0.5, 2), (-1, -2, -0.5), False), (None, None, True)],
)  # fmt: skip
def test_the_choice_holds_unless_it_is_significantly_worse_than_what_it_was_preferred_to(default, second, holds):
    sides = [None if one is None else Interval(*map(np.asarray, one)) for one in (second, default)]
    assert best_cell.BestCell(OWN, 80.0, 70.0, None, *sides).holds is holds


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ((0.96, -0.2, 2.1), "0.96 above B (-0.20 to 2.10), could be chance"),
        ((-1.5, -2.5, -0.5), "1.50 below B (-2.50 to -0.50), significant"),
        ((0, 0, 0), "equal to B"),
        ((0.001, -0.004, 0.002), "equal to B"),
        ((np.nan, np.nan, np.nan), "without a difference to B, which has no score on the test set"),
    ],
)
def test_a_difference_in_words(numbers, told):
    assert best_cell.difference_in_words(Interval(*map(np.asarray, numbers)), "B") == told


@pytest.fixture
def moved(bundled_scores):
    """The same encoder, its cosines so disturbed that another reading is its best."""
    noise = np.linspace(0, 3, bundled_scores.cosines.shape[0])[:, None, None]
    random = np.random.default_rng(0).normal(size=bundled_scores.cosines.shape)
    return replace(bundled_scores, cosines=(bundled_scores.cosines + noise * random).astype(np.float32))


def test_each_side_has_its_own_best_and_one_without_a_score_is_named(bundled_scores, moved):
    found = pick(sample.pairs(), (bundled_scores, moved), sample.pairs())
    assert found.readings[0] != found.readings[1]
    for scores, reading, told in zip((bundled_scores, moved), found.readings, found.scores, strict=True):
        assert told == scores.score(reading) == np.nanmax(scores.table())
    constant = replace(bundled_scores, cosines=np.ones_like(bundled_scores.cosines))
    with pytest.raises(BadChoice, match="No layer & pooling of B has a score on Sample pairs"):
        pick(sample.pairs(), (bundled_scores, constant), sample.pairs())


def test_pairs_in_both_are_counted_either_way_round(bundled_scores):
    dev = sample.pairs()
    here = GradedPairs(
        "here",
        (dev.first[0], dev.second[1], "new", dev.first[2]),
        (dev.second[0], dev.first[1], "pair", "x"),
        (1, 2, 3, 4),
        (),
    )
    found = pick(dev, (bundled_scores, bundled_scores), here)
    assert found.shared == 2
    assert "2 of the pairs scored here are among those" in found.words
    apart = pick(sample.dev(), (bundled_scores, bundled_scores), sample.test())
    assert apart.shared == 0
    assert "None of the pairs scored here were used" in apart.words
