"""Test that a cut encoder has the vectors of its layer: here, after an export, and in sentence-transformers."""

import pytest
import torch
from sentence_transformers import SentenceTransformer

from explorer.encoding.export.exporting import export
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.head import Head
from explorer.encoding.tune import editing
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import BadChoice, UnsupportedModel
from tests.spoiling import encoder_of
from tests.tiny_models import FAMILIES, SENTENCES, save_tiny

LAYERS = 3
COUNTS = {"distilbert": "n_layers", "t5": "num_layers", "bart": "encoder_layers", "gpt2": "n_layer"}
ONE_SET_OF_WEIGHTS = ("albert",)
NORM_AT_THE_END = ("modernbert", "t5", "gpt2", "qwen2", "llama")


@pytest.fixture(scope="module", params=FAMILIES)
def family(request, tmp_path_factory) -> tuple[str, Encoder]:
    kind = request.param
    folder = save_tiny(kind, tmp_path_factory.mktemp("cut") / kind, **{COUNTS.get(kind, "num_hidden_layers"): LAYERS})
    return kind, encoder_of(folder)


def vectors(encoder: Encoder, pooling: str) -> torch.Tensor:
    found = torch.empty(len(SENTENCES), encoder.width)
    for places, (some,) in encoder.under_heads(SENTENCES, [Head((pooling,))]):
        found[places] = some
    return found


def test_a_cut_has_the_vectors_of_its_layer(family):
    kind, encoder = family
    where = editing.stack(encoder)
    assert (where.norm is not None) == (kind in NORM_AT_THE_END)
    every = editing.as_cut(encoder, where)
    for layer in range(where.lowest, LAYERS + 1):
        found = vectors(editing.cut(encoder, layer, where), "mean")
        assert torch.allclose(found, vectors(every, f"mean of layer {layer}"), atol=1e-5)


def test_layers_above_the_cut_are_removed_and_the_whole_stays(family):
    kind, encoder = family
    before, size = vectors(encoder, "mean"), encoder.model.num_parameters()
    cut = editing.cut(encoder, 1)
    assert cut.model.config.num_hidden_layers == 1
    assert (cut.model.num_parameters() < size) == (kind not in ONE_SET_OF_WEIGHTS)
    assert encoder.model.num_parameters() == size
    assert encoder.model.config.num_hidden_layers == LAYERS
    assert torch.equal(vectors(encoder, "mean"), before)
    weights = {weight.data_ptr() for weight in encoder.model.parameters()}
    assert {weight.data_ptr() for weight in cut.model.parameters()} <= weights  # shared, not copied
    assert cut.digest != encoder.digest


@pytest.mark.parametrize("kind", ["bert", "mpnet", "albert", "modernbert", "t5", "qwen2"])
def test_sentence_transformers_opens_an_exported_cut(tmp_path, kind):
    encoder = encoder_of(save_tiny(kind, tmp_path / kind))
    where = editing.stack(encoder)
    for layers in range(where.lowest, 2):
        check_export(editing.cut(encoder, layers, where), tmp_path / f"cut {layers}")


def check_export(cut, folder):
    export(Tunable(cut, cut.max_length), Head(("mean",)), folder, "", cut.folder)
    opened = SentenceTransformer(str(folder), device="cpu")
    assert torch.allclose(opened.encode(list(SENTENCES), convert_to_tensor=True), vectors(cut, "mean"), atol=1e-5)
    again = encoder_of(folder)
    assert torch.allclose(vectors(again, "mean"), vectors(cut, "mean"), atol=1e-5)
    assert again.model.num_parameters() == cut.model.num_parameters()


@pytest.mark.parametrize("layers", [-1, LAYERS + 1])
def test_a_layer_that_is_not_there_is_refused_with_those_that_are(family, layers):
    with pytest.raises(BadChoice, match=rf"layer {layers}: it has {LAYERS} layers. Choose a layer from [01] to 3"):
        editing.cut(family[1], layers)


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
