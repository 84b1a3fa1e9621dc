"""Test tokens: their spelling, their states, and the layers & pooling behind a vector."""

from dataclasses import replace

import pytest
import torch

from explorer.encoding.read.head import Dense, Head
from explorer.encoding.read.readings import OWN, Reading, Row
from explorer.measuring.sentences.token_states import pooled_layers, token_states
from tests.tiny_models import LAYERS, SENTENCES, WIDTH


class Declared:
    """An encoder of so many layers that declares a reading of its own."""

    def __init__(self, head, rows):
        self.head, self.rows = head, rows


def test_the_states_are_those_that_views_pool(tiny_encoder):
    read = token_states(tiny_encoder, SENTENCES[0])
    (views,) = tiny_encoder.views([SENTENCES[0]])
    assert read.tokens == ("[CLS]", *SENTENCES[0].split(), "[SEP]")
    assert read.hidden.shape == (LAYERS + 1, len(read.tokens), WIDTH)
    for layer in range(LAYERS + 1):
        assert read.hidden[layer].mean(0) == pytest.approx(views.grid[layer, 1, 0].numpy(), abs=1e-5)


def test_a_sentence_is_cut_where_the_encoder_cuts(tiny_encoder):
    assert len(token_states(tiny_encoder, SENTENCES[-1], 5).tokens) == 5


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


def test_maps_behind_a_pooling_make_it_none(tiny_encoder):
    head = Head(("mean",), dense=(Dense(torch.eye(WIDTH), None, "Tanh"),))
    assert pooled_layers(Declared(head, tiny_encoder.rows), OWN) is None
    assert pooled_layers(Declared(replace(head, dense=(), poolings=("cls", "mean")), tiny_encoder.rows), OWN) is None
    assert pooled_layers(Declared(None, tiny_encoder.rows), OWN) is None


def test_a_cell_of_the_grid_is_what_it_says(tiny_encoder):
    reading = Reading(Row((0, LAYERS)), "cls")
    assert pooled_layers(tiny_encoder, reading) is reading
