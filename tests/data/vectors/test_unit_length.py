"""Test that vectors of any size get length 1, with the digits of a plain division where that is possible."""

import numpy as np
import pytest

from explorer.data.vectors.unit_length import unit

VECTORS = np.random.default_rng(0).normal(size=(50, 7)).astype(np.float32)


@pytest.mark.parametrize("factor", [1, 1e30, 1e-30, 1e-42, -3e37])
def test_the_size_of_the_numbers_does_not_matter(factor):
    scaled = VECTORS * np.float32(factor)
    exact = scaled.astype(float) / np.linalg.norm(scaled.astype(float), axis=1, keepdims=True)
    np.testing.assert_allclose(unit(scaled), exact, atol=1e-7)


@pytest.mark.parametrize("factor", [1e300, 1e-300, 1e-320])
def test_nor_does_it_in_float64(factor):
    exact = VECTORS.astype(float) / np.linalg.norm(VECTORS.astype(float), axis=1, keepdims=True)
    np.testing.assert_allclose(unit(VECTORS.astype(float) * factor), exact, atol=1e-3 if factor < 1e-310 else 1e-7)


def test_vectors_of_usual_size_have_the_digits_of_a_plain_division():
    lengths = np.linalg.norm(VECTORS, axis=1, keepdims=True)
    np.testing.assert_array_equal(unit(VECTORS), VECTORS / lengths)


def test_zero_vectors_stay_and_numbers_that_are_not_finite_do_not_look_finite():
    odd = np.array([[0, 0], [np.nan, 1], [np.inf, 1], [1, 0]], dtype=np.float32)
    with np.errstate(invalid="ignore"):
        found = unit(odd)
    assert found[[0, 3]].tolist() == [[0, 0], [1, 0]]
    assert np.isnan(found[1:3]).any(axis=1).all()
    assert unit(np.empty((2, 0), dtype=np.float32)).shape == (2, 0)
    assert unit(np.empty((0, 2), dtype=np.float32)).shape == (0, 2)
