"""Test what is trained of an encoder, a copy of it or adapters, in each family."""

from dataclasses import replace

import pytest
import torch
from torch import nn
from transformers import FNetConfig, FNetModel
from transformers.pytorch_utils import Conv1D

from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.attention import EAGER
from explorer.encoding.read.batching import LIMITS, limits_of
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.tune import adapters, editing, tunable
from explorer.encoding.tune.adapters import ALL_LINEAR, ATTENTION, TARGETS, Lora
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import BadChoice, UnsupportedModel
from explorer.methods import follow
from explorer.training.loop.measured_facts import Adapters
from tests.spoiling import encoder_of
from tests.tiny_models import FAMILIES, LAYERS, POSITIONS, SENTENCES, WIDTH, save_tiny

# what hidden state 0 is made of beyond the embedding block, and is therefore trained where the block is not
BEYOND = {
    "electra": {"embeddings_project.weight", "embeddings_project.bias"},
    "albert": {"encoder.embedding_hidden_mapping_in.weight", "encoder.embedding_hidden_mapping_in.bias"},
    "bart": {"embed_positions.weight", "layernorm_embedding.weight", "layernorm_embedding.bias"},
    "gpt2": {"wpe.weight"},
}


@pytest.fixture(scope="module", params=FAMILIES)
def family(request, tmp_path_factory) -> tuple[str, Encoder]:
    folder = save_tiny(request.param, tmp_path_factory.mktemp("tunable") / request.param)
    return request.param, load(of_folder(request.param, folder), precision="float32", device="cpu")


@pytest.fixture
def encoder(family) -> Encoder:
    return family[1]


def test_a_copy_reads_every_layer_as_its_encoder_does_and_every_weight_that_makes_the_last_one_gets_a_gradient(encoder):
    copy = Tunable(encoder, POSITIONS)
    states, expected = copy.states(SENTENCES), encoder.states(SENTENCES)
    assert torch.equal(states.mask, expected.mask)
    assert len(states.hidden) == len(expected.hidden) == copy.layers + 1 == LAYERS + 1
    assert copy.width == WIDTH
    for layer, own in enumerate(states.hidden):
        assert torch.allclose(own[states.mask], expected.hidden[layer][states.mask], atol=1e-5)
    copy = Tunable(encoder, POSITIONS).train()
    states = copy.states(SENTENCES)
    (states.hidden[-1] * torch.randn(states.hidden[-1].shape))[states.mask].sum().backward()
    assert [name for name, weight in copy.named_parameters() if weight.grad is None] == []
    assert all(torch.isfinite(weight.grad).all() for weight in copy.parameters())


def test_sentences_read_in_groups_are_what_they_are_together(encoder):
    copy = Tunable(encoder, POSITIONS)
    together, seen = copy.states(SENTENCES), []
    for places, states in copy.grouped(SENTENCES):
        seen += places
        for place, mask, *layers in zip(places, states.mask, *states.hidden, strict=True):
            real = together.mask[place]
            assert int(mask.sum()) == int(real.sum())
            for layer, own in enumerate(layers):
                assert torch.allclose(own[mask], together.hidden[layer][place][real], atol=1e-5)
    assert sorted(seen) == list(range(len(SENTENCES)))


def test_a_group_is_never_padded_past_what_the_encoder_can_read(encoder):
    copy = Tunable(encoder, POSITIONS)
    long = " ".join(SENTENCES * 30)
    assert max([states.mask.shape[1] for _, states in copy.grouped([long, *SENTENCES])]) == encoder.max_length


def test_padding_changes_nothing(encoder):
    copy = Tunable(encoder, POSITIONS)
    together = copy.states(SENTENCES)
    lengths = together.mask.sum(1).tolist()
    assert len(set(lengths)) > 2
    for place, sentence in enumerate(SENTENCES):
        alone = copy.states([sentence])
        assert alone.mask.all()
        for layer, hidden in enumerate(alone.hidden):
            assert torch.allclose(together.hidden[layer][place, : lengths[place]], hidden[0], atol=1e-5)


def test_the_embedding_block_is_all_before_the_first_layer_and_attention_means_query_and_value_of_each_block(family):
    kind, encoder = family
    copy = Tunable(encoder, POSITIONS)
    editing.embeddings(copy.model).requires_grad_(False)
    block = {name for name, weight in copy.model.named_parameters() if not weight.requires_grad}
    assert block
    copy.requires_grad_(True)
    names = [name for name, _ in copy.model.named_parameters()]
    first = copy.states(SENTENCES).hidden[0].square().sum()
    gradients = torch.autograd.grad(first, list(copy.model.parameters()), allow_unused=True)
    before = {name for name, gradient in zip(names, gradients, strict=True) if gradient is not None}
    assert before == block | BEYOND.get(kind, set())
    paths = [path for path, _ in adapters.adapted(adapted(encoder).model)]
    names = NAMES.get(kind, ("query", "value"))
    assert len(paths) == BLOCKS.get(kind, LAYERS) * len(names)
    assert {path.rpartition(".")[2] for path in paths} == set(names)


