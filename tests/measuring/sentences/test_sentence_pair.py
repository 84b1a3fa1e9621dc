"""Test cosines and contributions of two sentences by layer and by token, and their table rows."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from explorer.encoding.read.head import Dense, Head
from explorer.encoding.read.pooling import FUNCTIONS, OWN, POOLINGS, Reading, Row
from explorer.measuring.sentences.sentence_pair import (
    MOST,
    contributions,
    layer_rows,
    pair_layers,
    pair_rows,
    pooled_layers,
    share_rows,
    token_pair,
    token_rows,
    token_shares,
    token_states,
)
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish
from tests.tiny_models import LAYERS, POSITIONS, SENTENCES, WIDTH


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
    one, other = np.random.default_rng(0).normal(size=(2, 5, 8))
    found = contributions(one, other)
    assert found == pytest.approx(slow_contributions(one.tolist(), other.tolist()))
    cosine = dot(one[-1], other[-1]) / math.sqrt(dot(one[-1], one[-1]) * dot(other[-1], other[-1]))
    assert found.sum() == pytest.approx(cosine)


def test_contributions_do_not_depend_on_the_order_and_are_nothing_where_nothing_changes():
    one, other = np.random.default_rng(1).normal(size=(2, 4, 6))
    assert contributions(one, other) == pytest.approx(contributions(other, one))
    one, other = np.random.default_rng(2).normal(size=(2, 4, 6))
    one[2], other[2] = one[1], other[1]
    assert contributions(one, other)[2] == pytest.approx(0)
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
            [FUNCTIONS[pooling](layer, states.mask)[0].double().tolist() for layer in states.hidden]
            for states in (tiny_encoder.states([text]) for text in (first, second))
        )
        assert pair.contributions[:, column] == pytest.approx(slow_contributions(one, other), abs=1e-5)
        for layer in range(LAYERS + 1):
            a, b = one[layer], other[layer]
            assert pair.cosines[layer, column] == pytest.approx(dot(a, b) / math.sqrt(dot(a, a) * dot(b, b)), abs=1e-5)


def test_a_sentence_beside_itself_is_alike_in_every_layer_and_one_that_is_cut_says_so(tiny_encoder):
    assert pair_layers(tiny_encoder, "no", "no").cosines == pytest.approx(np.ones((LAYERS + 1, len(POOLINGS))))
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


def slow_mean(tokens):
    return [sum(column) / len(tokens) for column in zip(*tokens, strict=True)]


def slow_max(tokens):
    return [max(column) for column in zip(*tokens, strict=True)]


@pytest.fixture
def states():
    chance = np.random.default_rng(0)
    return chance.normal(size=(4, 6)), chance.normal(size=(7, 6))


def test_under_the_mean_a_token_adds_its_inner_products_and_under_max_a_dimension_is_of_its_largest_token(states):
    one, other = (side.tolist() for side in states)
    v, u = slow_mean(one), slow_mean(other)
    lengths = math.sqrt(dot(v, v) * dot(u, u))
    shares = token_shares(*states, "mean")
    for place, token in enumerate(one):
        slow = sum(dot(token, beside) for beside in other) / len(one) / len(other) / lengths
        assert shares[0][place] == pytest.approx(slow)
    assert shares[0].sum() == pytest.approx(dot(v, u) / lengths)
    assert shares[1].sum() == pytest.approx(dot(v, u) / lengths)
    v, u = slow_max(one), slow_max(other)
    lengths = math.sqrt(dot(v, v) * dot(u, u))
    shares = token_shares(*states, "max")
    slow = [0.0] * len(one)
    for dimension, value in enumerate(v):
        (place,) = [number for number, token in enumerate(one) if token[dimension] == value]
        slow[place] += value * u[dimension] / lengths
    assert (shares[0], shares[1].sum()) == (pytest.approx(slow), pytest.approx(dot(v, u) / lengths))


def test_tokens_that_are_equally_large_share_a_dimension_and_one_that_is_all_or_has_no_length_has_none(states):
    one = np.array([[1.0, 2.0], [1.0, 0.0]])
    assert token_shares(one, np.array([[1.0, 0.0]]), "max")[0] == pytest.approx([0.5 / math.sqrt(5)] * 2)
    assert token_shares(np.zeros((2, 3)), np.ones((2, 3)), "mean") is None
    for pooling in ("cls", "last"):  # one token that is all
        assert token_shares(*states, pooling) is None


@pytest.mark.parametrize(
    "reading",
    [Reading(Row(layers), pooling) for layers in ((LAYERS,), (0, LAYERS)) for pooling in ("mean", "max")],
    ids=lambda reading: reading.title,
)
def test_shares_sum_to_the_cosine_of_the_reading(tiny_encoder, reading):
    pair = finish(token_pair(tiny_encoder, *SENTENCES[:2], reading))
    one, other = finish(of_reading(tiny_encoder, SENTENCES[:2], reading)).tolist()
    cosine = dot(one, other) / math.sqrt(dot(one, one) * dot(other, other))
    assert pair.cosine == pytest.approx(cosine, abs=1e-6)
    assert pair.shares[0].sum() == pytest.approx(cosine, abs=1e-5)
    assert pair.shares[1].sum() == pytest.approx(cosine, abs=1e-5)


def test_what_the_makers_meant_has_shares_and_many_tokens_are_cut_in_the_picture_alone(bundled_encoder):
    pair = finish(token_pair(bundled_encoder, *SENTENCES[:2], OWN))
    assert pair.pooled == Reading(Row((6,)), "mean")
    assert pair.shares[0].sum() == pytest.approx(pair.cosine, abs=1e-5)
    pair = finish(token_pair(bundled_encoder, "word " * 100, "word", Reading(Row((6,)), "mean")))
    assert (pair.cosines.shape[1:], pair.left_out) == ((MOST, 3), (102 - MOST, 0))
    assert (len(pair.shares[0]), pair.shares[0].sum()) == (102, pytest.approx(pair.cosine, abs=1e-5))


def test_token_cosines_are_those_of_the_slow_loop(tiny_encoder):
    pair = finish(token_pair(tiny_encoder, *SENTENCES[:2], Reading(Row((1,)), "cls")))
    one, other = (tiny_encoder.states([sentence]).hidden[1, 0].double().numpy().tolist() for sentence in SENTENCES[:2])
    assert pair.cosines.shape == (LAYERS + 1, len(one), len(other)) == (LAYERS + 1, *map(len, pair.tokens))
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            assert pair.cosines[1, i, j] == pytest.approx(dot(a, b) / math.sqrt(dot(a, a) * dot(b, b)), abs=1e-5)
    assert pair.shares is None
    assert pair.by_layer.cosines[1, 0] == pytest.approx(pair.cosine, abs=1e-5)


def test_rows_hold_every_number_that_is_drawn(tiny_encoder):
    work = [token_pair(tiny_encoder, *SENTENCES[:2], Reading(Row((1,)), pooling)) for pooling in ("mean", "cls")]
    mean, cls = map(finish, work)
    sides = {"A": mean, "B": cls}
    assert {row["side"] for row in layer_rows(sides)} == {"A", "B"}
    shares = share_rows(sides)
    assert {row["side"] for row in shares} == {"A"}, "[CLS] is no sum over tokens"
    for number in (1, 2):
        told = [row for row in shares if row["sentence"] == number]
        assert [row["token"] for row in told] == list(mean.tokens[number - 1])
        assert sum(row["share"] for row in told) == pytest.approx(mean.cosine, abs=1e-4)
    beside = token_rows(sides, {"A": 1, "B": 0})
    assert len(beside) == 2 * len(mean.tokens[0]) * len(mean.tokens[1])
    for row in beside:
        place = row["place"] - 1, row["other place"] - 1
        assert (row["token"], row["other token"]) == (mean.tokens[0][place[0]], mean.tokens[1][place[1]])
        assert row["cosine"] == pytest.approx(sides[row["side"]].cosines[row["layer"]][place], abs=1e-6)
    assert {row["side"] for row in token_rows(sides, {"B": 2})} == {"B"}, "A has no such layer"


class Declared:
    """An encoder of so many layers that declares a reading of its own."""

    def __init__(self, head, rows):
        self.head, self.rows = head, rows


def test_the_states_are_those_that_views_pool_cut_where_the_encoder_cuts(tiny_encoder):
    tokens, hidden, _ = token_states(tiny_encoder, SENTENCES[0])
    (views,) = tiny_encoder.views([SENTENCES[0]])
    assert tokens == ("[CLS]", *SENTENCES[0].split(), "[SEP]")
    assert hidden.shape == (LAYERS + 1, len(tokens), WIDTH)
    for layer in range(LAYERS + 1):
        assert hidden[layer].mean(0) == pytest.approx(views.grid[layer, 1, 0].numpy(), abs=1e-5)
    assert len(token_states(tiny_encoder, SENTENCES[-1], 5)[0]) == 5


@pytest.mark.parametrize(
    ("pooling", "reading"),
    [
        ("mean", Reading(Row((LAYERS,)), "mean")),
        ("weighted mean", Reading(Row((LAYERS,)), "weighted mean")),
        ("first-last mean", Reading(Row((1, LAYERS)), "mean")),
        ("max of layer 1", Reading(Row((1,)), "max")),
    ],
)
def test_what_the_makers_meant_may_be_a_plain_pooling(tiny_encoder, pooling, reading):
    assert pooled_layers(Declared(Head((pooling,), normalize=True), tiny_encoder.rows), OWN) == reading


def test_maps_behind_a_pooling_make_it_none_and_a_cell_of_the_grid_is_what_it_says(tiny_encoder):
    head = Head(("mean",), dense=(Dense(torch.eye(WIDTH), None, "Tanh"),))
    assert pooled_layers(Declared(head, tiny_encoder.rows), OWN) is None
    assert pooled_layers(Declared(replace(head, dense=(), poolings=("cls", "mean")), tiny_encoder.rows), OWN) is None
    assert pooled_layers(Declared(None, tiny_encoder.rows), OWN) is None
    reading = Reading(Row((0, LAYERS)), "cls")
    assert pooled_layers(tiny_encoder, reading) is reading
