"""Test edited embeddings, position ids, dropped heads, cut encoders and fast dropout in every architecture."""

import pytest
import torch
from sentence_transformers import SentenceTransformer
from torch import nn

from explorer.encoding.export.exporting import export
from explorer.encoding.load.loading import load
from explorer.encoding.locate import families
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.head import Head
from explorer.encoding.tune import editing
from explorer.encoding.tune.editing import FastDropout, use_fast_dropout
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import BadChoice, UnsupportedModel
from tests.spoiling import encoder_of
from tests.tiny_models import FAMILIES, LAYERS, POSITIONS, SENTENCES, WIDTH, save_tiny

NO_POSITIONS = ("deberta-v2", "t5", "bart")  # relative positions only; BART's encoder has no such argument
AFTER_PAD = {"roberta": 1, "mpnet": 1, "xlm-roberta": 1}  # the pad id: positions start at the next number
# attention without any part that depends on the order of tokens, apart from their position ids
BY_POSITION_IDS = ("bert", "roberta", "distilbert", "electra", "albert", "xlm-roberta", "modernbert")
SHARED = ("albert",)  # one layer, used several times


@pytest.fixture(scope="module", params=FAMILIES)
def family(request, tmp_path_factory) -> tuple[str, Encoder]:
    folder = save_tiny(request.param, tmp_path_factory.mktemp("editing") / request.param)
    return request.param, load(of_folder(request.param, folder), precision="float32", device="cpu")


@pytest.fixture
def copy(family) -> Tunable:
    return Tunable(family[1], POSITIONS)


def same(one, other, mask):
    return all(torch.allclose(a[mask], b[mask], atol=1e-5) for a, b in zip(one.hidden, other.hidden, strict=True))


def test_an_edit_is_given_the_embedding_output_and_what_it_returns_is_layer_0(copy):
    before, seen = copy.states(SENTENCES), []

    def edit(embedded, mask):
        seen.append((embedded, mask))
        return torch.ones_like(embedded) * 0.5

    states = copy.states(SENTENCES, edit=edit)
    ((embedded, mask),) = seen
    assert torch.equal(mask, before.mask)
    assert embedded.shape == (*mask.shape, WIDTH)
    assert torch.allclose(embedded[mask], before.hidden[0][mask], atol=1e-6)
    assert torch.equal(states.hidden[0], torch.full_like(embedded, 0.5))
    assert not torch.allclose(states.hidden[-1][mask], before.hidden[-1][mask], atol=1e-3)
    assert same(copy.states(SENTENCES), before, mask), "the hook is removed"


def test_an_edit_that_fails_leaves_no_hook(copy):
    before = copy.states(SENTENCES)

    def edit(embedded, mask):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        copy.states(SENTENCES, edit=edit)
    assert same(copy.states(SENTENCES), before, before.mask)


def test_the_gradient_passes_through_an_edit(copy):
    vectors = torch.randn(len(SENTENCES), WIDTH, requires_grad=True)
    states = copy.states(SENTENCES, edit=lambda embedded, _: torch.cat([vectors[:, None], embedded[:, 1:]], 1))
    assert torch.allclose(states.hidden[0][:, 0], vectors)
    (states.hidden[-1] * torch.randn_like(states.hidden[-1])).sum().backward()
    assert vectors.grad.abs().max() > 0
    assert copy.model.get_input_embeddings().weight.grad.any()


def test_groups_are_edited_with_their_own_masks(copy):
    def edit(embedded, mask):
        return embedded * (1 + torch.arange(embedded.shape[-1]) / WIDTH) * mask[:, :, None]

    together = copy.states(SENTENCES, edit=edit)
    for places, states in copy.grouped(SENTENCES, edit=edit):
        for row, place in enumerate(places):
            own = states.hidden[-1][row][states.mask[row]]
            assert torch.allclose(own, together.hidden[-1][place][together.mask[place]], atol=1e-5)