def test_with_the_embeddings_held_all_the_rest_still_learns(encoder):
    copy = Tunable(encoder, POSITIONS)
    editing.embeddings(copy.model).requires_grad_(False)
    copy.states(SENTENCES).hidden[-1].square().sum().backward()
    held = {id(weight) for weight in editing.embeddings(copy.model).parameters()}
    for name, weight in copy.named_parameters():
        assert (weight.grad is None) == (id(weight) in held), name


def test_training_a_copy_leaves_its_encoder_as_it_was(encoder):
    before = {name: weight.clone() for name, weight in encoder.model.state_dict().items()}
    copy = Tunable(encoder, POSITIONS).train()
    optimizer = torch.optim.SGD(copy.parameters(), 0.1)
    copy.states(SENTENCES).hidden[-1].square().mean().backward()
    optimizer.step()
    assert any(not torch.equal(weight, before[name]) for name, weight in copy.model.state_dict().items())
    assert all(torch.equal(weight, before[name]) for name, weight in encoder.model.state_dict().items())
    assert not any(weight.requires_grad for weight in encoder.model.parameters())
    assert not encoder.model.training
    assert copy.encoder is encoder
    assert not any(name.startswith("_encoder") for name in copy.state_dict())


def test_frozen_has_the_weights_of_now_and_never_learns(encoder):
    copy = Tunable(encoder, POSITIONS)
    with torch.no_grad():
        for weight in copy.parameters():
            weight.mul_(1.5)
    frozen = copy.frozen()
    expected = [layer.detach().clone() for layer in copy.states(SENTENCES).hidden]
    assert not torch.allclose(expected[-1], Tunable(encoder, POSITIONS).states(SENTENCES).hidden[-1], atol=1e-2)
    with torch.no_grad():
        for weight in copy.parameters():
            weight.zero_()
    found = frozen.states(SENTENCES).hidden
    assert all(torch.allclose(one, other, atol=1e-4) for one, other in zip(found, expected, strict=True))
    assert not any(layer.requires_grad for layer in found)
    assert not any(weight.requires_grad for weight in frozen.parameters())
    assert frozen.max_length == copy.max_length


@pytest.mark.parametrize(("asked", "read"), [(3, 3), (10, 10), (POSITIONS, POSITIONS), (POSITIONS + 1, POSITIONS)])
def test_in_training_a_sentence_is_cut_as_asked_and_afterwards_as_the_encoder_reads(tiny_encoder, asked, read):
    copy = Tunable(tiny_encoder, asked)
    assert tiny_encoder.max_length == POSITIONS
    assert copy.max_length == read
    assert copy.states(["guitar " * 100, "no"]).mask.sum(1).tolist() == [read, 3]
    assert [places for places, _ in copy.read(["guitar " * 100])] == [[0]]
    assert next(copy.read(["guitar " * 100]))[1].hidden[0].shape == (1, POSITIONS, WIDTH)


def test_too_short_a_length_is_refused_as_the_encoder_refuses_it(tiny_encoder):
    with pytest.raises(BadChoice, match="maximum length of 2 tokens is not possible: tiny allows 3 to 64"):
        Tunable(tiny_encoder, 2).states(["a man"])


def test_reading_covers_every_sentence_once_longest_first(tiny_encoder, monkeypatch):
    device = tiny_encoder.device
    monkeypatch.setitem(LIMITS, device, replace(limits_of(device), tokens=20))
    sentences = [*SENTENCES, *reversed(SENTENCES), "no", "guitar " * 50]
    copy = Tunable(tiny_encoder, POSITIONS)
    seen, lengths = [], []
    for places, states in copy.read(sentences):
        assert len(places) == len(states.mask)
        assert states.mask.numel() <= 20 or len(places) == 1
        seen += places
        lengths.append(states.mask.shape[1])
        for row, place in enumerate(places):
            own = copy.states([sentences[place]]).hidden[-1][0]
            assert torch.allclose(states.hidden[-1][row][states.mask[row]], own, atol=1e-5)
    assert sorted(seen) == list(range(len(sentences)))
    assert lengths == sorted(lengths, reverse=True)
    assert len(lengths) > 5, "otherwise all were read at once"


def test_reading_carries_no_gradient_does_not_take_the_callers_away_and_computes_as_it_is_told(tiny_encoder):
    copy = Tunable(tiny_encoder, 32)
    for _, states in copy.read(SENTENCES):
        assert torch.is_grad_enabled()
        assert not any(layer.requires_grad for layer in states.hidden)
    assert copy.states(SENTENCES).hidden[-1].requires_grad
    rounded = next(copy.read(SENTENCES, lambda: torch.autocast("cpu", torch.bfloat16)))[1].hidden[-1]
    assert 0 < (rounded.float() - next(copy.read(SENTENCES))[1].hidden[-1]).abs().max() < 0.1
    assert not torch.is_autocast_enabled("cpu")


