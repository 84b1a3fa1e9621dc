"""Test layer attention in training: pooler, noise, and the pooling of the trained model."""

from types import SimpleNamespace

import pytest
import torch

from explorer import methods
from explorer.encoding.read.head import Head
from explorer.methods import layer_attention
from tests.methods.rows import COLUMNS, FIRST, vectors_of

NAMES = ["layer-attention", "layer-attention-sup", "layer-attention-hard"]


def made(base, name="layer-attention", **values):
    torch.manual_seed(0)
    return methods.load(name)(base, values)


def test_there_is_a_pooler_for_each_row_of_table_2_and_two_for_those_with_first_last():
    from_0 = [name for name in layer_attention.POOLERS if "from layer 0" in name]
    assert from_0 == ["first-last mean, from layer 0", "mean, first-last mean, from layer 0"]
    assert len(layer_attention.POOLERS) == 9 + len(from_0)


@pytest.mark.parametrize(
    ("pooler", "layers"), [("first-last mean", (1, -1)), ("first-last mean, from layer 0", (0, -1))]
)
def test_first_last_is_the_mean_of_the_layers_in_its_name(base, pooler, layers):
    method = made(base, pooler=pooler).eval()
    hidden, mask = base.states(FIRST).hidden, base.states(FIRST).mask.float()
    first, last = ((hidden[layer] * mask[..., None]).sum(1) / mask.sum(1, keepdim=True) for layer in layers)
    expected = torch.tanh(torch.nn.functional.linear((first + last) / 2, method.dense.weight, method.dense.bias))
    assert torch.allclose(vectors_of(method, FIRST), expected, atol=1e-5)
    told = "layers 1 and last" if layers[0] else f"layers 0 + {base.layers}"
    assert method.head().describe() == f"mean of {told} → Dense {method.width} (tanh)"


def test_the_pooler_and_its_dense_layer_are_as_large_as_the_papers():
    method = methods.load("layer-attention")(SimpleNamespace(width=768), {})
    added = [weight for name, weight in method.named_parameters() if not name.startswith("base.")]
    assert sum(weight.numel() for weight in added) == 2_949_888


@pytest.mark.parametrize("pooler", layer_attention.POOLERS)
@pytest.mark.parametrize("name", NAMES)
def test_every_pooler_trains_every_part_it_has(base, name, pooler):
    method = made(base, name, pooler=pooler)
    loss = method(*COLUMNS[method.rows])
    loss.backward()
    assert torch.isfinite(loss)
    assert [weight for weight, value in method.named_parameters() if value.grad is None] == []
    assert len(method.maps) == (3 if "attention" in pooler else 0)


@pytest.mark.parametrize("pooler", layer_attention.POOLERS)
def test_a_sentence_is_read_by_what_was_trained(base, pooler):
    method = made(base, pooler=pooler).eval()
    states = base.states(FIRST)
    assert torch.allclose(vectors_of(method, FIRST), method.head()(states.hidden, states.mask), atol=1e-5)
    assert torch.allclose(vectors_of(method, FIRST), method.projected(FIRST), atol=1e-5)


def test_the_pooler_draws_in_training_and_rests_afterwards(base):
    method = made(base)
    base.eval()  # no dropout: what differs is the pooler's
    assert not torch.equal(method.projected(FIRST), method.projected(FIRST))
    method.eval()
    assert torch.equal(method.projected(FIRST), method.projected(FIRST))
    assert method.head().layers.noisy is False


def test_the_pooler_may_serve_training_alone(base):
    method = made(base, afterwards="cls")
    assert method.head() == Head(("cls",))
    assert method.training_only == ()
    assert method(FIRST).requires_grad


def test_embeddings_are_a_layer_unless_told_otherwise(base):
    assert made(base).head().layers.first_layer == 0
    assert made(base, with_embeddings=False).head().layers.first_layer == 1


def test_the_base_is_read_for_comparison_by_the_layers_the_pooler_takes(base):
    assert made(base).base_head() == Head(("cls",))
    assert made(base, pooler="attention of mean").base_head() == Head(("cls",))
    assert made(base, pooler="mean").base_head() == Head(("mean",))