def test_the_models_own_position_ids_change_nothing(family, copy):
    kind, _ = family
    if kind in NO_POSITIONS:
        with pytest.raises(UnsupportedModel, match=rf"'{kind}' is a .* that takes no position ids.* Choose a BERT"):
            copy.states(SENTENCES, position_ids=lambda own, _: own)
        return
    plain, seen = copy.states(SENTENCES), []
    assert same(copy.states(SENTENCES, position_ids=lambda own, _: seen.append(own) or own), plain, plain.mask)
    if kind in AFTER_PAD:
        start = AFTER_PAD[kind] + 1
        assert seen[0][3][:5].tolist() == [start, start + 1, start + 2, AFTER_PAD[kind], AFTER_PAD[kind]]
    else:
        assert seen[0].tolist() == [list(range(plain.mask.shape[1]))] * len(SENTENCES)
    alone = copy.states(SENTENCES[:1])
    assert same(copy.states(SENTENCES[:1], position_ids=lambda own, _: own), alone, alone.mask), "without padding"


def test_permuted_position_ids_are_permuted_tokens_and_as_many_layers_drop_heads_as_there_are(family, copy):
    kind, encoder = family
    if kind not in BY_POSITION_IDS:
        return
    (ids,) = encoder.tokens(SENTENCES[:1]).ids
    order = torch.randperm(len(ids), generator=torch.Generator().manual_seed(1))
    shuffled = torch.empty_like(order)
    shuffled[order] = torch.arange(len(ids))  # the token that takes the place p is order[p]
    given = copy.states(SENTENCES[:1], position_ids=lambda own, _: own.gather(1, shuffled[None]))
    tokens = torch.tensor(ids)[order][None]
    moved = copy(tokens, torch.ones_like(tokens).bool(), whole=True)
    plain = copy.states(SENTENCES[:1])
    for layer in range(LAYERS + 1):
        assert torch.allclose(given.hidden[layer][0][order], moved.hidden[layer][0], atol=1e-5)
    assert (given.hidden[-1] - plain.hidden[-1]).abs().max() > 1e-5
    if kind == "bert":
        assert (given.hidden[-1].mean(1) - moved.hidden[-1].mean(1)).abs().max() < 1e-6, "equal under mean pooling"
    assert len(editing.heads_joined(copy.model, encoder.name)) == (1 if kind in SHARED else LAYERS)


def test_a_decoder_without_padding_does_not_take_shuffled_positions_for_several_texts(family, copy):
    kind, _ = family
    if kind not in ("gpt2", "qwen2", "llama"):
        return
    row = copy.states(SENTENCES[:1], position_ids=lambda own, _: own.flip(1))
    length = row.mask.shape[1]
    (ids,) = copy.encoder.tokens(SENTENCES[:1]).ids
    tokens = torch.tensor([[(ids[0] + 1) % 100, *ids[1:]]])
    changed = copy(tokens, torch.ones_like(tokens).bool(), position_ids=lambda own, _: own.flip(1))
    assert not torch.allclose(row.hidden[-1][0, length - 1], changed.hidden[-1][0, length - 1], atol=1e-6)


def test_heads_are_dropped_for_each_sentence_and_layer(copy, monkeypatch):
    drawn, draw = [], torch.rand
    monkeypatch.setattr(torch, "rand", lambda *size: drawn.append(draw(*size)) or drawn[-1])
    plain = copy.states(SENTENCES)
    torch.manual_seed(1)
    with copy.heads_dropped(0.2):
        dropped = copy.states(SENTENCES)
    assert [tuple(one.shape) for one in drawn] == [(len(SENTENCES), 2)] * LAYERS
    changed = {
        place
        for place, mask in enumerate(plain.mask)
        if not torch.allclose(dropped.hidden[-1][place][mask], plain.hidden[-1][place][mask], atol=1e-6)
    }
    # with both heads kept, or both dropped and therefore kept, in every layer, a sentence stays as it is
    assert changed == {place for place in range(len(SENTENCES)) if any((one[place] < 0.2).sum() == 1 for one in drawn)}
    assert 0 < len(changed) < len(SENTENCES)
    assert same(copy.states(SENTENCES), plain, plain.mask), "the hooks are removed"
    with copy.heads_dropped(0.0):
        assert same(copy.states(SENTENCES), plain, plain.mask)
    assert len(drawn) == LAYERS


