"""Test adapters that peft saved: loaded as peft loads them, found with their base, and refused if they are damaged."""

import pickle
import shutil
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from transformers import AutoModel, T5EncoderModel

from explorer.encoding.load import declared
from explorer.encoding.locate import layout, model_names
from explorer.encoding.locate.model_names import find, of_folder
from explorer.encoding.read.head import Head
from explorer.errors import (
    HubUnreachable,
    ModelNotFound,
    NotAModelFolder,
    NotWeights,
    RemoteCodeRefused,
    StrataError,
    UnsupportedModel,
    WeightsMissing,
)
from tests.encoding.locate.test_model_names import cache, keep
from tests.spoiling import Malicious, configure, declare, encoder_of
from tests.tiny_models import LAYERS, SENTENCES, save_tiny, tiny_tokenizer

__all__ = ["cache"]

ATTENTION = ["query", "value"]
TARGETS = {"bert": ATTENTION, "distilbert": ["q_lin", "lin1"], "t5": ["q", "wo"], "gpt2": ["c_attn", "c_fc"],
           "qwen2": ["q_proj", "down_proj"]}  # fmt: skip
PREFIX = "base_model.model.encoder.layer.0.attention.self.query"


def opened(base: Path, kind: str):
    return (T5EncoderModel if kind == "t5" else AutoModel).from_pretrained(base)


def adapter(base: Path, folder: Path, kind: str = "bert", **changes) -> Path:
    """What peft saves of an adapter that has learned something."""
    config = {"r": 4, "lora_alpha": 6, "target_modules": TARGETS[kind], "fan_in_fan_out": kind == "gpt2"}
    torch.manual_seed(1)
    model = get_peft_model(opened(base, kind), LoraConfig(**config | changes))
    with torch.no_grad():
        for weight in model.parameters():
            if weight.requires_grad:
                weight += 0.1 * torch.randn_like(weight)
    model.save_pretrained(folder)
    return folder


@pytest.fixture
def saved(bert, tmp_path) -> Path:
    return adapter(bert, tmp_path / "adapter")


def last_layer(model, tokenizer) -> list[torch.Tensor]:
    with torch.no_grad():
        inputs = [torch.tensor([tokenizer(one)["input_ids"]]) for one in SENTENCES]
        return [model(input_ids=ids).last_hidden_state[0] for ids in inputs]


def assert_as_peft(folder: Path, base: Path, kind: str = "bert") -> None:
    """Every state of the last layer is that of PeftModel, and not that of the base."""
    model, tokenizer = opened(base, kind).eval(), tiny_tokenizer(kind)
    plain = last_layer(model, tokenizer)
    expected = last_layer(PeftModel.from_pretrained(model, folder).eval(), tokenizer)
    states = encoder_of(folder).states(list(SENTENCES))
    for place, (own, without) in enumerate(zip(expected, plain, strict=True)):
        assert torch.allclose(states.hidden[-1][place, : len(own)], own, atol=1e-6)
        assert not torch.allclose(own, without, atol=1e-3), "the premise: the adapter changes something"


@pytest.mark.parametrize("kind", TARGETS)
def test_an_adapter_encodes_as_in_peft(kind, tmp_path):
    base = save_tiny(kind, tmp_path / "base")
    assert_as_peft(adapter(base, tmp_path / "adapter", kind), base, kind)


