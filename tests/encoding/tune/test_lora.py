"""Test adapters on a tiny encoder of each family: which layers have one, what is trained, and what is computed."""

import pytest
import torch
from torch import nn
from transformers import FNetConfig, FNetModel
from transformers.pytorch_utils import Conv1D

from explorer.encoding.read.encoder import Encoder
from explorer.encoding.tune import lora
from explorer.encoding.tune.lora import ALL_LINEAR, ATTENTION, TARGETS, Lora
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import UnsupportedModel
from explorer.methods import follow
from explorer.training.loop.measured_facts import Adapters
from tests.spoiling import encoder_of
from tests.tiny_models import FAMILIES, LAYERS, POSITIONS, SENTENCES, save_tiny

# the layers of one attention block with an adapter, by the end of their names; all others have .query and .value
NAMES = {
    "distilbert": ("q_lin", "v_lin"),
    "mpnet": ("q", "v"),
    "deberta-v2": ("query_proj", "value_proj"),
    "modernbert": ("Wqkv",),
    "t5": ("q", "v"),
    "bart": ("q_proj", "v_proj"),
    "gpt2": ("c_attn",),
    "qwen2": ("q_proj", "v_proj"),
    "llama": ("q_proj", "v_proj"),
}
BLOCKS = {"albert": 1}  # its layers share one


@pytest.fixture(scope="module", params=FAMILIES)
def family(request, tmp_path_factory) -> tuple[str, Encoder]:
    return request.param, encoder_of(save_tiny(request.param, tmp_path_factory.mktemp("lora") / request.param))


@pytest.fixture
def encoder(family) -> Encoder:
    return family[1]


def adapted(encoder: Encoder, targets: str = ATTENTION, rank: int = 2, alpha: float = 3.0) -> Tunable:
    torch.manual_seed(0)
    return Tunable(encoder, POSITIONS, Lora(rank, alpha, targets))


def learned(encoder: Encoder, targets: str = ATTENTION) -> Tunable:
    """With adapters that have moved, as in training; new ones change nothing."""
    tuned = adapted(encoder, targets)
    with torch.no_grad():
        for weight in tuned.parameters():
            if weight.requires_grad:
                weight += 0.1 * torch.randn_like(weight)
    return tuned


def layers_of(tuned: Tunable):
    return tuned.states(SENTENCES).hidden


@pytest.mark.parametrize("targets", TARGETS)
def test_an_encoder_with_new_adapters_encodes_as_before_to_the_bit(encoder, targets):
    with torch.no_grad():  # torch computes attention in another way if the positions of T5 have gradients
        found, expected = layers_of(adapted(encoder, targets)), layers_of(Tunable(encoder, POSITIONS))
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))


def test_attention_means_query_and_value_of_each_block(family):
    kind, encoder = family
    paths = [path for path, _ in lora.adapted(adapted(encoder).model)]
    names = NAMES.get(kind, ("query", "value"))
    assert len(paths) == BLOCKS.get(kind, LAYERS) * len(names)
    assert {path.rpartition(".")[2] for path in paths} == set(names)


def test_all_linear_means_every_matrix_that_is_no_embedding(encoder):
    paths = {path for path, _ in lora.adapted(adapted(encoder, ALL_LINEAR).model)}
    assert paths == {path for path, layer in encoder.model.named_modules() if isinstance(layer, nn.Linear | Conv1D)}


@pytest.mark.parametrize("targets", TARGETS)
def test_nothing_but_adapters_is_trained_and_all_of_them_are(encoder, targets):
    before = {name: weight.clone() for name, weight in encoder.model.state_dict().items()}
    tuned = learned(encoder, targets).train()
    layers_of(tuned)[-1].square().mean().backward()
    for name, weight in tuned.named_parameters():
        own = ".lora_A." in name or ".lora_B." in name
        assert (weight.grad is not None) == weight.requires_grad == own, name
    torch.optim.AdamW(tuned.parameters(), 0.1).step()
    assert all(torch.equal(weight, before[name]) for name, weight in encoder.model.state_dict().items())
    assert not any(weight.requires_grad for weight in encoder.model.parameters())


