"""Test the choice of a layer & pooling on half of the queries: by loops, on noise, and what is told of it."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from explorer.evaluating.tasks.layer_choice import intervals, told

TITLES = (*(f"mean of layer {layer}" for layer in range(40)), "model default")
QUERIES = tuple(f"query {number}" for number in range(60))


def noise(seed: int) -> np.ndarray:
    """Layers & poolings that are equally good: (layer & pooling, query)."""
    return np.random.default_rng(seed).uniform(size=(len(TITLES), len(QUERIES)))


def test_the_best_on_one_half_is_scored_on_the_other():
    scores = noise(3)
    by_hash = sorted(range(60), key=lambda place: hashlib.sha256(QUERIES[place].encode()).digest())
    first, second = by_hash[:30], by_hash[30:]
    best = max(range(len(TITLES)), key=lambda row: np.mean([scores[row, query] for query in first]))
    found = intervals(TITLES, scores, QUERIES, every=True).choice
    own, default = (np.mean([100 * scores[row, query] for query in second]) for row in (best, -1))
    assert found.title == TITLES[best]
    assert found.score == pytest.approx(own, abs=1e-4)
    assert found.default_score == pytest.approx(default, abs=1e-4)
    assert found.difference == pytest.approx(own - default, abs=1e-4)
    assert found.low < own - default < found.high


def test_of_layers_that_are_equally_good_none_gains_by_being_chosen():
    gains, inflated = [], []
    for seed in range(40):
        scores = noise(seed)
        gains.append(intervals(TITLES, scores, QUERIES, every=True).choice.difference)
        inflated.append(100 * (scores.mean(axis=1).max() - scores[-1].mean()))
    assert abs(np.mean(gains)) < 3 * np.std(gains) / np.sqrt(len(gains))
    assert np.mean(inflated) > 5, "the premise: the best on the same queries seems to gain"


def test_the_interval_of_the_model_default_is_about_two_standard_errors_each_way():
    default = noise(1)[-1]
    found = intervals(TITLES, noise(1), QUERIES, every=False)
    error = 100 * default.std(ddof=1) / np.sqrt(len(default))
    assert found.low == pytest.approx(100 * default.mean() - 1.96 * error, abs=error / 4)
    assert found.high == pytest.approx(100 * default.mean() + 1.96 * error, abs=error / 4)


def test_nothing_is_chosen_of_a_few_layers_or_by_a_few_queries():
    assert intervals(TITLES, noise(1), QUERIES, every=False).choice is None
    assert intervals(TITLES, noise(1)[:, :9], QUERIES[:9], every=True) is None
    assert intervals(TITLES, noise(1)[:, :19], QUERIES[:19], every=True).choice is None
    assert intervals(TITLES, noise(1)[:, :20], QUERIES[:20], every=True).choice


def test_a_layer_without_a_ranking_is_never_chosen():
    scores = noise(2)
    scores[:-1] = np.nan
    assert intervals(TITLES, scores, QUERIES, every=True).choice.title == "model default"


def test_a_model_default_without_a_ranking_has_no_interval():
    scores = noise(2)
    scores[-1] = np.nan
    assert intervals(TITLES, scores, QUERIES, every=True) is None


def test_interval_and_choice_are_told_in_words():
    found = intervals(TITLES, noise(3), QUERIES, every=True)
    one = found.choice
    for part in (f"{found.low:.2f} to {found.high:.2f}", one.title, f"{one.score:.2f}", f"{one.low:+.2f} to"):
        assert part in told(found)
    assert "Chosen" not in told(replace(found, choice=None))
