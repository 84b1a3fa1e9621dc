"""Test vectors, their files and cosines, and the weights of poolers over layers and of attention heads."""

import copy
import io
import math
import zipfile

import numpy as np
import pyarrow.parquet as parquet
import pytest
import torch

from explorer.encoding.read.encoder import States
from explorer.encoding.read.head import Dense, Head
from explorer.encoding.read.parts.layer_attention import LayerAttention
from explorer.encoding.read.parts.word_weights import WordWeights
from explorer.encoding.read.pooling import FIRST_LAST, OWN, parse, pool_cls
from explorer.errors import BadChoice, NotWeights, UnsupportedModel
from explorer.measuring.sentences.attention_weights import (
    LayerWeights,
    ProbeWeights,
    layer_weights,
    part_rows,
    path_rows,
    share_on_special,
    tokens_attended,
    weight_rows,
)
from explorer.measuring.sentences.sentence_vectors import (
    as_npy,
    as_parquet,
    as_projector,
    check_finite,
    clustered,
    foremost,
    of_reading,
    similarities,
    similarity_rows,
)
from explorer.progress import finish
from tests.spoiling import encoder_of
from tests.tiny_models import LAYERS, POSITIONS, SENTENCES, WIDTH, save_tiny

TEXTS = ("no", "the dog runs", "a man plays a guitar", "a guitar")
NAN = float("nan")
ODD = ("plain", "<b>tab\there</b>\nand a line", "", 'quotes "and" ünïcode 🎉')
LABELS = {"cluster": (1, 2, 3, 1)}


@pytest.fixture
def encoder(tmp_path):
    return encoder_of(save_tiny("bert", tmp_path / "tiny"))


def check(encoder, reading):
    check_finite(encoder, TEXTS, reading, finish(of_reading(encoder, TEXTS, reading)))


@pytest.mark.parametrize("title", ["mean of layer 0", "cls of layers 0 + 2", "last of layer 1"])
def test_a_token_with_nan_names_the_embedding_layer_the_sentence_and_a_true_step(encoder, title):
    (number,) = encoder._tokenizer.convert_tokens_to_ids(["guitar"])
    encoder.model.embeddings.word_embeddings.weight[number] = NAN
    words = rf"gives 2 of 4 sentences vectors with NaN or infinite numbers under {title.replace('+', '.')}, such as "
    words += r"'a man plays a guitar'\. They come from its embedding layer, whose weights are damaged: copy or download"
    with pytest.raises(NotWeights, match=words):
        check(encoder, parse(title, 2))


def test_a_layer_or_module_whose_numbers_are_not_finite_is_named_and_those_below_are_not_refused(encoder):
    large = torch.full((WIDTH, WIDTH), 3e38)
    encoder.head = Head(("mean",), (Dense(torch.eye(WIDTH), None, "Tanh"), Dense(large.triu(), None, "Identity")))
    check(encoder, parse("mean of layer 2", 2))
    words = r"come from its Dense 32, after mean of the last layer → Dense 32 \(tanh\)\. Choose another layer & pooling"
    with pytest.raises(UnsupportedModel, match=words):
        check(encoder, OWN)
    encoder.model.encoder.layer[1].output.dense.weight[3] = NAN
    check(encoder, parse("mean of layer 1", 2))
    with pytest.raises(NotWeights, match=r"4 of 4 sentences .* They come from its layer 2, whose weights are damaged"):
        check(encoder, parse("mean of layer 2", 2))


def test_in_bfloat16_without_nan_in_the_weights_the_next_step_is_float32(tmp_path):
    encoder = encoder_of(save_tiny("bert", tmp_path / "tiny"), precision="bfloat16")
    encoder.head = Head(("mean",), (Dense(torch.full((WIDTH, WIDTH), 3e38).triu(), None, "Identity"),))
    with pytest.raises(UnsupportedModel, match=r"Switch precision to float32"):
        check(encoder, OWN)


def test_finite_vectors_pass_and_what_does_not_happen_again_is_said(encoder):
    check(encoder, parse("mean of layer 2", 2))
    once = np.where(np.arange(4)[:, None] == 1, np.inf, np.ones((4, WIDTH)))
    with pytest.raises(UnsupportedModel, match=r"'the dog runs'\. Encoded alone, it is finite: start again"):
        check_finite(encoder, TEXTS, parse("mean of layer 2", 2), once)


@pytest.fixture
def vectors():
    return np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32)


