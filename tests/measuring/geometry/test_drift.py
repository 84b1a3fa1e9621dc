"""Test drift: what CKA does not depend on, and the shift."""

import math

import numpy as np
import pytest

from explorer.measuring.geometry.drift import alike, moved, shift


@pytest.fixture
def sides():
    random = np.random.default_rng(0)
    one = random.normal(size=(80, 12))
    return one.astype(np.float32), (one[:, :5] @ random.normal(size=(5, 7)) + random.normal(size=(80, 7))).astype(
        np.float32
    )


def test_a_model_is_like_itself_however_it_is_turned_moved_and_scaled(sides):
    one, _ = sides
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(12, 12)))[0]
    assert alike(one, one) == pytest.approx(1)
    assert alike(one, one @ turn * 3 + 7) == pytest.approx(1, abs=1e-6)
    assert alike(one, one @ np.diag(np.arange(12))) < 0.99, "it is no matter of any linear map"


def test_what_never_varies_is_like_nothing(sides):
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
    assert found[7] == pytest.approx(
        1 - float(one[7] @ other[7]) / np.linalg.norm(one[7]) / np.linalg.norm(other[7]), abs=1e-6
    )
    assert shift(one, other) == pytest.approx(np.mean(np.delete(found, 5))), "of those that have a length"
    assert math.isnan(shift(one, 0 * other))
    assert moved(one, one).round(6).max() == 0
    assert moved(one, np.ones((40, 7))) is None, "vectors of different widths have no cosine"