def test_a_kept_head_is_scaled_and_all_are_kept_if_none_would_be():
    states = torch.tensor([[[1.0, 2.0, 3.0, 4.0]]])
    for drawn, expected in (
        ([0.9, 0.1], [2.0, 4.0, 0.0, 0.0]),
        ([0.9, 0.9], [1.0, 2.0, 3.0, 4.0]),
        ([0.1, 0.1], [1.0, 2.0, 3.0, 4.0]),
        ([0.1, 0.5], [0.0, 0.0, 6.0, 8.0]),  # kept at the chance itself
    ):
        factors = editing.head_factors(torch.tensor([drawn]), 0.5)
        assert editing.scaled_heads(states, factors).flatten().tolist() == expected
    many = editing.head_factors(torch.rand(20_000, 12, generator=torch.Generator().manual_seed(0)), 0.2)
    assert abs((many == 0).float().mean().item() - 0.2) < 4 * (0.2 * 0.8 / many.numel()) ** 0.5
    assert torch.allclose(many.sum(1), torch.full((20_000,), 12.0))


def test_a_model_without_known_attention_is_refused(tmp_path, monkeypatch):
    copy = Tunable(encoder_of(save_tiny("bert", tmp_path / "bert")), POSITIONS)
    monkeypatch.setattr(families, "FAMILIES", (families.Family("BERT", ("bert",), heads_joined="another.name"),))
    with copy.heads_dropped(0.0):
        pass
    with pytest.raises(UnsupportedModel, match="attention heads Strata cannot drop"), copy.heads_dropped(0.2):
        pass


@pytest.mark.parametrize("chance", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("shape", [(400, 250), (99_999,)])
def test_as_many_numbers_fall_out_as_the_chance_says_and_the_mean_stays(chance, shape):
    torch.manual_seed(1)
    out = FastDropout(chance)(torch.ones(shape))
    spread = (chance * (1 - chance) / out.numel()) ** 0.5  # of a share of so many independent draws
    assert abs(float((out == 0).float().mean()) - chance) < 4 * spread
    assert torch.allclose(out[out != 0], torch.tensor(1 / (1 - chance)))


def test_the_four_numbers_of_a_draw_fall_out_apart_from_each_other():
    torch.manual_seed(1)
    fallen = (FastDropout(0.5)(torch.ones(100_000, 4)) == 0).float()
    assert (torch.corrcoef(fallen.T) - torch.eye(4)).abs().max() < 4 / 100_000**0.5


def test_the_gradient_falls_where_the_number_fell():
    numbers = torch.randn(7, 13, requires_grad=True)
    out = FastDropout(0.3)(numbers)
    out.sum().backward()
    assert torch.allclose(out, numbers * numbers.grad)
    assert 0 < int((numbers.grad == 0).sum()) < numbers.numel()


def test_one_seed_draws_one_mask_and_the_next_draw_another():
    layer, ones = FastDropout(0.5), torch.ones(64)
    torch.manual_seed(3)
    first, second = layer(ones), layer(ones)
    torch.manual_seed(3)
    assert torch.equal(layer(ones), first)
    assert not torch.equal(first, second)


def test_at_a_chance_of_one_everything_falls_out_and_sixteen_bits_stay_sixteen():
    assert FastDropout(0.1)(torch.ones(8, dtype=torch.bfloat16)).dtype == torch.bfloat16
    assert not FastDropout(1.0)(torch.ones(9)).any()


@pytest.mark.parametrize("layer", [FastDropout(0.5).eval(), FastDropout(0.0)])
def test_nothing_falls_out_where_nothing_should(layer):
    numbers = torch.randn(5, 5)
    assert torch.equal(layer(numbers), numbers)


def test_every_dropout_of_a_module_is_replaced_with_its_chance_and_its_names():
    module = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Dropout(0.2), nn.Dropout(0.3, inplace=True)))
    before = list(module.state_dict())
    use_fast_dropout(module)
    assert [type(child) for child in module[1]] == [FastDropout, nn.Dropout]  # in place, torch's writes over its input
    assert module[1][0].p == 0.2
    assert list(module.state_dict()) == before


@pytest.mark.parametrize("learns", [True, False])
def test_a_module_that_rests_goes_on_resting(learns):
    module = nn.Sequential(nn.Dropout(0.5)).train(learns)
    use_fast_dropout(module)
    assert module[0].training is learns