def test_cosines_are_those_of_the_slow_loop_and_missing_without_a_length(vectors):
    found = similarities(vectors)
    for i, one in enumerate(vectors.tolist()):
        for j, other in enumerate(vectors.tolist()):
            product = sum(a * b for a, b in zip(one, other, strict=True))
            assert found[i, j] == pytest.approx(product / math.hypot(*one) / math.hypot(*other))
    vectors[2] = 0
    found = similarities(vectors)
    assert np.isnan(found[2]).all()
    assert np.isnan(found[:, 2]).all()
    assert np.isfinite(np.delete(np.delete(found, 2, 0), 2, 1)).all()
    rows = similarity_rows(tuple("abcdef"), found, None)
    assert {row["cosine A"] for row in rows if 3 in (row["number"], row["other number"])} == {None}


def test_clusters_stand_together_however_they_were_typed_and_sentences_without_cosines_too():
    chance = np.random.default_rng(1)
    middles = np.eye(3, 8)
    groups = np.array([0, 1, 2] * 4)
    vectors = middles[groups] + 0.05 * chance.normal(size=(12, 8))
    order = clustered(similarities(vectors))
    assert sorted(order) == list(range(12))
    assert np.count_nonzero(np.diff(groups[order])) == 2, "each group in one piece"
    vectors[[0, 3]] = 0
    assert sorted(clustered(similarities(vectors))) == list(range(12))


@pytest.mark.parametrize("count", [1, 2, 3, 200])
def test_an_order_of_the_same_sentence_many_times_has_each_once(count):
    assert sorted(clustered(similarities(np.ones((count, 4))))) == list(range(count))


def test_the_foremost_pairs_are_those_that_changed_most_either_way_and_rows_hold_every_two_sentences_once(vectors):
    one = similarities(vectors)
    other = similarities(vectors[::-1].copy())
    changes = {(i, j): abs(other[i, j] - one[i, j]) for i in range(6) for j in range(i + 1, 6)}
    assert foremost(one, other, 4) == sorted(changes, key=lambda pair: -changes[pair])[:4]
    (alike,) = foremost(one, None, 1)
    assert one[alike] == max(one[i, j] for i in range(6) for j in range(i + 1, 6))
    assert foremost(similarities(np.eye(2, 3)), None, 5) == [(0, 1)]
    rows = similarity_rows(tuple("abcdef"), one, -one)
    assert len(rows) == 15
    for row in rows:
        i, j = row["number"] - 1, row["other number"] - 1
        assert (row["sentence"], row["other sentence"]) == ("abcdef"[i], "abcdef"[j])
        assert row["B - A"] == pytest.approx(-2 * one[i, j], abs=2e-6)


@pytest.fixture
def exported():
    return np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)


def test_exported_vectors_hold_the_same_numbers_texts_and_labels_also_missing_ones(exported):
    assert np.array_equal(np.load(io.BytesIO(as_npy(exported))), exported)
    table = parquet.read_table(io.BytesIO(as_parquet(ODD, exported, LABELS)))
    assert table.column_names == ["sentence", "cluster", "vector"]
    assert table["sentence"].to_pylist() == list(ODD)
    assert table["cluster"].to_pylist() == [1, 2, 3, 1]
    assert np.array_equal(np.array(table["vector"].to_pylist(), dtype=np.float32), exported)
    missing = {"weight": (None, 1.5, None, 2.0), "topic": ("news", None, "x", "y")}
    table = parquet.read_table(io.BytesIO(as_parquet(ODD, exported, missing)))
    assert table["weight"].to_pylist() == list(missing["weight"])
    assert lines(as_projector(ODD, exported, missing), "metadata.tsv")[1] == "plain\t-\tnews"


def lines(data, name):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.namelist() == ["vectors.tsv", "metadata.tsv"]
        return archive.read(name).decode().split("\n")[:-1]


def test_the_projector_gets_a_line_for_each_sentence_and_a_header_for_several_columns(exported):
    data = as_projector(ODD, exported)
    numbers = [[float(cell) for cell in line.split("\t")] for line in lines(data, "vectors.tsv")]
    assert np.array_equal(np.array(numbers, dtype=np.float32), exported)
    assert lines(data, "metadata.tsv") == ["plain", "<b>tab here</b> and a line", "-", 'quotes "and" ünïcode 🎉']
    assert lines(as_projector(ODD, exported, LABELS), "metadata.tsv")[:2] == ["sentence\tcluster", "plain\t1"]
    assert as_projector(ODD, exported) == as_projector(ODD, exported)