def test_a_copy_of_rounded_weights_trains_in_float32(tmp_path):
    rounded = load(of_folder("tiny", save_tiny("bert", tmp_path / "tiny")), precision="bfloat16", device="cpu")
    copy = Tunable(rounded, 32)
    assert {weight.dtype for weight in rounded.model.parameters()} == {torch.bfloat16}, "the encoder stays as it is"
    assert {weight.dtype for weight in copy.parameters()} == {torch.float32}
    assert copy.states(SENTENCES).hidden[-1].dtype == torch.float32


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


@pytest.mark.product(1)
@pytest.mark.parametrize("targets", TARGETS)
def test_an_encoder_with_new_adapters_encodes_as_before_to_the_bit(encoder, targets):
    with torch.no_grad():  # torch computes attention in another way if the positions of T5 have gradients
        found, expected = layers_of(adapted(encoder, targets)), layers_of(Tunable(encoder, POSITIONS))
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))


def test_all_linear_means_every_matrix_that_is_no_embedding(encoder):
    paths = {path for path, _ in adapters.adapted(adapted(encoder, ALL_LINEAR).model)}
    assert paths == {path for path, layer in encoder.model.named_modules() if isinstance(layer, nn.Linear | Conv1D)}


@pytest.mark.product(1)
@pytest.mark.parametrize("targets", TARGETS)
def test_nothing_but_adapters_is_trained_and_all_of_them_are(encoder, targets):
    before = {name: weight.clone() for name, weight in encoder.model.state_dict().items()}
    tuned = learned(encoder, targets).train()
    layers_of(tuned)[-1].square().mean().backward()
    for name, weight in tuned.named_parameters():
        assert (weight.grad is not None) == weight.requires_grad == (".lora_A." in name or ".lora_B." in name), name
    torch.optim.AdamW(tuned.parameters(), 0.1).step()
    assert all(torch.equal(weight, before[name]) for name, weight in encoder.model.state_dict().items())
    assert not any(weight.requires_grad for weight in encoder.model.parameters())


def test_a_merged_weight_is_the_old_one_plus_the_scaled_product_of_both_matrices(encoder):
    tuned = learned(encoder)
    merged = dict(tuned.plain().named_parameters())
    for path, layer in adapters.adapted(tuned.model):
        down, up = (matrix["default"].weight.detach() for matrix in (layer.lora_A, layer.lora_B))
        old = encoder.model.get_submodule(path).weight
        transposed = isinstance(encoder.model.get_submodule(path), Conv1D)
        for row, column in ((0, 0), (1, 5), (7, 3)):
            added = sum(float(up[row, inner]) * float(down[inner, column]) for inner in range(2)) * 3.0 / 2
            place = (column, row) if transposed else (row, column)
            assert float(merged[f"{path}.weight"][place]) == pytest.approx(float(old[place]) + added, abs=1e-6)


@pytest.mark.product(1)
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
    paths = {f"{path}.weight" for path, _ in adapters.adapted(tuned.model)}
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
    told = Adapters.of(adapted(encoder)).words
    assert told == f"LoRA (rank 2, alpha 3, targets attention): 512 weights, beside {every:,} that do not change"
    assert Adapters.of(Tunable(encoder, POSITIONS)) is None


def test_an_encoder_without_attention_names_what_is_allowed():
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "intermediate_size": 8, "vocab_size": 9}
    model = FNetModel(FNetConfig(**sizes), add_pooling_layer=False)
    with pytest.raises(UnsupportedModel, match=r"'x' is a fnet without .* query or value\. Set lora_targets to 'al"):
        adapters.targets_of(model, "x", ATTENTION)
    model.encoder.layer = nn.ModuleList()
    model.embeddings.projection = nn.Identity()
    with pytest.raises(UnsupportedModel, match=r"a linear layer\. Set lora_rank to 0\.$"):
        adapters.targets_of(model, "x", ALL_LINEAR)


def test_an_encoder_that_returns_attention_shares_its_weights_and_computes_as_one_that_is_loaded_so(tmp_path):
    found = of_folder("tiny", save_tiny("bert", tmp_path / "tiny"))
    plain, loaded = load(found, "float32"), load(found, "float32", attention=EAGER)
    shared = tunable.attending(plain)
    ids, mask = plain.padded(plain.tokens(SENTENCES[:3]).ids)
    with torch.no_grad():
        ours, theirs = (
            one.model(input_ids=ids, attention_mask=mask.long(), output_attentions=True) for one in (shared, loaded)
        )
    assert torch.equal(ours.last_hidden_state, theirs.last_hidden_state)
    assert all(map(torch.equal, ours.attentions, theirs.attentions))
    weights = zip(plain.model.parameters(), shared.model.parameters(), strict=True)
    assert all(one.data_ptr() == other.data_ptr() for one, other in weights)
    assert plain.model.config._attn_implementation != EAGER, "the other one is as before"
