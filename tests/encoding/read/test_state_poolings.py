"""Test layer attention and SBERT-WK's weights of layers and words: computed values, slow loops, degenerate input."""

import math
import random
from dataclasses import replace

import pytest
import torch
from torch import nn

from explorer.encoding.read.head import Dense, Head
from explorer.encoding.read.parts.layer_attention import LayerAttention
from explorer.encoding.read.parts.word_weights import WordWeights
from explorer.encoding.read.pooling import FIRST_LAST

# two layers of width two; each has two tokens, of which the first is [CLS], and their mean is what answers
CLS = [(1.0, -1.0), (1.0, 2.0)]
MEAN = [(1.0, 1.0), (1.0, -1.0)]
HIDDEN = [torch.tensor([[cls, [2 * m - c for m, c in zip(mean, cls, strict=True)]]])
          for cls, mean in zip(CLS, MEAN, strict=True)]  # fmt: skip
GOLDEN = LayerAttention(
    query=torch.eye(2), key=torch.diag(torch.tensor([2.0, 1.0])), value=torch.tensor([[1.0, 1.0], [0.0, -1.0]])
)
SLOPE = (1 / 8 + 1 / 3) / 2


def drawn(layers=5, sentences=3, tokens=4, width=6, seed=0):
    torch.manual_seed(seed)
    hidden = [torch.randn(sentences, tokens, width) for _ in range(layers)]
    maps = [torch.randn(width, width) * 0.4 for _ in range(3)]
    return hidden, torch.ones(sentences, tokens, dtype=torch.bool), LayerAttention(*maps)


def slow(hidden, mask, layers):
    """One sentence, layer and number at a time."""
    found = []
    for place in range(len(mask)):
        real = [token for token in range(mask.shape[1]) if mask[place, token]]
        cls = [states[place, 0].tolist() for states in hidden]
        mean = [
            [sum(states[place, token, i].item() for token in real) / len(real) for i in range(states.shape[2])]
            for states in hidden
        ]

        def mapped(weight, vector):
            out = [sum(a * b for a, b in zip(row, vector, strict=True)) for row in weight.tolist()]
            return [x if x >= 0 else SLOPE * x for x in out]

        keys, values = ([mapped(weight, vector) for vector in mean] for weight in (layers.key, layers.value))
        rows = []
        for vector in cls:
            query = mapped(layers.query, vector)
            scores = [sum(a * b for a, b in zip(query, key, strict=True)) / len(hidden) for key in keys]
            shares = [math.exp(score) / sum(map(math.exp, scores)) for score in scores]
            rows.append([sum(s * v[i] for s, v in zip(shares, values, strict=True)) for i in range(len(vector))])
        found.append([sum(row[i] for row in rows) / len(rows) for i in range(len(rows[0]))])
    return torch.tensor(found)


def test_the_released_reading_gives_the_values_worked_out_for_it_also_beside_the_last_cls():
    assert [states[0, 0].tolist() for states in HIDDEN] == [list(one) for one in CLS]
    assert [states[0].mean(0).tolist() for states in HIDDEN] == [list(one) for one in MEAN]
    expected = torch.tensor([[[0.464848, 0.535152], [0.773673, 0.226327]]])
    assert torch.allclose(GOLDEN.weights(HIDDEN, None), expected, atol=1e-6)
    assert torch.allclose(GOLDEN(HIDDEN, None), torch.tensor([[1.238520, 0.238826]]), atol=1e-6)
    dense = Dense(torch.tensor([[0.1, -0.2, 0.3, 0.05], [0.4, 0.1, -0.1, 0.2]]), torch.tensor([0.01, -0.02]), "Tanh")
    head = Head(("cls",), (dense,), layers=GOLDEN)
    assert torch.allclose(head(HIDDEN, None), torch.tensor([[0.093226, 0.465189]]), atol=1e-6)
    assert head.describe() == (
        "cls of the last layer + attention over layers from 0 (query cls, value mean) → Dense 2 (tanh)"
    )


