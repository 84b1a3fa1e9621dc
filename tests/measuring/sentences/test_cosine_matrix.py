"""Test the cosine matrix against slow loops, and the order of sentences."""

import math

import numpy as np
import pytest

from explorer.measuring.sentences.cosine_matrix import clustered, foremost, similarities, similarity_rows


def slow_cosine(one, other):
    lengths = math.sqrt(sum(a * a for a in one)) * math.sqrt(sum(b * b for b in other))
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths


@pytest.fixture
def vectors():
    return np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32)


def test_cosines_are_those_of_the_slow_loop(vectors):
    found = similarities(vectors)
    for i, one in enumerate(vectors.tolist()):
        for j, other in enumerate(vectors.tolist()):
            assert found[i, j] == pytest.approx(slow_cosine(one, other))


def test_a_vector_without_a_length_has_no_cosine(vectors):
    vectors[2] = 0
    found = similarities(vectors)
    assert np.isnan(found[2]).all()
    assert np.isnan(found[:, 2]).all()
    assert np.isfinite(np.delete(np.delete(found, 2, 0), 2, 1)).all()
    rows = similarity_rows(tuple("abcdef"), found, None)
    assert {row["cosine A"] for row in rows if 3 in (row["number"], row["other number"])} == {None}


def test_clusters_stand_together_however_they_were_typed():
    chance = np.random.default_rng(1)
    middles = np.eye(3, 8)
    groups = np.array([0, 1, 2] * 4)
    vectors = middles[groups] + 0.05 * chance.normal(size=(12, 8))
    order = clustered(similarities(vectors))
    assert sorted(order) == list(range(12))
    assert np.count_nonzero(np.diff(groups[order])) == 2, "each group in one piece"


@pytest.mark.parametrize("count", [1, 2, 3, 200])
def test_an_order_of_the_same_sentence_many_times_has_each_once(count):
    order = clustered(similarities(np.ones((count, 4))))
    assert sorted(order) == list(range(count))


def test_sentences_without_cosines_are_in_the_order_too(vectors):
    vectors[[0, 3]] = 0
    assert sorted(clustered(similarities(vectors))) == list(range(6))


def test_the_foremost_pairs_are_those_that_changed_most_either_way(vectors):
    one = similarities(vectors)
    other = similarities(vectors[::-1].copy())
    changes = {(i, j): abs(other[i, j] - one[i, j]) for i in range(6) for j in range(i + 1, 6)}
    assert foremost(one, other, 4) == sorted(changes, key=lambda pair: -changes[pair])[:4]
    (alike,) = foremost(one, None, 1)
    assert one[alike] == max(one[i, j] for i in range(6) for j in range(i + 1, 6))


def test_two_sentences_are_one_pair():
    one = similarities(np.eye(2, 3))
    assert foremost(one, None, 5) == [(0, 1)]


def test_rows_hold_every_two_sentences_once(vectors):
    one = similarities(vectors)
    rows = similarity_rows(tuple("abcdef"), one, -one)
    assert len(rows) == 15
    for row in rows:
        i, j = row["number"] - 1, row["other number"] - 1
        assert (row["sentence"], row["other sentence"]) == ("abcdef"[i], "abcdef"[j])
        assert row["B - A"] == pytest.approx(-2 * one[i, j], abs=2e-6)
