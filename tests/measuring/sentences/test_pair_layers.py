"""Test the contributions of layers to a pair's cosine against slow loops."""

import math

import numpy as np
import pytest

from explorer.encoding.read.pooling import POOLINGS
from explorer.measuring.sentences.pair_layers import contributions, pair_layers
from explorer.measuring.sentences.token_tables import pair_rows
from tests.tiny_models import LAYERS, POSITIONS, SENTENCES


def dot(one, other):
    return sum(a * b for a, b in zip(one, other, strict=True))


def slow_contributions(one, other):
    """Layer by layer and number by number."""
    found = []
    for layer in range(len(one)):
        below = layer - 1
        added = [a - (one[below][i] if layer else 0) for i, a in enumerate(one[layer])]
        added_other = [a - (other[below][i] if layer else 0) for i, a in enumerate(other[layer])]
        lengths = math.sqrt(dot(one[-1], one[-1]) * dot(other[-1], other[-1]))
        found.append((dot(added, other[-1]) + dot(one[-1], added_other)) / 2 / lengths)
    return found


def test_contributions_are_those_of_the_slow_loop_and_sum_to_the_cosine():
    chance = np.random.default_rng(0)
    one, other = chance.normal(size=(2, 5, 8))
    found = contributions(one, other)
    assert found == pytest.approx(slow_contributions(one.tolist(), other.tolist()))
    cosine = dot(one[-1], other[-1]) / math.sqrt(dot(one[-1], one[-1]) * dot(other[-1], other[-1]))
    assert found.sum() == pytest.approx(cosine)


def test_the_order_of_the_two_sentences_does_not_matter():
    one, other = np.random.default_rng(1).normal(size=(2, 4, 6))
    assert contributions(one, other) == pytest.approx(contributions(other, one))


def test_a_layer_that_changes_nothing_adds_nothing():
    one, other = np.random.default_rng(2).normal(size=(2, 4, 6))
    one[2], other[2] = one[1], other[1]
    assert contributions(one, other)[2] == pytest.approx(0)


def test_a_vector_without_a_length_has_no_cosine():
    one, other = np.ones((2, 3, 4))
    one[-1] = 0
    assert np.isnan(contributions(one, other)).all()


def test_the_pair_of_an_encoder_is_read_as_its_states_say(tiny_encoder):
    first, second = SENTENCES[3], SENTENCES[4]
    pair = pair_layers(tiny_encoder, first, second)
    assert pair.cosines.shape == (LAYERS + 1, len(POOLINGS))
    assert pair.contributions.sum(0) == pytest.approx(pair.cosines[-1])
    for column, pooling in enumerate(pair.poolings):
        one, other = (
            [POOLINGS[pooling].pool(layer, states.mask)[0].double().tolist() for layer in states.hidden]
            for states in (tiny_encoder.states([text]) for text in (first, second))
        )
        assert pair.contributions[:, column] == pytest.approx(slow_contributions(one, other), abs=1e-5)
        for layer in range(LAYERS + 1):
            cosine = dot(one[layer], other[layer]) / math.sqrt(
                dot(one[layer], one[layer]) * dot(other[layer], other[layer])
            )
            assert pair.cosines[layer, column] == pytest.approx(cosine, abs=1e-5)


def test_a_sentence_beside_itself_is_alike_in_every_layer(tiny_encoder):
    assert pair_layers(tiny_encoder, "no", "no").cosines == pytest.approx(np.ones((LAYERS + 1, len(POOLINGS))))


def test_it_says_which_sentence_was_cut(tiny_encoder):
    pair = pair_layers(tiny_encoder, "no", "a " * 3 * POSITIONS)
    assert (pair.cut, pair.max_length) == ((False, True), POSITIONS)


def test_the_table_has_a_row_for_every_layer_and_pooling(tiny_encoder):
    pair = pair_layers(tiny_encoder, *SENTENCES[:2])
    rows = pair_rows(pair)
    assert len(rows) == len(POOLINGS) * (LAYERS + 1)
    assert rows[len(POOLINGS) + 1] == {
        "layer": 1,
        "pooling": "mean",
        "cosine": round(float(pair.cosines[1, 1]), 6),
        "contribution": round(float(pair.contributions[1, 1]), 6),
    }