@pytest.mark.parametrize(
    ("normaliser", "weights", "vector"),
    [
        ("softmax", [[0.268941, 0.731059], [0.880797, 0.119203]], [1.149738, -0.149738]),
        ("linear", [[0.25, 0.75], [1.0, 0.0]], [1.25, -0.25]),
        ("literal", [[0.25, 0.0], [0.25, 0.0]], [0.5, -0.25]),
    ],
)
def test_other_readings_of_equation_1_give_theirs(normaliser, weights, vector):
    plain = replace(GOLDEN, activation="none", normaliser=normaliser)
    assert torch.allclose(plain.weights(HIDDEN, None)[0], torch.tensor(weights), atol=1e-6)
    assert torch.allclose(plain(HIDDEN, None)[0], torch.tensor(vector), atol=1e-6)


def test_it_is_the_slow_sum_over_layers_in_any_order_and_knows_no_padding():
    hidden, mask, layers = drawn()
    mask[0, 3] = mask[1, 2:] = False
    expected = slow(hidden, mask, layers)
    assert torch.allclose(layers(hidden, mask), expected, atol=1e-5)
    for states in hidden:
        states[~mask] = 1e4
    assert torch.allclose(layers(hidden, mask), expected, atol=1e-5)
    assert torch.allclose(layers(random.Random(0).sample(hidden, len(hidden)), mask), layers(hidden, mask), atol=1e-5)


@pytest.mark.parametrize("silent", ["query", "key"])
def test_where_nothing_is_asked_every_layer_is_heard_alike(silent):
    hidden, mask, layers = drawn()
    layers = replace(layers, **{silent: torch.zeros(6, 6)})
    assert torch.allclose(layers.weights(hidden, mask), torch.full((3, 5, 5), 1 / 5))
    values = [nn.functional.leaky_relu(states.mean(1) @ layers.value.T, SLOPE) for states in hidden]
    assert torch.allclose(layers(hidden, mask), torch.stack(values).mean(0), atol=1e-5)


def test_a_single_layer_is_its_own_answer_and_teaches_neither_query_nor_key():
    hidden, mask, layers = drawn(layers=1)
    maps = [weight.requires_grad_() for weight in (layers.query, layers.key, layers.value)]
    found = layers(hidden, mask)
    assert torch.allclose(found, nn.functional.leaky_relu(hidden[0].mean(1) @ layers.value.T, SLOPE), atol=1e-6)
    found.square().sum().backward()
    assert [bool(weight.grad.any()) for weight in maps] == [False, False, True]


def test_slopes_are_drawn_in_training_only_between_an_eighth_and_a_third_and_the_lowest_layer_can_be_set():
    hidden, mask, layers = drawn()
    assert torch.equal(layers(hidden, mask), layers(hidden, mask))
    noisy = replace(layers, noisy=True)
    assert not torch.equal(noisy(hidden, mask), noisy(hidden, mask))
    below = noisy._mapped(torch.eye(6), torch.full((5000, 6), -1.0)).neg()
    assert 1 / 8 <= below.min() < 0.13
    assert 0.33 < below.max() <= 1 / 3
    above = replace(layers, first_layer=2)
    assert above.weights(hidden, mask).shape == (3, 3, 3)
    assert torch.equal(above(hidden, mask), layers(hidden[2:], mask))


def test_first_and_last_are_averaged_before_they_are_pooled():
    hidden, mask, _ = drawn()
    mask[0, 2:] = False
    both = torch.stack([((hidden[1] + hidden[-1]) / 2)[row][mask[row]].mean(0) for row in range(3)])
    assert torch.allclose(Head((FIRST_LAST,))(hidden, mask), both, atol=1e-6)
    assert Head((FIRST_LAST,)).describe() == "mean of layers 1 and last"
    assert Head(("mean", FIRST_LAST))(hidden, mask).shape == (3, 12)


# two words (word, layer, width) worked out by hand
WORDS = torch.tensor(
    [
        [[3, 1, 0, 0], [2, 2, 1, 0], [1, 2, 2, 0], [1, 1, 2, 1]],
        [[1, 0, 0, 2], [1, 1, 0, 2], [0, 1, 1, 2], [2, 0, 1, 1]],
    ],
    dtype=torch.float64,
)


def slow_weights(vectors, window, whole=False):
    """Of one word (layer, width): the weights of its layers, by a QR for each of them."""
    fits, adds = [], []
    for layer in range(len(vectors)):
        below = list(range(max(0, layer - window), layer)) if whole or layer >= window else []
        around = [*below, *range(layer + 1, min(len(vectors), layer + window + 1)), layer]
        r = torch.linalg.qr(vectors[around].T).R
        own, others = r[:, -1], r[:-1, :-1]
        others = others / others.norm(dim=0)
        fits.append(1 / (2 * len(around) * ((others.mean(1) @ own[:-1]) / own[:-1].norm())))
        adds.append(own[-1].abs() / own.norm())
    fits, adds = torch.stack(fits), torch.stack(adds)
    return (fits / fits.sum() + adds / adds.sum()) / 2


