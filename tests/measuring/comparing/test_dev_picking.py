"""Test that the layer & pooling picked on a dev set is the best, and that shared pairs are counted."""

from dataclasses import replace

import numpy as np
import pytest

from explorer.data import sample
from explorer.data.kinds import GradedPairs
from explorer.errors import BadChoice
from explorer.measuring.comparing.dev_picking import pick


@pytest.fixture
def moved(bundled_scores):
    """The same encoder, its cosines so disturbed that another reading is its best."""
    noise = np.linspace(0, 3, bundled_scores.cosines.shape[0])[:, None, None]
    random = np.random.default_rng(0).normal(size=bundled_scores.cosines.shape)
    return replace(bundled_scores, cosines=(bundled_scores.cosines + noise * random).astype(np.float32))


def test_each_side_has_its_own_best(bundled_scores, moved):
    found = pick(sample.pairs(), (bundled_scores, moved), sample.pairs())
    assert found.readings[0] != found.readings[1]
    for scores, reading, told in zip((bundled_scores, moved), found.readings, found.scores, strict=True):
        assert told == scores.score(reading) == np.nanmax(scores.table())


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
    assert "2 of the pairs scored here are among those" in found.told
    apart = pick(sample.dev(), (bundled_scores, bundled_scores), sample.test())
    assert apart.shared == 0
    assert "None of the pairs scored here were used" in apart.told


def test_a_side_without_a_score_is_named(bundled_scores):
    constant = replace(bundled_scores, cosines=np.ones_like(bundled_scores.cosines))
    with pytest.raises(BadChoice, match="No layer & pooling of B has a score on Sample pairs"):
        pick(sample.pairs(), (bundled_scores, constant), sample.pairs())
