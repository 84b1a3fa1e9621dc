"""Test poolings and titles of layers, and the facts of a head: their words, their cell of the grid, their JSON."""

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
from explorer.encoding.read.pooling import (
    DECODER_POOLINGS,
    FIRST_LAST,
    FUNCTIONS,
    GRID_POOLINGS,
    Reading,
    Row,
    cell_of,
    pair_name,
    parse,
    pool_cls,
    pool_max,
    pool_mean,
    readings,
    rows,
)
from explorer.errors import BadChoice

STATES = torch.tensor([[[-1.0, -5.0], [-3.0, -2.0], [9.0, 9.0]]])
MASK = torch.tensor([[1, 1, 0]])


def test_padding_is_never_pooled_and_without_a_mask_there_is_none():
    assert pool_max(STATES, MASK).tolist() == [[-1.0, -2.0]]  # zeroing the padding would give [0, 0]
    assert pool_mean(STATES, MASK).tolist() == [[-2.0, -3.5]]  # without a mask: [1.67, 0.67]
    assert pool_cls(STATES, MASK).tolist() == [[-1.0, -5.0]]
    for name in FUNCTIONS:
        states = torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(1))
        pooled = FUNCTIONS[name](states, torch.ones(3, 4, dtype=torch.bool))
        assert torch.allclose(FUNCTIONS[name](states, None), pooled, atol=1e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("content", [0.0, 1e4, float("inf"), float("nan")])
@pytest.mark.parametrize("reading", [True, False], ids=["reading", "training"])
def test_more_padding_changes_nothing_whatever_it_holds(name, content, reading):
    states = torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(0))
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0]])
    before = states.masked_fill(mask[:, :, None] == 0, content)
    padded = torch.cat([before, torch.full((3, 2, 5), content)], dim=1)
    wider = torch.cat([mask, torch.zeros(3, 2, dtype=mask.dtype)], dim=1)
    with torch.inference_mode(reading):
        assert torch.equal(FUNCTIONS[name](before, mask), FUNCTIONS[name](padded, wider))


def test_pooling_leaves_its_input_as_it_was():
    for name in FUNCTIONS:
        states, mask = STATES.clone(), MASK.clone()
        FUNCTIONS[name](states, mask)
        assert torch.equal(states, STATES)
        assert torch.equal(mask, MASK)


def test_pooling_bfloat16_adds_up_in_float32():
    for name in FUNCTIONS:
        states = torch.full((1, 300, 2), 1.0, dtype=torch.bfloat16)
        pooled = FUNCTIONS[name](states, torch.ones(1, 300, dtype=torch.bool))
        assert pooled.dtype == torch.float32
        # bfloat16 stops counting at 256
        assert torch.allclose(pooled, torch.full((1, 2), 300**0.5 if name == "sqrt mean" else 1.0))


def test_the_weighted_mean_is_the_slow_one():
    states = torch.randn(1, 3, 2, generator=torch.Generator().manual_seed(2))
    slow = (1 * states[0, 0] + 2 * states[0, 1]) / 3
    assert torch.allclose(FUNCTIONS["weighted mean"](states, torch.tensor([[1, 1, 0]]))[0], slow)


def test_rows_are_the_layers_and_the_pairs_of_the_papers_each_once_and_no_cell_has_a_layer_twice():
    assert [row.label for row in rows(3)] == ["0", "1", "2", "3", "0+3", "1+3", "2+3"]
    assert [row.label for row in rows(2)] == ["0", "1", "2", "0+2", "1+2"]
    assert [row.label for row in rows(1)] == ["0", "1", "0+1"]
    first_last = Head((FIRST_LAST,)).facts()
    assert [first_last.cell(last) and first_last.cell(last).row.layers for last in (0, 1, 2)] == [None, None, (1, 2)]


def test_names_of_rows_are_short_and_the_two_first_last_are_named_apart():
    names = [pair_name(row, 12) for row in rows(12) if len(row.layers) == 2]
    assert names == ["first-last, from layer 0", "first-last, from layer 1", "last two"]
    assert [Row(layers).label for layers in ((6,), (0, 6), (4, 5, 6))] == ["6", "0+6", "4-6"]


OUTSIDE = [((3,), "last"), ((2, 5), "mean"), ((4, 5, 6), "max"), ((0, 1, 2, 3, 4, 5, 6), "weighted mean")]


def test_a_title_leads_back_to_its_reading_in_the_grid_and_outside_of_it():
    assert Reading(Row((0, 6)), "mean").title == "mean of layers 0 + 6"
    outside = [Reading(Row(layers), pooling) for layers, pooling in OUTSIDE]
    for reading in (*readings(6), *outside):
        assert parse(reading.title, 6) == reading
        assert (cell_of(reading, rows(6), GRID_POOLINGS) is None) == (reading in outside)


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("mean of layers 4-6", "mean of layers 4-6"),
        ("mean of layers 5-6", "mean of layers 5 + 6"),
        ("mean of layers 6 + 0", "mean of layers 0 + 6"),
        ("last of layers 3-3", "last of layer 3"),
        ("sqrt mean of layer 03", "sqrt mean of layer 3"),
    ],
)
def test_every_way_to_write_a_reading_has_one_title(written, title):
    assert parse(written, 6).title == title


def test_the_cells_of_a_grid_are_in_its_order():
    for poolings in [GRID_POOLINGS, DECODER_POOLINGS]:
        width = len(poolings)
        for place, reading in enumerate(readings(3, poolings)):
            assert cell_of(reading, rows(3), poolings) == divmod(place, width)


WRONG = {
    "": "",
    "mean": "",
    "first-last mean": "",
    "<b>": "",
    "mean of layers 1, 2": "",
    "mean of layer 12345678901234567890": "",
    "mean of layer 7": ", since the last layer is 6",
    "mean of layers 4-7": ", since the last layer is 6",
    "median of layer 3": ", since there is no pooling 'median'",
    "mean of layers 6-4": ", since a range of layers starts with the lower one",
    "mean of layers 2 + 2": ", since both layers are the same",
}


def test_a_wrong_title_is_refused_with_what_is_allowed():
    for title, why in WRONG.items():
        with pytest.raises(BadChoice) as refused:
            parse(title, 6)
        told = str(refused.value)
        assert (
            f"'{title}' here{why}. Give a pooling (cls, mean, max, last, weighted mean, sqrt mean) and a layer" in told
        )
        assert "from 0 to 6, two layers, or a range of layers" in told


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


def test_facts_of_a_damaged_file_have_words_too():
    facts = HeadFacts((PooledLayers("cls", ()),), PartFacts("{0.__class__}", {}), (PartFacts("Dense", {"width": []}),))
    assert facts.words == "cls of layer  + {0.__class__} → Dense "
    assert facts.cell(6) is None
    assert replace(facts, all_layers=None, maps=()).cell(6) is None
