"""Test what a product needs: precision at a stated recall by scikit-learn's curve, and where queries find a passage."""

import numpy as np
import pytest
from sklearn.metrics import precision_recall_curve, precision_score, recall_score

from explorer.measuring.scores import bootstrap, calibration
from explorer.measuring.scores.bootstrap import mean_difference
from explorer.measuring.scores.calibration import MatchOptions, share
from explorer.measuring.scores.in_use import AtRecall, FoundFirst, TooFewMatches, in_use

RECALL = 0.8


def labelled(count, seed, digits):
    """Which pairs match, and cosines of two models, some of them equal."""
    random = np.random.default_rng(seed)
    matches = (random.random(count) < 0.4).astype(float)
    errors = random.normal(size=count)
    return matches, *(np.round(matches + spread * errors, digits) for spread in (1.2, 0.8))


def kept(test, dev=None):
    """The arrays of a run."""
    names = "match", "cosine before", "cosine after"
    found = {f"test {name}": side for name, side in zip(names, test, strict=True)}
    return found | {f"dev {name}": side for name, side in zip(names, dev or (), strict=False)}


def threshold(matches, cosines):
    """The highest cosine with this recall, by the curve of scikit-learn."""
    _, recall, thresholds = precision_recall_curve(matches, cosines)
    return thresholds[np.flatnonzero(recall[:-1] >= RECALL - 1e-12).max()]


@pytest.mark.parametrize("digits", [1, 9])
@pytest.mark.parametrize("with_dev", [True, False])
def test_precision_and_recall_at_the_threshold_of_dev_are_those_of_scikit_learn(digits, with_dev):
    test, dev = labelled(300, 1, digits), labelled(200, 2, digits)
    found = in_use(kept(test, dev if with_dev else None), RECALL)
    chosen = dev if with_dev else test
    assert isinstance(found, AtRecall)
    for side in (0, 1):
        at = threshold(chosen[0], chosen[1 + side])
        called = test[1 + side] >= at
        assert found.thresholds[side] == at
        assert found.precision[side].value == pytest.approx(precision_score(test[0], called), abs=1e-12)
        assert found.found[side] == pytest.approx(recall_score(test[0], called), abs=1e-12)
        (_, listed) = calibration.thresholds(chosen[1 + side], chosen[0] == 1, MatchOptions(at_recall=RECALL))
        assert found.thresholds[side] == listed.cosine, "the threshold that is shown where a recall is asked for"
    gap = found.precision[1].value - found.precision[0].value
    assert found.gap.difference == pytest.approx(100 * gap)
    assert (found.pairs, found.matches, found.dev_pairs) == (300, test[0].sum(), 200 if with_dev else 0)


@pytest.mark.parametrize("with_dev", [True, False])
def test_intervals_are_those_of_resamples_of_both_sets_that_are_scored_one_by_one(with_dev, monkeypatch):
    monkeypatch.setattr(bootstrap, "RESAMPLES", 100)  # each is equal, so that quantiles of fewer tell as much
    test, dev = labelled(80, 3, 2), labelled(70, 4, 2)
    found = in_use(kept(test, dev if with_dev else None), RECALL)
    random = np.random.default_rng(0)
    of_test = random.multinomial(80, np.full(80, 1 / 80), size=100)
    of_dev = random.multinomial(70, np.full(70, 1 / 70), size=100) if with_dev else of_test
    drawn = []
    for times, others in zip(of_test, of_dev, strict=True):
        rows, chosen = np.repeat(np.arange(80), times), np.repeat(np.arange(len(others)), others)
        source = dev if with_dev else test
        limits = [threshold(source[0][chosen], source[1 + side][chosen]) for side in (0, 1)]
        drawn.append([test[0][rows][test[1 + side][rows] >= limits[side]].mean() for side in (0, 1)])
    before, after = np.transpose(drawn)
    for side, values in zip(found.precision, (before, after), strict=True):
        assert (side.low, side.high) == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])), abs=1e-9)
    edges = np.quantile(100 * (after - before), [0.025, 0.975])
    assert (found.gap.low, found.gap.high) == pytest.approx(tuple(edges), abs=1e-7)


def test_too_few_matches_have_no_precision_and_say_which_set_lacks_them():
    few = tuple(side[:30] for side in labelled(300, 1, 9))
    matches = int(few[0].sum())
    assert in_use(kept(few), RECALL) == TooFewMatches("test", matches, 30 - matches)
    assert in_use(kept(labelled(300, 1, 9), few), RECALL) == TooFewMatches("dev", matches, 30 - matches)
    assert in_use({}, RECALL) is None


def test_queries_are_counted_by_where_a_right_passage_is():
    random = np.random.default_rng(5)
    ranks = random.integers(1, 21, size=(2, 60))
    first, ten = (ranks == 1).astype(float), (ranks <= 10).astype(float)
    arrays = {"test first 10 before": ten[0], "test first 10 after": ten[1]}
    found = in_use(arrays, RECALL)
    assert isinstance(found, FoundFirst)
    assert found.first is found.first_gap is None, "their measure does not tell it"
    assert found.ten == tuple(share(int(side.sum()), 60) for side in ten)
    arrays |= {"test rank 1 before": first[0], "test rank 1 after": first[1]}
    found = in_use(arrays, RECALL)
    assert found.first == tuple(share(int(side.sum()), 60) for side in first)
    assert found.first_gap.difference == pytest.approx(float(mean_difference(*first).difference))
