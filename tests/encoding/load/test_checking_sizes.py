"""Test that sizes in config.json are compared with the weights and with memory before anything is allocated."""

import json
import threading

import pytest
import torch

from explorer.encoding.load import checking
from explorer.encoding.locate import layout, weights
from explorer.errors import ModelError, ModelTooLarge, UnsupportedModel, WeightsMissing
from tests.spoiling import configure, encoder_of, reweigh
from tests.tiny_models import FAMILIES, save_tiny

ABSURD = {
    "labels": ("num_labels", 10**9),
    "layers": ("num_hidden_layers", 10**6),
    "width": ("hidden_size", 10**8),
    "an overflowing inner width": ("intermediate_size", 10**18),
    "inner width": ("intermediate_size", 10**8),
    "words": ("vocab_size", 10**9),
    "positions": ("max_position_embeddings", 10**9),
    "types": ("type_vocab_size", 10**9),
    "heads": ("num_attention_heads", 10**7),
    "no heads": ("num_attention_heads", 0),
    "no width": ("hidden_size", 0),
    "negative words": ("vocab_size", -1),
}


def noted_meters(monkeypatch):
    """The counts of every model that is built from now on."""
    meters: list[checking._Meter] = []
    made = checking._Meter.__init__

    def noted(self: checking._Meter, *given: object) -> None:
        made(self, *given)
        meters.append(self)

    monkeypatch.setattr(checking._Meter, "__init__", noted)
    return meters


@pytest.mark.parametrize("suffix", [".safetensors", ".bin"])
@pytest.mark.parametrize(("name", "number"), ABSURD.values(), ids=ABSURD)
def test_an_absurd_size_is_refused_by_name_before_it_is_allocated(bert, name, number, suffix):
    reweigh(bert, lambda whole: whole, suffix)
    configure(bert / "config.json", **{name: number})
    with pytest.raises(ModelError, match=r"Copy the config\.json that was saved with") as error:
        encoder_of(bert)
    assert name in str(error.value)
    assert f"{number:,}" in str(error.value)


@pytest.mark.parametrize(("kind", "name"), [("bert", "num_hidden_layers"), ("albert", "inner_group_num")])
def test_a_model_of_far_more_tensors_than_its_weights_is_refused_before_all_of_it_is_built(
    tmp_path, kind, name, monkeypatch
):
    meters = noted_meters(monkeypatch)
    folder = save_tiny(kind, tmp_path / kind)
    configure(folder / "config.json", **{name: layout.MOST_LAYERS})
    with pytest.raises(WeightsMissing, match=rf"more than [\d,]+ tensors \(.*{name} 1,000.*\); its weights hold \d+"):
        encoder_of(folder)
    assert meters[0].modules < 5000, "the whole has some 20,000"


def test_sizes_of_a_part_and_in_a_list_are_compared_too(bert):
    path = bert / "config.json"
    for stated in ({"text_config": {"num_hidden_layers": 10**6}}, {"attention_types": [[["global"], 10**9]]}):
        with pytest.raises(
            UnsupportedModel, match=r"num_hidden_layers is 1,000,000;|attention_types is 1,000,000,000;"
        ):
            checking.check_sizes(path, stated, largest=lambda: 78)


def test_as_many_labels_as_the_weights_have_are_allowed(bert):
    path = bert / "config.json"
    checking.check_sizes(path, {"num_labels": 250_000}, largest=lambda: 250_000)
    with pytest.raises(UnsupportedModel, match="the largest dimension in the weights is 249,999"):
        checking.check_sizes(path, {"num_labels": 250_000}, largest=lambda: 249_999)


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_saved_model_is_not_counted_as_larger_than_its_weights(tmp_path, kind, monkeypatch):
    folder = save_tiny(kind, tmp_path / kind)
    held = sum(weights.outline(path).values for path in layout.weights(folder))
    meters = noted_meters(monkeypatch)
    encoder_of(folder)
    assert 0.5 * held < meters[0].numbers <= 1.4 * held, "tables that are not saved, such as masks, count too"


def test_a_model_that_does_not_fit_into_memory_is_refused_before_it_is_built(bert):
    configure(bert / "config.json", intermediate_size=10**6)
    from transformers import AutoConfig, AutoModel

    config = AutoConfig.from_pretrained(bert)
    named = r"at least [\d,]+ numbers \(intermediate_size 1,000,000\); its weights"
    with checking.bounded(bert), torch.device("meta"), pytest.raises(WeightsMissing, match=named):
        AutoModel.from_config(config)
    with checking.bounded(bert, free=50e6), torch.device("meta"), pytest.raises(ModelTooLarge, match=r"50 MB are free"):
        AutoModel.from_config(config)


def test_positions_that_end_before_the_sentence_are_told_by_its_length(tmp_path):
    t5 = save_tiny("t5", tmp_path / "t5")
    configure(t5 / "config.json", relative_attention_max_distance=3)
    encoder = encoder_of(t5)
    with pytest.raises(UnsupportedModel, match=r"a sentence of 64 tokens: its config.json leads to positions"):
        encoder.states(["no " * 100])


def test_a_model_that_another_thread_builds_is_not_counted(bert):
    from transformers import AutoConfig, AutoModel

    config = AutoConfig.from_pretrained(bert)
    failed: list[Exception] = []

    def build() -> None:
        try:
            with torch.device("meta"):
                AutoModel.from_config(config)
        except Exception as error:  # noqa: BLE001  reported below, by the test's own thread
            failed.append(error)

    with checking.bounded(bert, free=0):
        (bert / "config.json").write_text(json.dumps({}))
        other = threading.Thread(target=build)
        other.start()
        other.join()
    assert failed == []
