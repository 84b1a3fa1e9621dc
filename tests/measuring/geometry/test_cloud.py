"""Test embedding geometry where it is known."""

import math

import numpy as np
import pytest

from explorer.measuring.geometry import cloud as geometries
from explorer.measuring.geometry.cloud import alignment, geometry


@pytest.fixture
def vectors():
    random = np.random.default_rng(0)
    return (random.normal(size=(57, 12)) * np.linspace(0.3, 2, 12) + 0.7).astype(np.float32)


def unit(vectors):
    return [row / math.sqrt(sum(float(x) ** 2 for x in row)) for row in vectors.astype(float)]


def test_cosines_in_blocks_of_rows_change_nothing(vectors, monkeypatch):
    whole = geometry(vectors)
    monkeypatch.setattr(geometries, "_ROWS", 10)
    for name, value in vars(geometry(vectors)).items():
        assert getattr(whole, name) == pytest.approx(value, abs=1e-6), name


def test_a_scale_and_a_turn_change_nothing(vectors):
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(12, 12)))[0]
    one, other = geometry(vectors), geometry((vectors @ turn * 5).astype(np.float32))
    for name, value in vars(one).items():
        assert getattr(other, name) == pytest.approx(value, abs=1e-4), name


def test_a_cone_is_told_from_a_ball():
    random = np.random.default_rng(0)
    ball, cone = random.normal(size=(300, 64)), random.normal(size=(300, 64)) * 0.1 + 1
    assert abs(geometry(ball).strangers) < 0.02
    assert geometry(cone).strangers > 0.98
    assert geometry(cone).uniformity > geometry(ball).uniformity + 2


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_few_sentences_have_what_can_be_said_of_them(count):
    found = geometry(np.eye(4, dtype=np.float32)[:count])
    assert found.sentences == count
    assert math.isnan(found.strangers) == (count < 2)
    assert count < 2 or found.strangers == pytest.approx(0)


@pytest.mark.parametrize("rounding", [0, 1e-8])
def test_identical_sentences_are_one_point(rounding):
    noise = np.random.default_rng(0).uniform(-rounding, rounding, (200, 8))
    found = geometry(1 + noise)
    assert found.strangers == pytest.approx(1)
    assert found.uniformity == pytest.approx(0, abs=1e-6)
    assert math.isnan(found.first_direction)
    assert math.isnan(found.hubness)


def test_alignment_is_the_mean_squared_distance_of_partners(vectors):
    one, other = vectors[:20], vectors[20:40]
    slow = [sum((a - b) ** 2) for a, b in zip(unit(one), unit(other), strict=True)]
    assert alignment(one, other) == pytest.approx(np.mean(slow), abs=1e-5)
    assert alignment(one, one * 3) == pytest.approx(0, abs=1e-6)
    assert math.isnan(alignment(one[:0], other[:0]))