def test_the_weights_of_layers_and_words_are_those_worked_out_and_a_sentence_is_its_words_without_the_last_token():
    shares, changes = WordWeights().weights(WORDS)
    assert shares[0].tolist() == pytest.approx([0.245899, 0.296539, 0.156285, 0.301277], abs=1e-6)
    assert shares[1].tolist() == pytest.approx([0.221333, 0.244015, 0.231107, 0.303545], abs=1e-6)
    assert changes.tolist() == pytest.approx([4.025118e-04, 3.198886e-02], rel=1e-5)
    assert (changes / changes.sum()).tolist() == pytest.approx([0.012427, 0.987573], abs=1e-6)
    expected = [1.081334, 0.487271, 0.543065, 1.679117]
    layers = WORDS.transpose(0, 1)[:, None].float()
    for last in (5.0, -70.0):
        # layers of one sentence (layer, sentence, token, width), with something for [SEP]
        hidden = torch.cat([layers, torch.full_like(layers[:, :, :1], last)], dim=2)
        assert WordWeights(first_layer=0)(hidden, None)[0].tolist() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("window", [1, 2, 3])
@pytest.mark.parametrize("whole", [False, True])
def test_angles_from_products_are_those_of_a_qr(window, whole):
    torch.manual_seed(0)
    words = torch.randn(20, 7, 32, dtype=torch.float64) + torch.randn(20, 1, 32, dtype=torch.float64) * 3
    shares, changes = WordWeights(window=window, whole_window=whole).weights(words)
    for word, share, change in zip(words, shares, changes, strict=True):
        assert share.tolist() == pytest.approx(slow_weights(word, window, whole).tolist(), abs=1e-8)
        steps = torch.cosine_similarity(word[1:], word[:-1], dim=1)
        assert change.item() == pytest.approx(((steps - steps.mean()) ** 2).mean().item(), abs=1e-10)


def test_a_rotation_turns_the_vector_and_padding_does_not_move_it():
    torch.manual_seed(0)
    hidden = torch.randn(7, 3, 6, 16)
    mask = torch.tensor([[1] * 6, [1] * 4 + [0] * 2, [1] * 2 + [0] * 4])
    found = WordWeights()(hidden, mask)
    turn = torch.linalg.qr(torch.randn(16, 16)).Q
    assert torch.allclose(WordWeights()(hidden @ turn, mask), found @ turn, atol=1e-5)
    assert torch.allclose(WordWeights()(hidden * 4, mask), found * 4, atol=1e-4)
    for place, length in enumerate((6, 4, 2)):
        assert torch.allclose(WordWeights()(hidden[:, place : place + 1, :length], None)[0], found[place], atol=1e-5)


def test_many_words_are_weighted_as_few_are(monkeypatch):
    torch.manual_seed(0)
    hidden = torch.randn(7, 3, 6, 16)
    found = WordWeights()(hidden, None)
    monkeypatch.setattr("explorer.encoding.read.parts.word_weights.WORDS_AT_ONCE", 2)
    assert torch.allclose(WordWeights()(hidden, None), found, atol=1e-5)


def test_fewer_layers_than_are_asked_for_are_the_last_three():
    torch.manual_seed(0)
    hidden = torch.randn(5, 3, 6, 16)
    assert torch.equal(WordWeights(first_layer=40)(hidden, None), WordWeights(first_layer=2)(hidden, None))
    assert not torch.equal(WordWeights(first_layer=1)(hidden, None), WordWeights(first_layer=2)(hidden, None))


def test_what_never_changes_or_is_a_single_token_is_read_all_the_same():
    torch.manual_seed(0)
    still = torch.randn(1, 2, 4, 16).expand(6, 2, 4, 16)
    assert torch.allclose(WordWeights()(still, None), still[0, :, :3].mean(1), atol=1e-4)
    found = WordWeights()(torch.randn(6, 1, 1, 16), None)
    assert torch.isfinite(found).all()
    assert found.any()
    assert torch.equal(WordWeights()(torch.zeros(6, 1, 3, 16), None), torch.zeros(1, 16))
