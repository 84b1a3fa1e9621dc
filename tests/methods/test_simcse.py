"""Test SimCSE without labels, on pairs and on triplets: its dense layer, its poolings and its dropout."""

import math

import pytest
import torch
from torch import nn

from explorer import losses, methods
from explorer.encoding.read.head import Dense
from tests.methods.rows import COLUMNS, FIRST, SECOND, THIRD, seeded, vectors_of
from tests.tiny_models import WIDTH

NAMES = ("simcse", "simcse-sup", "simcse-hard")
KEPT = {"simcse": False, "simcse-sup": True, "simcse-hard": True}


def made(name, base, **values):
    """A method whose dense layer matters: weights of 0.02 leave tanh a straight line."""
    method = seeded(name, base, **values)
    with torch.no_grad():
        method.dense.weight.mul_(20)
        method.dense.bias.uniform_(-0.5, 0.5)
    return method


def slow_cls(method, sentence):
    return method.base.states([sentence]).hidden[-1][0, 0].tolist()


def slow_projected(method, sentences):
    """tanh(W h + b) of each sentence's [CLS], one number at a time."""
    weight, bias = method.dense.weight.tolist(), method.dense.bias.tolist()
    found = []
    for sentence in sentences:
        cls = slow_cls(method, sentence)
        products = [sum(w * h for w, h in zip(row, cls, strict=True)) for row in weight]
        found.append([math.tanh(product + b) for product, b in zip(products, bias, strict=True)])
    return torch.tensor(found)


@pytest.mark.parametrize("name", NAMES)
def test_the_dense_layer_is_kept_where_the_paper_keeps_it(base, name):
    method = made(name, base).eval()
    if KEPT[name]:
        (dense,) = method.head().dense
        assert dense.weight is method.dense.weight
        assert dense.bias is method.dense.bias
        assert method.head().describe() == f"cls of the last layer → Dense {WIDTH} (tanh)"
        expected = slow_projected(method, FIRST)
    else:
        assert method.head().dense == ()
        expected = torch.tensor([slow_cls(method, sentence) for sentence in FIRST])
    assert torch.allclose(vectors_of(method, FIRST), expected, atol=1e-5)
    other = made(name, base).eval()
    with torch.no_grad():
        other.dense.bias.add_(1)
    assert torch.allclose(vectors_of(other, FIRST), vectors_of(method, FIRST)) != KEPT[name]


@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
@pytest.mark.parametrize("name", NAMES)
def test_the_pooling_that_is_chosen_is_trained_and_read(base, name, pooling):
    method = made(name, base, pooling=pooling).eval()
    assert method.head().poolings == (pooling,)
    for place, sentence in enumerate(FIRST):
        tokens = method.base.states([sentence]).hidden[-1][0]
        pooled = {"cls": tokens[0], "mean": tokens.mean(0), "max": tokens.max(0).values}[pooling]
        projected = torch.tanh(method.dense.weight @ pooled + method.dense.bias)
        assert torch.allclose(method.projected(FIRST)[place], projected, atol=1e-5)
        assert torch.allclose(vectors_of(method, FIRST)[place], projected if KEPT[name] else pooled, atol=1e-5)


def test_the_weight_of_the_hard_negative_matters_and_is_0_in_the_paper(base):
    found = [made("simcse-hard", base, weight=weight).eval()(FIRST, SECOND, THIRD).item() for weight in (-50, 0, 1)]
    assert found[0] < found[1] - 1e-3 < found[2] - 2e-3
    assert made("simcse-hard", base).eval()(FIRST, SECOND, THIRD).item() == pytest.approx(found[1])
    on_pairs = made("simcse-sup", base).eval()(FIRST, SECOND).item()
    assert found[0] > on_pairs, "the hard negatives of the others are still there"


def both_passes(method, sentences):
    """What the dense layer says of each sentence the first time and the second time."""
    seen, projected = [], method.projected
    method.projected = lambda twice: seen.append(projected(twice)) or seen[-1]
    loss = method(sentences)
    (together,) = seen
    assert len(together) == 2 * len(sentences)
    return loss, together[: len(sentences)], together[len(sentences) :]


def test_without_labels_the_two_passes_differ_by_dropout_alone(base):
    method = made("simcse", base)
    loss, one, other = both_passes(method, FIRST)
    assert method.base.model.config.hidden_dropout_prob == 0.1
    assert not any(torch.allclose(a, b, atol=1e-3) for a, b in zip(one, other, strict=True))
    assert loss.item() == pytest.approx(losses.info_nce(one, other, 0.05).item(), rel=1e-5)
    quiet = made("simcse", base)
    for part in quiet.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    assert quiet.base.model.training
    loss, one, other = both_passes(quiet, FIRST)
    assert torch.allclose(one, other, atol=1e-6)
    assert torch.allclose(torch.cosine_similarity(one, other), torch.ones(len(FIRST)), atol=1e-6)
    alike = [[torch.cosine_similarity(a, b, dim=0).item() for b in one] for a in one]
    terms = [math.log(sum(math.exp((cosine - 1) / 0.05) for cosine in row)) for row in alike]
    assert loss.item() == pytest.approx(sum(terms) / len(terms), rel=1e-3)
    assert quiet.similarities[0].item() == pytest.approx(1.0, abs=1e-6)


def test_dropout_is_drawn_anew_for_every_batch_and_told_by_the_seed(base):
    method = made("simcse", base)
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(method(FIRST).item())
    assert found[0] == found[1]
    assert found[0] != found[2]
    assert method(FIRST).item() != found[2]


@pytest.mark.parametrize("name", NAMES)
def test_every_weight_learns_the_dense_layer_too(base, name):
    method = made(name, base)
    method(*COLUMNS[method.rows]).backward()
    assert all(weight.requires_grad for weight in method.parameters())
    assert method.dense.weight.grad.abs().max() > 1e-4
    embedded = method.base.embeddings.word_embeddings.weight.grad
    read = {number for column in COLUMNS[method.rows] for row in base.encoder.tokens(column).ids for number in row}
    moved = {number for number, gradient in enumerate(embedded) if gradient.any()}
    assert moved == read, "the embeddings of the words in the batch learn, and no others"


@pytest.mark.parametrize("name", NAMES)
def test_the_dense_layer_is_made_up_and_not_the_pretrained_pooler(base, name):
    drawn = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        method = methods.load(name)(base)
        assert method.dense.weight.shape == (WIDTH, WIDTH)
        assert method.dense.weight.std().item() == pytest.approx(0.02, rel=0.1)
        assert not method.dense.bias.any()
        drawn.append(method.dense.weight.detach())
    assert not torch.equal(*drawn)


def test_a_head_is_the_dense_layer_as_it_is_now(base):
    method = made("simcse-sup", base).eval()
    before = vectors_of(method, FIRST)
    assert isinstance(method.head().dense[0], Dense)
    with torch.no_grad():
        method.dense.weight.mul_(-1)
        method.dense.bias.mul_(-1)
    assert torch.allclose(vectors_of(method, FIRST), -before, atol=1e-6)