@pytest.mark.parametrize(
    "changes",
    [
        {"use_rslora": True},
        {"rank_pattern": {"layer.1.attention.self.query": 2}},
        {"bias": "all"},
        {"modules_to_save": ["output.LayerNorm"]},
        {"target_modules": "all-linear"},
        {"init_lora_weights": "gaussian"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_peft_states_beyond_rank_and_alpha_is_followed(changes, bert, tmp_path):
    assert_as_peft(adapter(bert, tmp_path / "adapter", **changes), bert)


def test_an_adapter_of_a_model_for_a_task_fits_the_encoder_inside_it(saved):
    expected = encoder_of(saved).states(list(SENTENCES)).hidden
    names = {name.replace("model.encoder", "model.bert.encoder"): t for name, t in tensors(saved).items()}
    save_file(names | {"base_model.model.classifier.weight": torch.zeros(2, 32)}, saved / "adapter_model.safetensors")
    configure(saved / "adapter_config.json", modules_to_save=["classifier"])
    assert torch.equal(encoder_of(saved).states(list(SENTENCES)).hidden, expected)


def tensors(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "adapter_model.safetensors")


def test_layers_pooling_and_tokenizer_are_the_bases(saved, bert):
    declare(bert, "Transformer", "Pooling", pooling={"pooling_mode": "max"})
    (bert / "sentence_bert_config.json").write_text('{"max_seq_length": 9}')
    encoder = encoder_of(saved)
    assert (encoder.head, encoder.max_length) == (Head(("max",)), 9)
    assert layout.last_layer(saved) == LAYERS
    assert declared.declared(saved) == "max of the last layer"
    assert encoder.tokens(["no dog"]).ids == encoder_of(bert).tokens(["no dog"]).ids


def test_an_adapter_of_sentence_transformers_keeps_its_own_modules(bert, tmp_path):
    model = SentenceTransformer(str(bert), device="cpu")
    model.add_adapter(LoraConfig(r=2, target_modules=ATTENTION))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                weight += 0.3 * torch.randn_like(weight)
    model.save(str(tmp_path / "tuned"))
    assert not (tmp_path / "tuned" / "config.json").exists(), "the premise: the base is elsewhere"
    encoder = encoder_of(tmp_path / "tuned")
    assert encoder.head == Head(("mean",))
    expected = torch.from_numpy(model.encode(list(SENTENCES)))
    states = encoder.states(list(SENTENCES))
    assert torch.allclose(encoder.head(states.hidden, states.mask), expected, atol=1e-6)


def test_an_adapter_beside_the_weights_of_its_base_is_merged_too(saved, bert):
    expected = encoder_of(saved).states(list(SENTENCES)).hidden
    for path in saved.glob("adapter_*"):
        shutil.copy(path, bert)
    configure(bert / "adapter_config.json", base_model_name_or_path="org/elsewhere")
    assert not any("lora" in name for name, _ in encoder_of(bert).model.named_parameters())
    assert torch.equal(encoder_of(bert).states(list(SENTENCES)).hidden, expected)


def test_the_digest_is_that_of_adapter_and_base(saved, bert):
    def digest() -> str:
        return of_folder("tiny", saved).digest

    first = digest()
    assert first not in (of_folder("tiny", bert).digest, of_folder("tiny", bert.rename(bert.parent / "b")).digest)
    configure(saved / "adapter_config.json", base_model_name_or_path=str(bert.parent / "b"))
    moved = digest()
    save_file({name: tensor + 1 for name, tensor in tensors(saved).items()}, saved / "adapter_model.safetensors")
    second = digest()
    weights = load_file(bert.parent / "b" / "model.safetensors")
    save_file({name: tensor + 1 for name, tensor in weights.items()}, bert.parent / "b" / "model.safetensors")
    assert len({first, moved, second, digest()}) == 4


def test_an_adapter_and_its_base_are_found_in_the_cache_of_the_hub(saved, bert, cache):
    expected = encoder_of(saved).states(list(SENTENCES)).hidden
    configure(saved / "adapter_config.json", base_model_name_or_path="org/base")
    keep(cache, "org/adapter", saved)
    with pytest.raises(HubUnreachable, match=r"belongs to 'org/base', which is neither .* run 'hf download org/base'"):
        find("org/adapter")
    assert model_names.on_disk() == ()
    configure(saved / "adapter_config.json", revision="v2")
    with pytest.raises(HubUnreachable, match="hf download org/base --revision v2"):
        find(str(saved))
    keep(cache, "org/base", bert)
    assert set(model_names.on_disk()) == {"org/adapter", "org/base"}
    assert torch.equal(encoder_of(find("org/adapter").folder).states(list(SENTENCES)).hidden, expected)
    assert "adapter_model.safetensors" in model_names.wanted(["adapter_config.json", "adapter_model.safetensors"])


@pytest.mark.parametrize(
    ("fields", "error", "told"),
    [
        ({"r": 3}, WeightsMissing, r"query\.lora_A\.weight' of shape \[4, 32\], but rank 3 .* needs \[3, 32\]"),
        ({"r": 0}, NotAModelFolder, r"its 'r' is 0, which must be a whole number of at least 1"),
        ({"r": "many"}, NotAModelFolder, r"its 'r' is 'many', which must be a whole number"),
        ({"lora_alpha": "x"}, NotAModelFolder, r"its 'lora_alpha' is 'x', which must be a number"),
        ({"peft_type": "PREFIX_TUNING"}, UnsupportedModel, r"peft_type 'PREFIX_TUNING'\. Strata merges .* 'LORA'"),
        ({"peft_type": None}, UnsupportedModel, r"states no peft_type"),
        ({"use_dora": True}, UnsupportedModel, r"states use_dora True, which is more than W \+"),
        ({"alpha_pattern": {"query": 3}}, UnsupportedModel, r"states alpha_pattern \{'query': 3\}"),
        ({"init_lora_weights": "pissa"}, UnsupportedModel, r"init_lora_weights 'pissa', which changes the base too"),
        ({"auto_mapping": {"parent_library": "transformers_modules.x.y"}}, RemoteCodeRefused, r"never runs such code"),
        ({"base_model_name_or_path": None}, NotAModelFolder, r"has no 'base_model_name_or_path'. Write the folder"),
        ({"base_model_name_or_path": 3}, NotAModelFolder, r"its 'base_model_name_or_path' is 3"),
        ({"base_model_name_or_path": "/no/where"}, ModelNotFound, r"is not here\. There is no folder '/no/where'"),
        ({"base_model_name_or_path": "run:none"}, ModelNotFound, r"a model that is not here\. No run 'none'"),
    ],
    ids=str,
)  # fmt: skip
def test_a_configuration_that_does_not_fit_is_refused(saved, fields, error, told):
    configure(saved / "adapter_config.json", **fields)
    with pytest.raises(error, match=told):
        encoder_of(saved)


@pytest.mark.parametrize("text", ["{", "[]", "", "\xff\xfe"])
def test_a_configuration_that_is_no_json_object_is_refused(saved, text):
    (saved / "adapter_config.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(NotAModelFolder, match=r"adapter_config.json (is not valid JSON|should hold a JSON object)"):
        encoder_of(saved)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda t: {name: one for name, one in t.items() if name != f"{PREFIX}.lora_B.weight"}, r"holds no .*lora_B"),
        (lambda t: t | {f"{PREFIX}.lora_B.weight": torch.zeros(5, 4)}, r"\[5, 4\], but rank 4 .* needs \[32, 4\]"),
        (lambda t: t | {"base_model.model.x.lora_A.weight": torch.zeros(4, 4)}, r"adapts 'base_model.model.x'"),
        (lambda t: t | {f"{PREFIX}.lora_magnitude_vector": torch.ones(4)}, r"but the base has no such weight"),
        (lambda t: t | {"base_model.model.embeddings.LayerNorm.bias": torch.ones(4)}, r"but the base has \[32\]"),
        (lambda t: t | {"base_model.model.classifier.weight": torch.ones(4)}, r"but the base has no such weight"),
        (lambda t: t | {f"{PREFIX}.lora_B.weight": torch.full((32, 4), torch.nan)}, r"values that are not numbers"),
    ],
)  # fmt: skip
def test_weights_that_do_not_fit_the_base_are_refused(saved, change, told):
    save_file(change(tensors(saved)), saved / "adapter_model.safetensors")
    with pytest.raises((WeightsMissing, NotWeights), match=told):
        encoder_of(saved)


def test_a_pickled_adapter_is_refused_and_not_opened(saved, tmp_path):
    (saved / "adapter_model.safetensors").unlink()
    with pytest.raises(NotWeights, match=r"has adapter_config\.json, but no adapter_model\.safetensors\. Copy"):
        encoder_of(saved)
    (saved / "adapter_model.bin").write_bytes(pickle.dumps(Malicious(tmp_path / "made")))
    with pytest.raises(NotWeights, match=r"holds adapter_model\.bin, a pickle, which may hold code"):
        encoder_of(saved)
    assert not (tmp_path / "made").exists()


def test_a_truncated_adapter_is_refused(saved):
    path = saved / "adapter_model.safetensors"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(NotWeights, match="it is truncated"):
        encoder_of(saved)


def test_an_adapter_of_an_adapter_or_of_another_architecture_is_refused(saved, tmp_path):
    shutil.copytree(saved, tmp_path / "second")
    configure(tmp_path / "second" / "adapter_config.json", base_model_name_or_path=str(saved))
    configure(saved / "adapter_config.json", base_model_name_or_path=str(saved))
    for folder in (tmp_path / "second", saved):
        with pytest.raises(UnsupportedModel, match="which is an adapter too"):
            encoder_of(folder)
    configure(saved / "adapter_config.json", base_model_name_or_path=str(save_tiny("gpt2", tmp_path / "other")))
    with pytest.raises(StrataError, match=r"which is no linear layer of the base\. Write the model that the adapter"):
        encoder_of(saved)