def pooler(first_layer=0, poolings=("cls",), seed=0, **settings):
    torch.manual_seed(seed)
    maps = [torch.randn(WIDTH, WIDTH) * 0.5 for _ in range(3)]
    layers = LayerAttention(*maps, first_layer=first_layer, **settings)
    dense = Dense(torch.randn(WIDTH, WIDTH * (len(poolings) + 1)) * 0.2, torch.randn(WIDTH), "Tanh")
    return Head(poolings, (dense,), layers=layers)


@pytest.fixture
def listener(tiny_encoder):
    """The tiny encoder with a pooler of its own."""

    def made(**changes):
        other = copy.copy(tiny_encoder)
        other.head = pooler(**changes)
        return other

    return made


def test_every_layer_that_asks_spreads_one_over_those_that_answer_whatever_is_beside_a_sentence(listener):
    found = layer_weights(listener(), SENTENCES[:2])
    assert found.weights.shape == (2, LAYERS + 1, LAYERS + 1)
    assert found.weights.sum(-1) == pytest.approx(np.ones((2, LAYERS + 1)))
    assert found.by_layer.sum(-1) == pytest.approx(np.ones(2))
    for sentence in range(2):
        for layer in range(LAYERS + 1):
            slow = sum(found.weights[sentence, asks, layer] for asks in range(LAYERS + 1)) / (LAYERS + 1)
            assert found.by_layer[sentence, layer] == pytest.approx(slow)
    encoder = listener()
    both = layer_weights(encoder, (SENTENCES[3], SENTENCES[4]))
    assert len(encoder.tokens([SENTENCES[3]]).ids[0]) < len(encoder.tokens([SENTENCES[4]]).ids[0])
    for place in (3, 4):
        (alone,) = layer_weights(encoder, (SENTENCES[place],)).weights
        assert both.weights[place - 3] == pytest.approx(alone, abs=1e-6)


def test_layers_count_from_the_first_one_that_is_asked_and_a_cut_sentence_is_told(listener):
    found = layer_weights(listener(first_layer=1), SENTENCES[:2])
    assert (found.layers, found.weights.shape) == ([1, 2], (2, 2, 2))
    assert found.highest_layers == [1 + int(place) for place in found.by_layer.argmax(1)]
    found = layer_weights(listener(), ("a " * 3 * POSITIONS, "no"))
    assert (found.cut, found.max_length) == ((True, False), POSITIONS)
    with pytest.raises(BadChoice, match="not possible"):
        layer_weights(listener(), ("no",), 9999)


def weighing(*by_layer, parts=("attention over layers",)):
    """Weights of sentences whose query layers agree."""
    weights = np.array([[row] * len(row) for row in by_layer])
    shares = np.arange(len(by_layer) * len(parts), dtype=float).reshape(len(by_layer), len(parts))
    return LayerWeights(weights, 0, "cls", "mean", parts, shares, shares, (False,) * len(by_layer), POSITIONS)


def test_weights_are_nearly_uniform_below_a_quarter_and_the_share_of_attention_is_that_of_the_last_part(listener):
    found = weighing([0.27, 0.25, 0.25, 0.23], [0.29, 0.25, 0.25, 0.21], [0.281, 0.25, 0.25, 0.219])
    assert found.nearly_uniform == (True, False, True), "a quarter of 1/4 is 0.0625"
    assert weighing([0.5, 0.5], [np.nan, 1.0]).nearly_uniform == (True, False), "what is missing is not uniform"
    found = layer_weights(listener(), SENTENCES[:2])
    assert found.attention_share == pytest.approx(found.shares[:, found.parts.index("attention over layers")])
    assert weighing([0.5, 0.5]).attention_share is None, "there is nothing else"


def test_what_a_part_gives_is_what_is_lost_with_its_columns_of_the_dense_layer(listener):
    encoder = listener()
    found = layer_weights(encoder, SENTENCES[:2])
    assert found.parts == ("cls of the last layer", "attention over layers")
    states, (dense,) = encoder.states(SENTENCES[:2]), encoder.head.dense
    parts = pool_cls(states.hidden[-1], states.mask), encoder.head.layers(states.hidden, states.mask)
    whole = encoder.head(states.hidden, states.mask)
    for sentence in range(2):
        contributions = []
        for place in range(2):
            columns = slice(place * WIDTH, (place + 1) * WIDTH)
            contributions.append(dense.weight[:, columns] @ parts[place][sentence])
            weight = dense.weight.clone()
            weight[:, columns] = 0
            without = Head(("cls",), (Dense(weight, dense.bias, "Tanh"),), layers=encoder.head.layers)
            cosine = torch.cosine_similarity(whole[sentence], without(states.hidden, states.mask)[sentence], dim=0)
            assert found.without[sentence, place] == pytest.approx(float(cosine), abs=1e-5)
        summed = sum(contributions) + dense.bias
        shares = [float(one @ summed / (summed @ summed)) for one in (*contributions, dense.bias)]
        assert found.shares[sentence] == pytest.approx(shares[:2], abs=1e-5)
        assert sum(shares) == pytest.approx(1, abs=1e-5)


