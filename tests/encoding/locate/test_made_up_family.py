"""Test that a family is one row: one with names of its own is loaded, edited, adapted, cut and exported."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from transformers import AutoModel, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_MAPPING

from explorer.encoding.export import exporting
from explorer.encoding.load.declared import poolings
from explorer.encoding.locate import families, layout
from explorer.encoding.locate.families import Family
from explorer.encoding.read.head import Head
from explorer.encoding.read.pooling import DECODER_POOLINGS, GRID_POOLINGS
from explorer.encoding.tune import adapters, editing
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import UnsupportedModel
from tests.spoiling import configure, encoder_of
from tests.tiny_models import POSITIONS, SENTENCES, tiny_tokenizer

ROW = Family(
    "Sediment",
    ("sediment",),
    vocabulary=("words.lst",),
    layers="tiers",
    repeated=("grain",),
    sizes=("breadth",),
    other_sizes=("span",),
    positions_if="counts_places",
    embeddings="ground",
    entrances=("threshold",),
    positions="places",
    heads_joined="mixer.join",
    query_value=("fused",),
)
PAD = 0  # of the tokenizer; positions of tokens start at 1
SPAN = 50  # positions, one of them that of padding


class SedimentConfig(PreTrainedConfig):
    """Settings under names of their own."""

    model_type = "sediment"
    attribute_map = {  # noqa: RUF012 (as transformers states it)
        "num_hidden_layers": "tiers",
        "hidden_size": "breadth",
        "num_attention_heads": "facets",
        "max_position_embeddings": "span",
    }

    def __init__(self, words=128, tiers=3, breadth=32, facets=2, span=SPAN, **more):
        self.words, self.tiers, self.breadth, self.facets, self.span = words, tiers, breadth, facets, span
        self.counts_places, self.grain = True, 1
        super().__init__(**{"pad_token_id": PAD} | more)


class Mixer(nn.Module):
    """Self-attention with query, key and value in one matrix."""

    def __init__(self, config):
        super().__init__()
        self.facets = config.facets
        self.fused = nn.Linear(config.breadth, 3 * config.breadth)
        self.join = nn.Linear(config.breadth, config.breadth)

    def forward(self, states, mask):
        parts = self.fused(states).unflatten(-1, (3, self.facets, -1)).permute(2, 0, 3, 1, 4)
        return self.join(scaled_dot_product_attention(*parts, attn_mask=mask).transpose(1, 2).flatten(2))


class Tier(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.mixer, self.norm = Mixer(config), nn.LayerNorm(config.breadth)

    def forward(self, states, mask):
        return self.norm(states + self.mixer(states, mask))


class Ground(nn.Module):
    """Words and positions."""

    def __init__(self, config):
        super().__init__()
        self.padding_idx = config.pad_token_id
        self.words = nn.Embedding(config.words, config.breadth)
        self.places = nn.Embedding(config.span, config.breadth, padding_idx=self.padding_idx)

    def forward(self, ids, positions):
        if positions is None:
            real = (ids != self.padding_idx).long()
            positions = real.cumsum(1) * real + self.padding_idx
        return self.words(ids) + self.places(positions)


class SedimentModel(PreTrainedModel):
    config_class = SedimentConfig
    base_model_prefix = "sediment"
    _supports_sdpa = True

    def __init__(self, config):
        super().__init__(config)
        self.ground = Ground(config)
        self.embeddings = nn.Dropout(0.0)  # named as a BERT's block, and neither that nor layer 0
        self.threshold = nn.Linear(config.breadth, config.breadth)
        self.tiers = nn.ModuleList(Tier(config) for _ in range(config.tiers))
        self.post_init()

    def get_input_embeddings(self):
        return self.ground.words

    def forward(self, input_ids, attention_mask=None, position_ids=None, output_hidden_states=None, **_):
        mask = None if attention_mask is None else attention_mask.bool()[:, None, None]
        hidden = [self.threshold(self.embeddings(self.ground(input_ids, position_ids)))]
        for tier in self.tiers:
            hidden.append(tier(hidden[-1], mask))
        return BaseModelOutput(last_hidden_state=hidden[-1], hidden_states=tuple(hidden))


@pytest.fixture(scope="module", autouse=True)
def known_to_transformers():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(CONFIG_MAPPING._extra_content, "sediment", SedimentConfig)
        patch.setitem(MODEL_MAPPING._extra_content, SedimentConfig, SedimentModel)
        yield


@pytest.fixture(scope="module")
def folder(known_to_transformers, tmp_path_factory):
    place, tokenizer = tmp_path_factory.mktemp("model") / "sediment", tiny_tokenizer("distilbert")
    torch.manual_seed(0)
    assert tokenizer.pad_token_id == PAD
    model = SedimentModel(SedimentConfig(words=len(tokenizer)))
    nn.init.normal_(model.ground.places.weight)
    model.save_pretrained(place)
    tokenizer.save_pretrained(place)
    return place


@pytest.fixture(autouse=True)
def row(monkeypatch):
    monkeypatch.setattr(families, "FAMILIES", (*families.FAMILIES, ROW))


@pytest.fixture
def copy(folder) -> Tunable:
    return Tunable(encoder_of(folder), POSITIONS)


def paths(model, parts):
    return [path for path, part in model.named_modules() if any(part is one for one in parts)]


def test_without_its_row_nothing_of_its_own_is_known(copy, folder, monkeypatch):
    monkeypatch.setattr(families, "FAMILIES", families.FAMILIES[:-1])
    with pytest.raises(UnsupportedModel, match="does not say how many layers"):
        layout.last_layer(folder)
    assert paths(copy.model, [editing.entrance(copy.model)]) == ["embeddings"], "as in other families, and wrong"
    assert adapters.targeted(copy.model, adapters.ATTENTION) == ()
    with pytest.raises(UnsupportedModel, match="heads Strata cannot drop"):
        editing.heads_joined(copy.model, "tiny")


def test_its_settings_and_files_are_found(folder, tmp_path):
    assert layout.last_layer(folder) == 3
    assert encoder_of(folder).max_length == SPAN - 1
    (tmp_path / "words.lst").touch()
    assert layout.vocabulary(tmp_path) == (tmp_path / "words.lst",)


@pytest.mark.parametrize(
    ("name", "number", "allowed"),
    [
        ("breadth", 0, "0; at least 1 is allowed"),
        ("tiers", 1001, "1,001; at most 1,000 is allowed"),
        ("grain", 1001, "1,001; at most 1,000 is allowed"),
        ("span", 2**40, "1,099,511,627,776; the largest dimension in the weights is"),
    ],
)
def test_an_absurd_size_is_refused_before_it_is_built(folder, tmp_path, name, number, allowed):
    place = Path(shutil.copytree(folder, tmp_path / "wrong"))
    configure(place / "config.json", **{name: number})
    with pytest.raises(UnsupportedModel, match=f"says that {name} is {allowed}"):
        encoder_of(place)


def test_its_edited_embeddings_are_layer_0(copy):
    assert editing.embeddings(copy.model) is copy.model.ground
    states = copy.states(SENTENCES, edit=lambda embedded, _: torch.ones_like(embedded))
    assert torch.equal(states.hidden[0], torch.ones_like(states.hidden[0]))


def test_its_position_ids_start_after_that_of_padding(copy):
    plain, seen = copy.states(SENTENCES), []
    same = copy.states(SENTENCES, position_ids=lambda own, _: seen.append(own) or own)
    assert torch.allclose(same.hidden[-1][plain.mask], plain.hidden[-1][plain.mask], atol=1e-6)
    assert torch.equal(seen[0], plain.mask.long().cumsum(1) * plain.mask)
    copy.model.config.counts_places = False
    with pytest.raises(UnsupportedModel, match="takes no position ids"):
        editing.require_position_ids(copy.model, "tiny")


def test_its_heads_are_dropped(copy):
    found = editing.heads_joined(copy.model, "tiny")
    assert paths(copy.model, found) == [f"tiers.{number}.mixer.join" for number in range(3)]
    plain = copy.states(SENTENCES).hidden[-1]
    torch.manual_seed(1)
    with copy.heads_dropped(0.5):
        assert not torch.allclose(copy.states(SENTENCES).hidden[-1], plain, atol=1e-3)


def test_its_query_and_value_get_adapters_and_it_is_cut_after_any_layer(copy):
    names = adapters.targets_of(copy.model, "tiny", adapters.ATTENTION)
    assert names == tuple(f"tiers.{number}.mixer.fused" for number in range(3))
    adapted = Tunable(copy.encoder, POSITIONS, adapters.Lora(2, 4.0, adapters.ATTENTION))
    adapted.states(SENTENCES).hidden[-1].pow(2).sum().backward()
    assert {path for path, layer in adapters.adapted(adapted.model) if layer.weight is not None} == {*names}
    for layer in range(4):
        part = editing.cut(copy.encoder, layer)
        assert torch.allclose(
            part.states(SENTENCES).hidden[-1], copy.encoder.states(SENTENCES).hidden[layer], atol=1e-6
        )


def test_it_is_exported_and_opened_again(copy, folder, tmp_path):
    assert exporting.auto_class(copy.encoder) == "AutoModel"
    exporting.export(copy, Head(("mean",)), tmp_path / "out", "", folder)
    again = encoder_of(tmp_path / "out")
    assert isinstance(AutoModel.from_pretrained(tmp_path / "out"), SedimentModel)
    assert torch.equal(again.states(SENTENCES).hidden, copy.encoder.states(SENTENCES).hidden)
    assert layout.last_layer(tmp_path / "out") == 3


def test_a_decoder_has_the_poolings_of_decoders(folder, monkeypatch):
    assert poolings(folder) == GRID_POOLINGS
    monkeypatch.setattr(families, "FAMILIES", (*families.FAMILIES[:-1], replace(ROW, decoder=True)))
    assert poolings(folder) == encoder_of(folder).poolings == DECODER_POOLINGS
