"""Test the facts of a head: their words, their cell of the grid, and that JSON keeps them."""

import json
from dataclasses import asdict, replace

import pytest
import torch

from explorer import typed_json
from explorer.encoding.read.head import Head
from explorer.encoding.read.head_facts import LAST_NORM, SIMCSE, HeadFacts, PartFacts, PooledLayers
from explorer.encoding.read.parts.dense import Dense
from explorer.encoding.read.parts.layer_attention import LayerAttention
from explorer.encoding.read.parts.layer_norm import LayerNorm
from explorer.encoding.read.parts.token_convolution import TokenConvolution
from explorer.encoding.read.parts.word_weights import WordWeights
from explorer.encoding.read.pooling import FIRST_LAST

MAP = torch.ones(4, 4)
KERNELS = tuple(torch.ones(2, 4, kernel) for kernel in (1, 3))
HEADS = [
    (Head(("cls",)), "cls of the last layer", "cls of layer 6"),
    (Head(("weighted mean",), normalize=True),
     "weighted mean of the last layer → normalised", "weighted mean of layer 6"),
    (Head((FIRST_LAST,)), "mean of layers 1 and last", "mean of layers 1 + 6"),
    (Head(("max of layer 3",)), "max of layer 3", "max of layer 3"),
    (Head(("mean of layers 2-4",)), "mean of layers 2-4", "mean of layers 2-4"),
    (Head(("max of layer 7",)), "max of layer 7", None),
    (Head(("mean of layer 1", "mean", "cls")), "mean + cls of the last layer + mean of layer 1", None),
    (Head(("mean of layer 1",), remark=LAST_NORM), "mean of layer 1, after the last norm", None),
    (Head(("mean",), prompt="query: "), "mean of the last layer, after the prompt 'query: '", None),
    (Head(("cls",), (Dense(MAP, None, "Tanh"),), remark=SIMCSE),
     "cls of the last layer → Dense 4 (tanh), as in supervised SimCSE", None),
    (Head(("mean",), (Dense(MAP, None, "Identity"), LayerNorm(MAP[0], MAP[0])), normalize=True),
     "mean of the last layer → Dense 4 → layer norm → normalised", None),
    (Head((), layers=LayerAttention(MAP, MAP, MAP)), "attention over layers from 0 (query cls, value mean)", None),
    (Head((), layers=WordWeights(4, 2)), "words weighted over layers from 4 (window 2)", None),
    (Head((), layers=TokenConvolution(KERNELS, (MAP[0], MAP[0]))),
     "mean of a convolution over tokens (kernels 1, 3)", None),
    (Head((), layers=TokenConvolution(KERNELS, (MAP[0], MAP[0]), relu=True)),
     "mean of a convolution over tokens (kernels 1, 3; relu)", None),
]  # fmt: skip


@pytest.mark.parametrize(("head", "words", "cell"), HEADS, ids=[words for _, words, _ in HEADS])
def test_a_head_is_kept_as_json_with_its_words_and_its_cell(head, words, cell):
    facts = typed_json.read(HeadFacts, json.loads(json.dumps(asdict(head.facts()))))
    assert facts == head.facts()
    assert facts.words == head.describe() == words
    found = facts.cell(6)
    assert (found.title if found else None) == cell


def test_no_cell_has_the_same_layer_twice():
    first_last = Head((FIRST_LAST,)).facts()
    assert [first_last.cell(last) and first_last.cell(last).row.layers for last in (0, 1, 2)] == [None, None, (1, 2)]


def test_facts_of_a_damaged_file_have_words_too():
    facts = HeadFacts((PooledLayers("cls", ()),), PartFacts("{0.__class__}", {}), (PartFacts("Dense", {"width": []}),))
    assert facts.words == "cls of layer  + {0.__class__} → Dense "
    assert facts.cell(6) is None
    assert replace(facts, all_layers=None, maps=()).cell(6) is None