def test_a_part_is_named_by_its_layers_and_attention_alone_is_all_of_the_vector_but_the_bias(listener):
    found = layer_weights(listener(poolings=()), SENTENCES[:1])
    assert (found.parts, found.shares.shape) == (("attention over layers",), (1, 1))
    found = layer_weights(listener(poolings=("mean", FIRST_LAST, "max of layer 1")), SENTENCES[:1])
    assert found.parts == (
        "mean of the last layer", "mean of layers 1 and last", "max of layer 1", "attention over layers"
    )  # fmt: skip
    assert found.shares.shape == found.without.shape == (1, 4)


def test_without_a_pooler_over_layers_there_are_no_weights_and_no_mean(tiny_encoder):
    with pytest.raises(UnsupportedModel, match="no pooler over its layers"):
        layer_weights(tiny_encoder, SENTENCES[:1])
    other = copy.copy(tiny_encoder)
    other.head = Head((), layers=WordWeights())
    with pytest.raises(UnsupportedModel, match="no pooler over its layers"):
        layer_weights(other, SENTENCES[:1])
    seen = ProbeWeights(None, (0,))
    seen.add([0], tiny_encoder.states(SENTENCES[:1]))
    assert seen.mean() is None


def test_weights_that_are_no_numbers_are_empty_cells_and_a_path_has_a_row_for_every_step_and_layer(listener):
    found = layer_weights(listener(), SENTENCES[:1])
    found.weights[0, 0, 1] = np.nan
    rows = weight_rows(("a man",), found)
    assert [row["weight"] for row in rows][:2] == [round(float(found.weights[0, 0, 0]), 6), None]
    assert [(row["asks"], row["answers"]) for row in rows] == [(i, j) for i in range(3) for j in range(3)]
    assert [row["part"] for row in part_rows(("a man",), found)] == list(found.parts)
    rows = path_rows((0, 5), (1, 2), np.array([[0.25, 0.75], [0.5, 0.5]]))
    assert [tuple(row.values()) for row in rows] == [(0, 1, 0.25), (0, 2, 0.75), (5, 1, 0.5), (5, 2, 0.5)]


def test_the_mean_over_the_probe_is_that_of_its_sentences_one_by_one(listener):
    encoder, probe = listener(), (0, 2, 4)
    layers = encoder.head.layers
    seen = ProbeWeights(layers, probe)
    for places in ([4, 1], [3], [0, 2]):  # in any order, some batches without a sentence of the probe
        states = encoder.states([SENTENCES[place] for place in places])
        seen.add(places, States(tuple(states.hidden), states.mask))
    slow = []
    for place in probe:
        states = encoder.states([SENTENCES[place]])
        slow.append(layers.weights(states.hidden, states.mask)[0].numpy())
    assert seen.mean() == pytest.approx(sum(slow) / 3, abs=1e-6)


def test_tokens_attended_is_the_mean_of_the_exponential_of_the_entropy_and_special_ones_have_their_share():
    weights = np.stack([np.eye(4), np.full((4, 4), 0.25)])[None].astype(np.float32)
    assert tokens_attended(weights) == pytest.approx(np.array([[1.0, 4.0]]))
    chance = np.random.default_rng(0).random((2, 3, 5, 5))
    weights = (chance / chance.sum(-1, keepdims=True)).astype(np.float32)
    found = tokens_attended(weights)
    for layer in range(2):
        for head in range(3):
            rows = weights[layer, head].tolist()
            slow = sum(math.exp(-sum(share * math.log(share) for share in row)) for row in rows) / 5
            assert found[layer, head] == pytest.approx(slow, rel=1e-5)
    weights = np.array([[[[0.5, 0.2, 0.3], [0.1, 0.9, 0.0], [0.0, 0.4, 0.6]]]], dtype=np.float32)
    assert share_on_special(weights, (True, False, True)) == pytest.approx(np.array([[(0.8 + 0.1 + 0.6) / 3]]))
    assert share_on_special(weights, (False, False, False)) == pytest.approx(np.zeros((1, 1)))
