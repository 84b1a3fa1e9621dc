"""Test embedding geometry where it is known, what drift does not depend on, and the dev score in float64."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from explorer.data.text_sets import GradedPairs
from explorer.measuring.geometry import vector_geometry as geometries
from explorer.measuring.geometry.vector_geometry import alignment, alike, checkup, geometry, moved, shift
from explorer.measuring.scores.judge import PairJudge

COUNT = 60


@pytest.fixture
def vectors():
    return (np.random.default_rng(0).normal(size=(57, 12)) * np.linspace(0.3, 2, 12) + 0.7).astype(np.float32)


def unit(vectors):
    return [row / math.sqrt(sum(float(x) ** 2 for x in row)) for row in vectors.astype(float)]


def test_blocks_of_rows_a_scale_and_a_turn_change_nothing(vectors, monkeypatch):
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(12, 12)))[0]
    one, other = geometry(vectors), geometry((vectors @ turn * 5).astype(np.float32))
    for name, value in vars(one).items():
        assert getattr(other, name) == pytest.approx(value, abs=1e-4, nan_ok=True), name
    whole = geometry(vectors)
    monkeypatch.setattr(geometries, "_ROWS", 10)
    for name, value in vars(geometry(vectors)).items():
        assert getattr(whole, name) == pytest.approx(value, abs=1e-6, nan_ok=True), name


def test_a_cone_is_told_from_a_ball_and_alignment_is_the_mean_squared_distance_of_partners(vectors):
    random = np.random.default_rng(0)
    ball, cone = random.normal(size=(300, 64)), random.normal(size=(300, 64)) * 0.1 + 1
    assert abs(geometry(ball).random_pairs) < 0.02
    assert geometry(cone).random_pairs > 0.98
    assert geometry(cone).uniformity > geometry(ball).uniformity + 2
    one, other = vectors[:20], vectors[20:40]
    slow = [sum((a - b) ** 2) for a, b in zip(unit(one), unit(other), strict=True)]
    assert alignment(one, other) == pytest.approx(np.mean(slow), abs=1e-5)
    assert alignment(one, one * 3) == pytest.approx(0, abs=1e-6)
    assert math.isnan(alignment(one[:0], other[:0]))


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_few_sentences_have_what_can_be_said_of_them(count):
    found = geometry(np.eye(4, dtype=np.float32)[:count])
    assert found.sentences == count
    assert math.isnan(found.random_pairs) == (count < 2)
    assert count < 2 or found.random_pairs == pytest.approx(0)


@pytest.mark.parametrize("rounding", [0, 1e-8])
def test_identical_sentences_are_one_point(rounding):
    found = geometry(1 + np.random.default_rng(0).uniform(-rounding, rounding, (200, 8)))
    assert (found.random_pairs, found.uniformity) == (pytest.approx(1), pytest.approx(0, abs=1e-6))
    assert math.isnan(found.first_direction)
    assert math.isnan(found.hubness)


@pytest.fixture
def sides():
    random = np.random.default_rng(0)
    one = random.normal(size=(80, 12))
    other = one[:, :5] @ random.normal(size=(5, 7)) + random.normal(size=(80, 7))
    return one.astype(np.float32), other.astype(np.float32)


def test_a_model_is_like_itself_however_it_is_turned_and_what_never_varies_is_like_nothing(sides):
    one, _ = sides
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(12, 12)))[0]
    assert alike(one, one) == pytest.approx(1)
    assert alike(one, one @ turn * 3 + 7) == pytest.approx(1, abs=1e-6)
    assert alike(one, one @ np.diag(np.arange(12))) < 0.99, "it is no matter of any linear map"
    assert math.isnan(alike(sides[0], np.ones((80, 3))))
    rounding = np.random.default_rng(3).uniform(-1e-8, 1e-8, (80, 3))
    assert math.isnan(alike(sides[0], 1 + rounding)), "what is the same but for rounding does not vary"


def test_a_shift_is_what_a_cosine_lacks_of_one(sides):
    one, other = sides
    random = one + np.random.default_rng(2).normal(size=one.shape)
    slow = [1 - float(a @ b) / (np.linalg.norm(a) * np.linalg.norm(b)) for a, b in zip(one, random, strict=True)]
    assert shift(one, random) == pytest.approx(np.mean(slow), abs=1e-6)
    assert shift(one, one * 2) == pytest.approx(0, abs=1e-6)
    assert math.isnan(shift(one, other)), "widths differ"


def test_how_far_a_sentence_moved_is_1_less_its_cosine_and_missing_without_a_length():
    random = np.random.default_rng(3)
    one, other = (random.normal(size=(40, 6)).astype(np.float32) for _ in range(2))
    other[5] = 0
    found = moved(one, other)
    assert np.isnan(found[5])
    cosine = float(one[7] @ other[7]) / np.linalg.norm(one[7]) / np.linalg.norm(other[7])
    assert found[7] == pytest.approx(1 - cosine, abs=1e-6)
    assert shift(one, other) == pytest.approx(np.mean(np.delete(found, 5))), "of those that have a length"
    assert math.isnan(shift(one, 0 * other))
    assert moved(one, one).round(6).max() == 0
    assert moved(one, np.ones((40, 7))) is None, "vectors of different widths have no cosine"


@pytest.fixture(scope="module")
def pairs():
    gold = tuple(np.random.default_rng(0).integers(0, 6, COUNT).astype(float).tolist())
    texts = [f"sentence {number}" for number in range(2 * COUNT)]
    return GradedPairs("made up", tuple(texts[:COUNT]), tuple(texts[COUNT:]), gold, ("",) * COUNT)


def near_vectors(apart):
    """Sentences (sentence, width) that are about so far apart, as a share of their length."""
    random = np.random.default_rng(1)
    length = np.sqrt(2 * 48)
    noise = random.normal(size=(2 * COUNT, 48)) * apart / np.sqrt(2 * 48) * random.uniform(0.5, 1.5, (2 * COUNT, 1))
    return torch.from_numpy(((random.normal(size=48) / np.sqrt(48) + noise) * length).astype(np.float32))


@pytest.mark.parametrize("apart", [1e-4, 1.0])
def test_the_score_is_that_of_wider_cosines(pairs, apart):
    found = near_vectors(apart)
    wide = found.numpy().astype(np.longdouble)
    wide /= np.sqrt((wide * wide).sum(1, keepdims=True))
    place = {text: at for at, text in enumerate(pairs.sentences)}
    both = [(wide[place[one]], wide[place[other]]) for one, other in zip(pairs.first, pairs.second, strict=True)]
    wanted = 100 * spearmanr(pairs.gold, [float((one * other).sum() - 1) for one, other in both])[0]
    assert checkup(PairJudge(pairs), found).score == pytest.approx(wanted, abs=0.01)


def test_bfloat16_scores_only_what_is_further_apart_than_it_rounds(pairs):
    assert np.isnan(checkup(PairJudge(pairs), near_vectors(1e-3), precision="bfloat16").score)
    assert np.isfinite(checkup(PairJudge(pairs), near_vectors(1e-1), precision="bfloat16").score)
    assert np.isfinite(checkup(PairJudge(pairs), near_vectors(1e-3), precision="float32").score)
    assert np.isnan(checkup(PairJudge(pairs), torch.ones(2 * COUNT, 8)).score), "one vector for all"
