"""Test the dev score: that of float64 cosines, missing if the precision cannot rank the pairs."""

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from explorer.data.text_sets import GradedPairs
from explorer.measuring.geometry.vector_geometry import checkup
from explorer.measuring.scores.judge import PairJudge

COUNT = 60


@pytest.fixture(scope="module")
def pairs():
    gold = tuple(np.random.default_rng(0).integers(0, 6, COUNT).astype(float).tolist())
    texts = [f"sentence {number}" for number in range(2 * COUNT)]
    return GradedPairs("made up", tuple(texts[:COUNT]), tuple(texts[COUNT:]), gold, ("",) * COUNT)


def vectors(apart):
    """Sentences (sentence, width) that are about so far apart, as a share of their length."""
    random = np.random.default_rng(1)
    length = np.sqrt(2 * 48)
    noise = random.normal(size=(2 * COUNT, 48)) * apart / np.sqrt(2 * 48) * random.uniform(0.5, 1.5, (2 * COUNT, 1))
    return torch.from_numpy(((random.normal(size=48) / np.sqrt(48) + noise) * length).astype(np.float32))


@pytest.mark.parametrize("apart", [1e-4, 1.0])
def test_the_score_is_that_of_wider_cosines(pairs, apart):
    found = vectors(apart)
    wide = found.numpy().astype(np.longdouble)
    wide /= np.sqrt((wide * wide).sum(1, keepdims=True))
    place = {text: at for at, text in enumerate(pairs.sentences)}
    cosines = [
        float((wide[place[one]] * wide[place[other]]).sum() - 1)
        for one, other in zip(pairs.first, pairs.second, strict=True)
    ]
    wanted = 100 * spearmanr(pairs.gold, cosines)[0]
    assert checkup(PairJudge(pairs), found).score == pytest.approx(wanted, abs=0.01)


def test_bfloat16_scores_only_what_is_further_apart_than_it_rounds(pairs):
    assert np.isnan(checkup(PairJudge(pairs), vectors(1e-3), precision="bfloat16").score)
    assert np.isfinite(checkup(PairJudge(pairs), vectors(1e-1), precision="bfloat16").score)
    assert np.isfinite(checkup(PairJudge(pairs), vectors(1e-3), precision="float32").score)
    assert np.isnan(checkup(PairJudge(pairs), torch.ones(2 * COUNT, 8)).score), "one vector for all"
