"""Test that a metric is one row: a made-up one is found wherever metrics are read, with intervals of its own."""

import json

import numpy as np
import pytest
from scipy import stats

from explorer.evaluating.tasks import sts, word_models
from explorer.measuring.scores import bootstrap, metrics
from explorer.measuring.scores.layer_scores import score_layers
from explorer.measuring.scores.metrics import METRICS, Metric
from explorer.progress import finish
from explorer.ui.widgets import score_options


def tau(gold, system):
    """Kendall's tau-b, column by column."""
    columns = system.reshape(-1, system.shape[-1])
    return np.array([stats.kendalltau(gold, column)[0] for column in columns]).reshape(system.shape[:-1])


def tau_of_draws(gold, times):
    """The same of each resample, written out as the drawn pairs."""

    def of_column(cosines):
        drawn = [np.repeat(np.arange(len(gold)), counts.astype(int)) for counts in times.T]
        return np.array([stats.kendalltau(gold[places], cosines[places])[0] for places in drawn])

    return of_column


@pytest.fixture(autouse=True)
def kendall(monkeypatch):
    monkeypatch.setitem(METRICS, "Kendall", Metric("Kendall", tau, tau_of_draws, "Kendall's tau-b, × 100."))


def test_scores_of_layers_and_results_have_it(few_pairs, bundled_encoder):
    scores = finish(score_layers(bundled_encoder, few_pairs))
    assert scores.metrics == ("Spearman", "Pearson", "Kendall")
    cosines = scores.cosines_of(scores.grid[-1])
    assert scores.score(scores.grid[-1], "Kendall") == pytest.approx(100 * stats.kendalltau(scores.gold, cosines)[0])
    found = sts.of_scores(scores, few_pairs)
    assert found.measures == ("spearman", "pearson", "kendall")
    assert found.score(scores.grid[-1].title, "kendall") == scores.score(scores.grid[-1], "Kendall")
    assert "kendall" in word_models.word_scores(word_models.BagOfWords(), few_pairs).measures
    assert score_options.what_is_good("Kendall") == "Kendall's tau-b, × 100."


def test_its_interval_is_that_of_its_own_draws():
    random = np.random.default_rng(3)
    gold, one, other = random.normal(size=(3, 12))
    found = bootstrap.difference(gold, one, other, metric="Kendall", resamples=50, seed=5)
    drawn = []
    for places in np.random.default_rng(5).multinomial(12, np.full(12, 1 / 12), size=50):
        inside = np.repeat(np.arange(12), places)
        drawn.append(tau(gold[inside], other[inside]) - tau(gold[inside], one[inside]))
    assert float(found.difference) == pytest.approx(100 * float(tau(gold, other) - tau(gold, one)))
    assert (float(found.low), float(found.high)) == pytest.approx(tuple(100 * np.nanquantile(drawn, [0.025, 0.975])))


def test_commands_take_it_in_any_case_and_name_it_among_those_there_are(place, said):
    code, out, _ = said("compare", place.model, place.model, "--sts", place.test, "--metric", "kendall", "--json")
    assert code == 0
    assert json.loads(out)["metric"] == "Kendall"
    code, _, err = said("score", place.model, "--metric", "tau")
    assert code == 1
    assert "no metric 'tau'. Choose one of Spearman, Pearson, average precision, F1, Kendall." in err


def test_names_are_found_in_any_case():
    assert [metrics.named(name) for name in ("SPEARMAN", "f1", "Average Precision")] == [
        "Spearman",
        "F1",
        "average precision",
    ]