def test_a_merged_weight_is_the_old_one_plus_the_scaled_product_of_both_matrices(encoder):
    tuned = learned(encoder)
    merged = dict(tuned.plain().named_parameters())
    for path, layer in lora.adapted(tuned.model):
        down, up = (matrix["default"].weight.detach() for matrix in (layer.lora_A, layer.lora_B))
        old = encoder.model.get_submodule(path).weight
        transposed = isinstance(encoder.model.get_submodule(path), Conv1D)
        for row, column in ((0, 0), (1, 5), (7, 3)):
            added = sum(float(up[row, inner]) * float(down[inner, column]) for inner in range(2)) * 3.0 / 2
            place = (column, row) if transposed else (row, column)
            assert float(merged[f"{path}.weight"][place]) == pytest.approx(float(old[place]) + added, abs=1e-6)


@pytest.mark.parametrize("targets", TARGETS)
def test_the_merged_model_has_the_names_of_the_base_and_encodes_as_with_adapters(encoder, targets):
    tuned = learned(encoder, targets).eval()
    plain = tuned.plain()
    assert list(plain.state_dict()) == list(encoder.model.state_dict())
    assert type(plain) is type(encoder.model)
    frozen = tuned.frozen()
    with torch.no_grad():
        found, expected, base = (layers_of(one)[-1] for one in (frozen, tuned, Tunable(encoder, POSITIONS)))
    assert torch.allclose(found, expected, atol=1e-5)
    assert not torch.allclose(found, base, atol=1e-3), "the premise: the adapters change something"


def test_copies_share_what_no_adapter_changes_and_nothing_that_is_trained(encoder):
    tuned = learned(encoder)
    frozen, another = tuned.frozen(), tuned.another()
    paths = {f"{path}.weight" for path, _ in lora.adapted(tuned.model)}
    base = dict(encoder.model.named_parameters())
    for name, weight in frozen.model.named_parameters():
        assert not weight.requires_grad
        assert (weight is base[name]) == (name not in paths), name
    own = {id(weight) for weight in tuned.parameters() if weight.requires_grad}
    others = [weight for weight in another.parameters() if weight.requires_grad]
    assert len(own) == len(others) == 2 * len(paths)
    assert not own & {id(weight) for weight in others}
    assert all(torch.equal(one, other) for one, other in zip(layers_of(another), layers_of(tuned), strict=True))


def test_a_momentum_copy_follows_the_weights_that_the_encoder_computes_with(encoder):
    tuned = adapted(encoder)
    target = tuned.frozen()
    before = {name: weight.clone() for name, weight in target.model.named_parameters()}
    moved = learned(encoder)
    tuned.model.load_state_dict(moved.model.state_dict())
    follow([target.model], [tuned.model], 0.75)
    towards = dict(moved.plain().named_parameters())
    for name, weight in target.model.named_parameters():
        assert torch.allclose(weight, 0.75 * before[name] + 0.25 * towards[name], atol=1e-6), name
    assert any(not torch.equal(weight, before[name]) for name, weight in target.model.named_parameters())


def test_what_is_trained_is_told_in_numbers(tmp_path):
    encoder = encoder_of(save_tiny("bert", tmp_path / "bert"))
    every = sum(weight.numel() for weight in encoder.model.parameters())
    tuned = adapted(encoder)
    told = Adapters.of(tuned).words
    assert told == f"LoRA (rank 2, alpha 3, targets attention): 512 weights, beside {every:,} that do not change"
    assert Adapters.of(Tunable(encoder, POSITIONS)) is None


def test_an_encoder_without_attention_names_what_is_allowed():
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "intermediate_size": 8, "vocab_size": 9}
    model = FNetModel(FNetConfig(**sizes), add_pooling_layer=False)
    with pytest.raises(UnsupportedModel, match=r"'x' is a fnet without .* query or value\. Set lora_targets to 'al"):
        lora.targets_of(model, "x", ATTENTION)
    model.encoder.layer = nn.ModuleList()
    model.embeddings.projection = nn.Identity()
    with pytest.raises(UnsupportedModel, match=r"a linear layer\. Set lora_rank to 0\.$"):
        lora.targets_of(model, "x", ALL_LINEAR)
