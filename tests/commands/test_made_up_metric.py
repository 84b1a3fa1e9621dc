"""Test that a metric is one row: a made-up one is found wherever metrics are read, with intervals of its own."""

import numpy as np
import pytest

from explorer.evaluating.tasks import sts, word_models
from explorer.measuring.scores import bootstrap, metrics
from explorer.measuring.scores.layer_scores import score_layers
from explorer.measuring.scores.metrics import METRICS, Metric
from explorer.progress import finish
from explorer.ui.widgets import controls


def concordance(gold, system):
    """Lin's concordance (1989): 2 cov / (var + var + (difference of means)²), along the last axis."""
    gold_mean, mean = gold.mean(), system.mean(-1)
    shared = 2 * ((gold - gold_mean) * (system - mean[..., None])).mean(-1)
    return shared / (gold.var() + system.var(-1) + (gold_mean - mean) ** 2)


def concordance_of_draws(gold, times):
    """The same of each resample, from how often it has each pair."""
    share = times.T.astype(float) / len(gold)

    def of_column(cosines):
        gold_mean, mean = share @ gold, share @ cosines
        shared = 2 * (share @ (gold * cosines) - gold_mean * mean)
        spread = share @ gold**2 - gold_mean**2 + share @ cosines**2 - mean**2
        return shared / (spread + (gold_mean - mean) ** 2)

    return of_column


HELP = "Lin's concordance, × 100."
MADE_UP = Metric("Concordance", concordance, concordance_of_draws, HELP)


@pytest.fixture(autouse=True)
def made_up(monkeypatch):
    monkeypatch.setitem(METRICS, MADE_UP.name, MADE_UP)


def slowly(gold, cosines):
    """The same with loops."""
    count = len(gold)
    means = [sum(values) / count for values in (gold, cosines)]
    spreads = [
        sum((value - mean) ** 2 for value in values) for values, mean in zip((gold, cosines), means, strict=True)
    ]
    shared = sum((one - means[0]) * (other - means[1]) for one, other in zip(gold, cosines, strict=True))
    return 2 * shared / (sum(spreads) + count * (means[0] - means[1]) ** 2)


def test_scores_of_layers_and_results_have_it(few_pairs, bundled_encoder):
    scores = finish(score_layers(bundled_encoder, few_pairs))
    assert scores.metrics == ("Spearman", "Pearson", "Concordance")
    cosines = scores.cosines_of(scores.grid[-1])
    assert scores.score(scores.grid[-1], "Concordance") == pytest.approx(100 * slowly(scores.gold, cosines))
    found = sts.of_scores(scores, few_pairs)
    assert found.measures == ("spearman", "pearson", "concordance")
    assert found.score(scores.grid[-1].title, "concordance") == scores.score(scores.grid[-1], "Concordance")
    assert "concordance" in word_models.word_scores(word_models.BagOfWords(), few_pairs).measures
    assert controls.what_is_good("Concordance") == HELP


def test_its_interval_is_that_of_its_own_draws():
    gold, one, other = np.random.default_rng(3).normal(size=(3, 12))
    found = bootstrap.difference(gold, one, other, metric="Concordance", resamples=50, seed=5)
    drawn = []
    for places in np.random.default_rng(5).multinomial(12, np.full(12, 1 / 12), size=50):
        inside = np.repeat(np.arange(12), places)
        drawn.append(slowly(gold[inside], other[inside]) - slowly(gold[inside], one[inside]))
    assert float(found.difference) == pytest.approx(100 * (slowly(gold, other) - slowly(gold, one)))
    assert (float(found.low), float(found.high)) == pytest.approx(tuple(100 * np.nanquantile(drawn, [0.025, 0.975])))


def test_commands_take_it_in_any_case_and_name_it_among_those_there_are(place, answered, refused):
    told = answered("compare", place.model, place.model, "--sts", place.test, "--metric", "concordance", "--json")
    assert told["metric"] == "Concordance"
    err = refused("score", place.model, "--metric", "tau")
    assert (
        "no metric 'tau'. Choose one that the set has: of scored pairs Spearman, Pearson, average precision, F1, "
        "best accuracy, Concordance; of " in err
    )


def test_names_are_found_in_any_case():
    for name, written in (("Spearman", "SPEARMAN"), ("F1", "f1"), ("average precision", "Average Precision")):
        assert metrics.named(written) == name
