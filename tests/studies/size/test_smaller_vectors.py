"""Test that vectors are projected as by scikit-learn and stored as by sentence-transformers."""

import numpy as np
import pytest
import torch
from sentence_transformers.util import quantize_embeddings
from sklearn.decomposition import PCA

from explorer.errors import BadChoice
from explorer.measuring.scores.correlation import unit
from explorer.studies.size.smaller_vectors import (
    BITS,
    FLOAT16,
    INT8,
    STORAGES,
    bytes_of,
    compared,
    fitted,
    ranges_of,
    step_of,
)


@pytest.fixture
def vectors():
    return (np.random.default_rng(0).normal(size=(60, 16)) * np.geomspace(3, 0.1, 16) + 0.5).astype(np.float32)


@pytest.mark.parametrize("dimensions", [1, 5, 16])
def test_pca_is_that_of_scikit_learn(vectors, dimensions):
    ours = fitted("pca", vectors[:40], 16).onto(dimensions)
    exact = vectors.astype(np.float64)  # in float32 scikit-learn's own is off by 1e-5 on some processors
    theirs = PCA(dimensions).fit(exact[:40]).transform(exact)
    assert np.abs(np.abs(ours(vectors)) - np.abs(theirs)).max() < 2e-6  # signs are free
    assert np.allclose(ours.as_dense()(torch.from_numpy(vectors)).numpy(), ours(vectors), atol=1e-5)


def test_the_first_dimensions_are_the_vectors_cut_off_and_pca_needs_more_sentences_than_dimensions(vectors):
    assert np.array_equal(fitted("first", vectors[:3], 5)(vectors), vectors[:, :5])
    with pytest.raises(BadChoice, match=r"onto 9 dimensions needs more than 9 distinct sentences .* but there are 9 "):
        fitted("pca", vectors[:9], 9)


def test_int8_is_what_sentence_transformers_makes_of_the_ranges(vectors):
    known, step = unit(vectors), step_of(unit(vectors[:40]))
    ranges = np.repeat([[one] for one in ranges_of(step)], 16, axis=1)
    theirs = quantize_embeddings(known, precision="int8", ranges=ranges)
    ours = compared(INT8, known, step)
    assert np.array_equal(ours, theirs)
    inside = np.abs(known) <= 127 * step
    assert np.abs(ours * step - known)[inside].max() <= step * 0.5001  # the nearest code
    assert inside[:40].all()


def test_bits_are_compared_by_their_hamming_distance_and_take_an_eighth_of_a_byte(vectors):
    known = unit(vectors)
    ours = compared(BITS, known, 1.0)
    packed = quantize_embeddings(known, precision="ubinary")
    different = np.unpackbits(packed[:, None] ^ packed[None], axis=2).sum(axis=2)
    assert np.allclose(unit(ours) @ unit(ours).T, 1 - 2 * different / 16, atol=1e-6)
    assert [bytes_of(name, 20) for name in STORAGES] == [80, 40, 20, 3]
    assert np.array_equal(compared(FLOAT16, np.float32([[0.1]]), 1.0), [[np.float32(np.float16(0.1))]])