DEPTH = 3
COUNTS = {"distilbert": "n_layers", "t5": "num_layers", "bart": "encoder_layers", "gpt2": "n_layer"}
ONE_SET_OF_WEIGHTS = ("albert",)
NORM_AT_THE_END = ("modernbert", "t5", "gpt2", "qwen2", "llama")


@pytest.fixture(scope="module", params=FAMILIES)
def deep_family(request, tmp_path_factory) -> tuple[str, Encoder]:
    kind = request.param
    folder = save_tiny(kind, tmp_path_factory.mktemp("cut") / kind, **{COUNTS.get(kind, "num_hidden_layers"): DEPTH})
    return kind, encoder_of(folder)


def vectors(encoder: Encoder, pooling: str) -> torch.Tensor:
    found = torch.empty(len(SENTENCES), encoder.width)
    for places, (some,) in encoder.under_heads(SENTENCES, [Head((pooling,))]):
        found[places] = some
    return found


def test_a_cut_has_the_vectors_of_its_layer_without_the_layers_above_it_and_the_whole_stays(deep_family):
    kind, encoder = deep_family
    where = editing.stack(encoder)
    assert (where.norm is not None) == (kind in NORM_AT_THE_END)
    every = editing.as_cut(encoder, where)
    for layer in range(where.lowest, DEPTH + 1):
        found = vectors(editing.cut(encoder, layer, where), "mean")
        assert torch.allclose(found, vectors(every, f"mean of layer {layer}"), atol=1e-5)
    before, size = vectors(encoder, "mean"), encoder.model.num_parameters()
    cut = editing.cut(encoder, 1)
    assert cut.model.config.num_hidden_layers == 1
    assert (cut.model.num_parameters() < size) == (kind not in ONE_SET_OF_WEIGHTS)
    assert encoder.model.num_parameters() == size
    assert encoder.model.config.num_hidden_layers == DEPTH
    assert torch.equal(vectors(encoder, "mean"), before)
    weights = {weight.data_ptr() for weight in encoder.model.parameters()}
    assert {weight.data_ptr() for weight in cut.model.parameters()} <= weights  # shared, not copied
    assert cut.digest != encoder.digest


@pytest.mark.parametrize("kind", ["bert", "mpnet", "albert", "modernbert", "t5", "qwen2"])
def test_sentence_transformers_opens_an_exported_cut(tmp_path, kind):
    encoder = encoder_of(save_tiny(kind, tmp_path / kind))
    where = editing.stack(encoder)
    for layers in range(where.lowest, 2):
        cut, folder = editing.cut(encoder, layers, where), tmp_path / f"cut {layers}"
        export(Tunable(cut, cut.max_length), Head(("mean",)), folder, "", cut.folder)
        opened = SentenceTransformer(str(folder), device="cpu")
        assert torch.allclose(opened.encode(list(SENTENCES), convert_to_tensor=True), vectors(cut, "mean"), atol=1e-5)
        again = encoder_of(folder)
        assert torch.allclose(vectors(again, "mean"), vectors(cut, "mean"), atol=1e-5)
        assert again.model.num_parameters() == cut.model.num_parameters()


@pytest.mark.product(1)
@pytest.mark.parametrize("layers", [-1, DEPTH + 1])
def test_a_layer_that_is_not_there_is_refused_with_those_that_are(deep_family, layers):
    with pytest.raises(BadChoice, match=rf"layer {layers}: it has {DEPTH} layers. Choose a layer from [01] to 3"):
        editing.cut(deep_family[1], layers)


def test_a_model_whose_layers_depend_on_what_is_above_them_is_refused(tmp_path, monkeypatch):
    encoder = encoder_of(save_tiny("bert", tmp_path / "bert"))
    kind = type(encoder.model)
    plain = kind.forward

    def scaled(self, **given):
        found = plain(self, **given)
        found.last_hidden_state = found.last_hidden_state * self.config.num_hidden_layers
        return found

    monkeypatch.setattr(kind, "forward", scaled)
    with pytest.raises(UnsupportedModel, match="is a bert, whose layers Strata cannot remove"):
        editing.stack(encoder)
