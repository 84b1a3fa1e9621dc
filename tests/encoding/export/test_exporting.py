"""Test that three libraries compute the training's vectors from an export, under every pooling or as an adapter."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import modules as theirs
from torch import Tensor
from transformers import AutoTokenizer

from explorer.encoding.export import exporting, source_code
from explorer.encoding.export.exporting import auto_class, export
from explorer.encoding.load import declared
from explorer.encoding.load.declared import default_cell
from explorer.encoding.load.loading import load
from explorer.encoding.locate import families, lookup
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.head import Dense, Head
from explorer.encoding.read.parts.dense import ACTIVATIONS
from explorer.encoding.read.parts.layer_attention import LayerAttention
from explorer.encoding.read.parts.layer_norm import LayerNorm
from explorer.encoding.read.pooling import FUNCTIONS, GRID_POOLINGS, POOLINGS, Pooling, Reading, Row, is_pooling, parse
from explorer.encoding.read.prompts import RolePrompts
from explorer.encoding.tune.adapters import ALL_LINEAR, Lora
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import UnsupportedModel
from explorer.measuring.sentences.sentence_pair import token_pair
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish
from tests.exports import (
    TEXTS,
    as_trained,
    assert_close,
    by_sentence_transformers,
    by_strata,
    by_transformers,
    dense,
    model_defaults,
    residual,
    tunable,
    typed,
)
from tests.spoiling import configure, declare, encoder_of
from tests.tiny_models import FAMILIES, LAYERS, SENTENCES, WIDTH, save_tiny

TUNED = [kind for kind in FAMILIES if kind != "bart"]


@pytest.fixture(scope="module", params=TUNED)
def family(request, tmp_path_factory) -> tuple[str, Path, Tunable]:
    folder = save_tiny(request.param, tmp_path_factory.mktemp("bases") / request.param)
    return request.param, folder, tunable(encoder_of(folder))


@pytest.mark.product(1)
@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
def test_every_family_is_read_alike_by_all_libraries(family, tmp_path, pooling):
    kind, base, tuned = family
    head = Head((pooling,))
    export(tuned, head, tmp_path / "run", "# card", base)
    expected = as_trained(tuned, head)
    assert not torch.allclose(expected, as_trained(Tunable(tuned.encoder, 512), head), atol=1e-2), "nothing was tuned"
    assert auto_class(tuned.encoder) == ("T5EncoderModel" if kind == "t5" else "AutoModel")
    assert_close(by_transformers(tmp_path / "run", pooling, kind=auto_class(tuned.encoder)), expected)
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
    pooled = by_transformers(tmp_path / "run", "cls", kind=auto_class(tuned.encoder))
    assert_close(torch.tanh(pooled @ saved["linear.weight"].T + saved["linear.bias"]), expected)


def test_a_decoder_that_would_be_made_up_is_refused_before_training(tmp_path):
    encoder = encoder_of(save_tiny("bart", tmp_path / "bart"))
    with pytest.raises(UnsupportedModel, match=r"'tiny' cannot be fine-tuned: only its BartEncoder would be saved"):
        auto_class(encoder)
    with pytest.raises(UnsupportedModel, match="only its BartEncoder"):
        export(Tunable(encoder, 32), Head(("cls",)), tmp_path / "run", "", None)
    assert not list(tmp_path.glob("run*"))


def test_halves_are_classes_of_transformers():
    assert all(hasattr(transformers, name) for row in families.FAMILIES for name in row.encoders)


@pytest.fixture(scope="module")
def tuned(saved_bert) -> Tunable:
    return tunable(encoder_of(saved_bert))


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
        *(Head(("mean",), (residual(width),)) for width in (WIDTH, 8)),
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
    declare(bert, "Transformer", "Pooling", pooling={})
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


DECODERS = ("gpt2", "llama", "qwen2")
SIDES = ("left", "right")
MODES = {name: pooling.library for name, pooling in POOLINGS.items()}
ASKED = [
    Reading(Row(layers), pooling)
    for layers in ((LAYERS,), (1,), (0, LAYERS), tuple(range(LAYERS + 1)))
    for pooling in ("last", "weighted mean", "sqrt mean", "mean")
]
HEADS = [
    Head(("last",), normalize=True),
    Head(("weighted mean",)),
    Head(("sqrt mean",)),
    Head(("last of layer 1",)),
    Head(("weighted mean of layers 0 + 2",), normalize=True),
    Head(("mean of layers 0-2",)),
    Head(("max of layers 0-2",)),
    Head(("last of layers 0-2",)),
]


@pytest.fixture(scope="module", params=DECODERS)
def bases(request, tmp_path_factory) -> dict[str, Path]:
    """One decoder, saved with each padding side."""
    place = tmp_path_factory.mktemp("bases")
    found = {side: save_tiny(request.param, place / side / request.param) for side in SIDES}
    for side, folder in found.items():
        configure(folder / "tokenizer_config.json", padding_side=side, pad_token="<|endoftext|>")
    return found


@pytest.fixture(scope="module")
def tuned_left(bases) -> Tunable:
    return tunable(encoder_of(bases["left"]))


def library(transformer: theirs.Transformer, reading: Reading) -> SentenceTransformer:
    """The layer & pooling in modules of sentence-transformers alone."""
    shares = torch.zeros(LAYERS + 1)
    shares[list(reading.row.layers)] = 1.0
    blend = theirs.WeightedLayerPooling(WIDTH, num_hidden_layers=LAYERS, layer_start=0, layer_weights=shares)
    return SentenceTransformer(
        modules=[transformer, blend, theirs.Pooling(WIDTH, MODES[reading.pooling])], device="cpu"
    )


def vectors(encoder: Encoder, reading: Reading) -> Tensor:
    return torch.from_numpy(finish(of_reading(encoder, SENTENCES, reading)))


@pytest.mark.product(1)
@pytest.mark.parametrize("side", SIDES)
def test_every_pooling_and_range_is_that_of_sentence_transformers(bases, side):
    encoder = encoder_of(bases[side])
    transformer = theirs.Transformer(str(bases[side]), config_kwargs={"output_hidden_states": True})
    # GPT-2 counts positions from the padding, so only a sentence by itself has its own positions on the left
    company = 1 if side == "left" and "gpt2" in str(bases[side]) else len(SENTENCES)
    for reading in ASKED:
        expected = library(transformer, reading).encode(list(SENTENCES), batch_size=company, convert_to_tensor=True)
        assert_close(vectors(encoder, reading), expected)


def test_the_padding_side_changes_no_vector_and_a_range_is_the_average_of_its_layers_except_under_max(bases):
    left, right = (encoder_of(bases[side]) for side in SIDES)
    for reading in ASKED:
        assert torch.equal(vectors(left, reading), vectors(right, reading)), reading.title
    encoder = encoder_of(bases["right"])
    for pooling in MODES:
        each = torch.stack([vectors(encoder, Reading(Row((layer,)), pooling)) for layer in range(LAYERS + 1)]).mean(0)
        found = vectors(encoder, parse(f"{pooling} of layers 0-{LAYERS}", LAYERS))
        assert torch.allclose(found, each, atol=1e-6) == (pooling != "max")


@pytest.mark.product(1)
@pytest.mark.parametrize("head", HEADS, ids=lambda head: head.describe())
def test_an_export_of_a_left_padded_model_pads_on_the_right_and_is_read_alike_by_both_libraries(
    bases, tuned_left, tmp_path, head
):
    export(tuned_left, head, tmp_path / "run", "# card", bases["left"])
    expected = as_trained(tuned_left, head)
    kinds = [line["type"].rpartition(".")[2] for line in json.loads((tmp_path / "run" / "modules.json").read_text())]
    between = [] if head.of_last_layer else ["WeightedLayerPooling"]
    assert kinds == ["Transformer", *between, "Pooling", *["Normalize"] * head.normalize]
    encoder = encoder_of(tmp_path / "run")
    assert encoder.head == head
    assert json.loads((tmp_path / "run" / "tokenizer_config.json").read_text())["padding_side"] == "right"
    assert_close(model_defaults(encoder), expected)
    assert_close(by_sentence_transformers(tmp_path / "run"), expected)


@pytest.mark.parametrize("head", HEADS, ids=lambda head: head.describe())
def test_the_lines_of_the_model_card_give_the_same_vectors(tuned, bert, tmp_path, head):
    export(tuned, head, tmp_path / "run", "# card", bert)
    names = typed(source_code.transformers(head, "AutoModel"), tmp_path / "run")
    assert_close(names["vectors"], as_trained(tuned, head, tuple(names["sentences"])))


def test_a_declared_last_token_is_a_layer_and_pooling_of_every_model(bert, tmp_path):
    export(tunable(encoder_of(bert)), Head(("last",)), tmp_path / "run", "# card", None)
    assert default_cell(tmp_path / "run").title == "last of layer 2"


TWO_TEXTS = ["a dog is here", "nobody came"]


def middle(states, mask):
    """The token in the middle."""
    lengths = [states.shape[1]] * len(states) if mask is None else mask.sum(1).tolist()
    return states[range(len(states)), [int(length) // 2 for length in lengths]].float()


def one_token(states, left_out):
    """All of every dimension is the middle token's."""
    shares = np.zeros(states.shape)
    shares[len(states) // 2] = 1
    return shares


@pytest.fixture
def row(monkeypatch):
    monkeypatch.setitem(FUNCTIONS, "middle", middle)
    monkeypatch.setitem(POOLINGS, "middle", Pooling("middle", "middletoken", "states[:, 1]", shares=one_token))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny("bert", tmp_path_factory.mktemp("model") / "bert")


@pytest.mark.usefixtures("row")
def test_it_is_computed_if_it_is_named_and_in_the_microscope(folder):
    encoder = load(of_folder("tiny", folder), "float32", "cpu")
    reading = parse("middle of layer 2", 2)
    vectors = finish(of_reading(encoder, TWO_TEXTS, reading))
    states = [encoder.states([text]).hidden[2, 0].numpy() for text in TWO_TEXTS]
    assert vectors == pytest.approx(np.stack([one[len(one) // 2] for one in states]), abs=1e-5)
    assert np.flatnonzero(finish(token_pair(encoder, *TWO_TEXTS, reading)).shares[0]).tolist() == [len(states[0]) // 2]
    assert "middle" not in GRID_POOLINGS
    assert is_pooling("middle of layer 1")


@pytest.mark.usefixtures("row")
def test_it_is_exported_under_the_librarys_name_read_again_and_in_the_code_of_the_card(folder, tmp_path):
    encoder = load(of_folder("tiny", folder), "float32", "cpu")
    exporting.export(Tunable(encoder, encoder.max_length), Head(("middle",)), tmp_path / "out", "", folder)
    stated = json.loads((tmp_path / "out" / "1_Pooling" / "config.json").read_text())
    assert stated["pooling_mode"] in ("middletoken", ["middletoken"])
    assert declared.declared(tmp_path / "out") == "middle of the last layer"
    again = load(of_folder("out", tmp_path / "out"), "float32", "cpu")
    assert again.head.poolings == ("middle",)
    assert "states[:, 1]" in source_code.transformers(again.head, "AutoModel")
