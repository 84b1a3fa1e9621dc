"""Test that three libraries compute the training's vectors from an exported encoder, in full or as an adapter."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from transformers import AutoTokenizer

from explorer.encoding.export import exporting
from explorer.encoding.export.exporting import export, opener
from explorer.encoding.load import declared
from explorer.encoding.load.loading import load
from explorer.encoding.locate import families, lookup
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.head import Dense, Head
from explorer.encoding.read.head_facts import RolePrompts
from explorer.encoding.read.parts.dense import ACTIVATIONS
from explorer.encoding.read.parts.layer_attention import LayerAttention
from explorer.encoding.read.parts.layer_norm import LayerNorm
from explorer.encoding.tune.lora import ALL_LINEAR, Lora
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import UnsupportedModel
from tests.exports import (
    TEXTS,
    as_trained,
    assert_close,
    by_sentence_transformers,
    by_strata,
    by_transformers,
    dense,
    tunable,
)
from tests.spoiling import encoder_of
from tests.tiny_models import FAMILIES, SENTENCES, WIDTH, save_tiny

TUNED = [kind for kind in FAMILIES if kind != "bart"]


@pytest.fixture(scope="module", params=TUNED)
def family(request, tmp_path_factory) -> tuple[str, Path, Tunable]:
    folder = save_tiny(request.param, tmp_path_factory.mktemp("bases") / request.param)
    return request.param, folder, tunable(encoder_of(folder))


@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
def test_every_family_is_read_alike_by_all_libraries(family, tmp_path, pooling):
    kind, base, tuned = family
    head = Head((pooling,))
    export(tuned, head, tmp_path / "run", "# card", base)
    expected = as_trained(tuned, head)
    assert not torch.allclose(expected, as_trained(Tunable(tuned.encoder, 512), head), atol=1e-2), "nothing was tuned"
    assert opener(tuned.encoder) == ("T5EncoderModel" if kind == "t5" else "AutoModel")
    assert_close(by_transformers(tmp_path / "run", pooling, kind=opener(tuned.encoder)), expected)
    assert_close(by_sentence_transformers(tmp_path / "run"), expected)
    assert_close(by_strata(tmp_path / "run"), expected)


def test_a_dense_layer_that_was_trained_along_is_part_of_the_export(family, tmp_path):
    _, base, tuned = family
    head = Head(("cls",), (dense(),))
    export(tuned, head, tmp_path / "run", "# card", base)
    expected = as_trained(tuned, head)
    assert_close(by_sentence_transformers(tmp_path / "run"), expected)
    assert_close(by_strata(tmp_path / "run"), expected)
    saved = load_file(tmp_path / "run" / "2_Dense" / "model.safetensors")
    pooled = by_transformers(tmp_path / "run", "cls", kind=opener(tuned.encoder))
    assert_close(torch.tanh(pooled @ saved["linear.weight"].T + saved["linear.bias"]), expected)


def test_a_decoder_that_would_be_made_up_is_refused_before_training(tmp_path):
    encoder = encoder_of(save_tiny("bart", tmp_path / "bart"))
    with pytest.raises(UnsupportedModel, match=r"'tiny' cannot be fine-tuned: only its BartEncoder would be saved"):
        opener(encoder)
    with pytest.raises(UnsupportedModel, match="only its BartEncoder"):
        export(Tunable(encoder, 32), Head(("cls",)), tmp_path / "run", "", None)
    assert not list(tmp_path.glob("run*"))


def test_halves_are_classes_of_transformers():
    assert all(hasattr(transformers, name) for row in families.FAMILIES for name in row.encoders)


@pytest.fixture
def tuned(bert) -> Tunable:
    return tunable(encoder_of(bert))


@pytest.mark.parametrize(
    "head",
    [
        Head(("mean",), normalize=True),
        Head(("mean", "cls")),
        Head(("cls", "mean")),
        Head(("weighted mean",)),
        Head(("last",), (dense(8, "Identity", bias=False),), normalize=True),
        Head(("cls",), (dense(16), LayerNorm(torch.linspace(1, 2, 16), torch.linspace(-1, 1, 16)))),
        *(Head(("mean",), (dense(8, name),)) for name in ACTIVATIONS),
    ],
    ids=Head.describe,
)
def test_every_head_is_read_alike_and_described_alike(tuned, bert, tmp_path, head):
    export(tuned, head, tmp_path / "run", "", bert)
    expected = as_trained(tuned, head)
    assert_close(by_sentence_transformers(tmp_path / "run"), expected)
    assert_close(by_strata(tmp_path / "run"), expected)
    assert declared.head(tmp_path / "run").describe() == head.describe()


def sentence_transformers_folder(bert: Path, settings: dict[str, Any], limits: dict[str, Any]) -> Path:
    """A base with a reading of its own."""
    lines = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for number, (path, kind) in enumerate((("", "Transformer"), ("1_Pooling", "Pooling")))
    ]
    (bert / "modules.json").write_text(json.dumps(lines))
    (bert / "config_sentence_transformers.json").write_text(json.dumps(settings))
    (bert / "sentence_bert_config.json").write_text(json.dumps(limits))
    return bert


def test_lower_case_and_prompt_of_the_base_are_kept(bert, tmp_path):
    settings = {"prompts": {"ask": "The dog "}, "default_prompt_name": "ask"}
    base = sentence_transformers_folder(bert, settings, {"max_seq_length": 20, "do_lower_case": True})
    tuned, head = tunable(encoder_of(base), max_length=8), Head(("mean",))
    assert (tuned.encoder.lower_case, tuned.encoder.head.prompt) == (True, "The dog ")
    export(tuned, head, tmp_path / "run", "", base)
    texts = ("no", "A man plays", "TWO women")
    expected = as_trained(tuned, head, texts)
    assert_close(by_sentence_transformers(tmp_path / "run", texts), expected)
    assert_close(by_strata(tmp_path / "run", texts), expected)
    by_hand = tuple(f"the dog {text.lower()}" for text in texts)
    assert_close(by_transformers(tmp_path / "run", "mean", by_hand), expected)
    opened = SentenceTransformer(str(tmp_path / "run"), device="cpu")
    for encode in (opened.encode_query, opened.encode_document):
        assert_close(encode(list(texts), convert_to_tensor=True), expected)


def test_prompts_of_queries_and_documents_of_the_base_are_kept(bert, tmp_path):
    settings = {"prompts": {"query": "The dog ", "document": "two "}}
    base = sentence_transformers_folder(bert, settings, {"max_seq_length": 20})
    tuned, head, texts = tunable(encoder_of(base)), Head(("mean",)), SENTENCES[:3]
    export(tuned, head, tmp_path / "run", "", base)
    opened = SentenceTransformer(str(tmp_path / "run"), device="cpu")
    for prompt, encode in (("The dog ", opened.encode_query), ("two ", opened.encode_document), ("", opened.encode)):
        expected = as_trained(tuned, head, tuple(prompt + text for text in texts))
        assert_close(encode(list(texts), convert_to_tensor=True), expected)
    again = declared.head(tmp_path / "run")
    assert (again.prompt, again.roles) == ("", RolePrompts("The dog ", "two "))


def test_where_the_base_has_no_prompt_none_is_written(tuned, bert, tmp_path):
    export(tuned, Head(("mean",)), tmp_path / "run", "", bert)
    stated = json.loads((tmp_path / "run" / "config_sentence_transformers.json").read_text())
    assert stated == {"prompts": {}, "default_prompt_name": None, "similarity_fn_name": "cosine"}


def test_training_on_short_rows_does_not_shorten_what_is_read(bert, tmp_path):
    base = sentence_transformers_folder(bert, {}, {"max_seq_length": 20})
    tuned = tunable(encoder_of(base), max_length=8)
    export(tuned, Head(("mean",)), tmp_path / "run", "", base)
    assert encoder_of(tmp_path / "run").max_length == 20
    assert SentenceTransformer(str(tmp_path / "run"), device="cpu").max_seq_length == 20
    assert AutoTokenizer.from_pretrained(tmp_path / "run").model_max_length == 20
    whole = Tunable(tuned.encoder, 20)
    whole.model.load_state_dict(tuned.model.state_dict())
    assert_close(by_sentence_transformers(tmp_path / "run"), as_trained(whole, Head(("mean",))))


def test_an_export_can_be_tuned_and_exported_again(tuned, bert, tmp_path):
    export(tuned, Head(("cls",), (dense(),)), tmp_path / "one", "", bert)
    again = tunable(encoder_of(tmp_path / "one"), seed=5)
    export(again, Head(("mean",)), tmp_path / "two", "", tmp_path / "one")
    expected = as_trained(again, Head(("mean",)))
    assert_close(by_sentence_transformers(tmp_path / "two"), expected)
    assert_close(by_transformers(tmp_path / "two", "mean"), expected)


def test_the_bundled_encoder_is_read_alike_by_all_libraries(bundled_encoder, tmp_path):
    tuned, head = Tunable(bundled_encoder, 64), Head(("mean",))
    torch.manual_seed(0)
    with torch.no_grad():
        for weight in tuned.parameters():
            weight *= 1 + 0.02 * torch.randn_like(weight)
    export(tuned, head, tmp_path / "run", "# card", lookup.bundled_folder())
    expected = as_trained(tuned, head, SENTENCES)
    assert_close(by_transformers(tmp_path / "run", "mean", SENTENCES), expected)
    assert_close(by_sentence_transformers(tmp_path / "run", SENTENCES), expected)
    assert_close(by_strata(tmp_path / "run", SENTENCES), expected)
    opened = load(of_folder("run", tmp_path / "run"), device="cpu")
    assert (opened.max_length, opened.head, opened.lower_case) == (256, head, False)


@pytest.mark.parametrize("lora", [Lora(1, 16.0, ALL_LINEAR), Lora(2, 4.0, "attention"), None], ids=str)
def test_a_model_with_a_pooler_encodes_the_same_from_its_adapter(tmp_path, lora):
    base = save_tiny("bert", tmp_path / "base")
    encoder = encoder_of(base)
    tuned = Tunable(encoder, 64, lora)
    torch.manual_seed(3)
    maps = (torch.randn(6, WIDTH) * 0.3 for _ in range(3))
    head = Head(
        ("cls",), (Dense(torch.randn(WIDTH, WIDTH + 6), torch.zeros(WIDTH), "Tanh"),), layers=LayerAttention(*maps)
    )
    untouched = as_trained(tuned, head)
    with torch.no_grad():
        for weight in tuned.parameters():
            if weight.requires_grad:
                weight += 0.1 * torch.randn_like(weight)
    trained = as_trained(tuned, head)
    factors = exporting.adapter_factors(encoder.model, tuned.model, lora.rank if lora else 4)
    exporting.apply_adapter(tuned.model, encoder.model, factors)
    expected = as_trained(tuned, head)
    assert not torch.allclose(expected, untouched, atol=1e-2)
    assert torch.allclose(expected, trained, atol=1e-2) == (lora is not None), "half precision, or a cut to rank 4"
    export(tuned, head, tmp_path / "whole", "# card", None)
    exporting.save_adapter(factors, str(base), tmp_path / "whole", tmp_path / "adapter")
    shutil.rmtree(tmp_path / "whole")
    assert_close(by_strata(tmp_path / "adapter", TEXTS), expected)
