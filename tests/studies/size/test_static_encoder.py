"""Test static encoders against their recipe, token by token in float64, and against sentence-transformers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from transformers import AutoModel, AutoTokenizer, T5EncoderModel

from explorer.encoding.load import declared
from explorer.encoding.load.tokens_alone import kept_tokens
from explorer.encoding.locate.model_names import of_folder
from explorer.errors import BadChoice, UnsupportedModel
from explorer.progress import finish
from explorer.studies.size import static_folder
from explorer.studies.size.static_encoder import StaticOptions, distilled
from tests.exports import model_defaults
from tests.spoiling import declare, encoder_of
from tests.tiny_models import SENTENCES, WIDTH, save_tiny, tiny_tokenizer

FEW = StaticOptions(dimensions=8)


def slow_table(folder: Path, kind: str, options: StaticOptions) -> np.ndarray:
    """The vectors (token, width) by the recipe, one token after the other in float64; special tokens have zero."""
    loader = T5EncoderModel if kind == "t5" else AutoModel
    model, tokenizer = loader.from_pretrained(folder).double().eval(), AutoTokenizer.from_pretrained(folder)
    special = {tokenizer.convert_tokens_to_ids(token) for token in tokenizer.all_special_tokens}
    numbers = [number for number in range(len(tokenizer)) if number not in special]
    (word,), frame = tokenizer("no", add_special_tokens=False)["input_ids"], tokenizer("no")["input_ids"]
    place = frame.index(word)
    ids = torch.tensor([[*frame[:place], number, *frame[place + 1 :]] for number in numbers])
    with torch.no_grad():
        states = model(input_ids=ids).last_hidden_state.numpy()  # (token, place, width)
    rows = {"mean": states.mean(1), "token": states[:, place], "model default": states[:, 0]}[options.pooling]
    if options.dimensions:
        centred = rows - rows.mean(0)
        directions = np.linalg.eigh(centred.T @ centred)[1][:, ::-1]
        rows = centred @ directions[:, : options.dimensions]
    total = sum(1 / (rank + 1) for rank in range(1, len(numbers) + 1))
    table = np.zeros((len(tokenizer), rows.shape[1]))
    for rank, (number, row) in enumerate(zip(numbers, rows, strict=True), start=1):
        probability = 1 / (rank + 1) / total
        table[number] = row * (options.sif / (options.sif + probability) if options.sif else 1)
    return table


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("bert", FEW),
        ("roberta", StaticOptions(dimensions=8, sif=1e-2, pooling="token")),
        ("t5", StaticOptions()),  # the default, which is more than it is wide
        ("gpt2", FEW),
        ("distilbert", StaticOptions(dimensions=0, sif=0, pooling="model default")),
    ],
)
def test_the_vectors_of_tokens_are_those_of_the_recipe(tmp_path, kind, options):
    folder = save_tiny(kind, tmp_path / kind)
    if options.pooling == "model default":
        mode = {"word_embedding_dimension": WIDTH, "pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True}
        declare(folder, "Transformer", "Pooling", "Normalize", pooling=mode)
    encoder = encoder_of(folder)
    static, slow = finish(distilled(encoder, options)), slow_table(folder, kind, options)
    table = static.model.get_input_embeddings().weight.double().numpy()
    assert table.shape == (len(encoder.tokenizer()), min(options.dimensions or WIDTH, WIDTH))
    # a principal component has no sign
    scale = np.abs(slow).max() ** 2
    np.testing.assert_allclose(table @ table.T, slow @ slow.T, atol=1e-5 * scale, rtol=0)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A tiny encoder, and the folder of its static encoder."""
    place = tmp_path_factory.mktemp("static")
    source = save_tiny("bert", place / "source")
    finish(static_folder.export(of_folder("source", source), FEW, place / "static"))
    return source, place / "static"


def test_its_folder_has_the_same_vectors_in_sentence_transformers_without_special_tokens(made):
    source, folder = made
    texts = [*SENTENCES, "[CLS] the ☃ dog [PAD]", "the dog", "☃"]
    model = SentenceTransformer(str(folder), device="cpu")
    vectors = model.encode(texts)
    np.testing.assert_allclose(model_defaults(encoder_of(folder), texts).numpy(), vectors, atol=1e-6)
    np.testing.assert_allclose(vectors[-3], vectors[-2], atol=1e-6)  # what has the vector zero is left out
    assert not vectors[-1].any()
    tokenizer, table = AutoTokenizer.from_pretrained(source), slow_table(source, "bert", FEW)
    means = [table[tokenizer(text, add_special_tokens=False)["input_ids"]].mean(0) for text in SENTENCES]
    slow = np.array([mean / np.linalg.norm(mean) for mean in means])
    np.testing.assert_allclose(vectors[: len(slow)] @ vectors[: len(slow)].T, slow @ slow.T, atol=1e-5)
    assert declared.declared(folder) == "mean of the token vectors → normalised"


def test_its_card_says_of_which_model_it_was_made_and_how(made):
    source, folder = made
    card = (folder / "README.md").read_text()
    assert "Static embeddings of source: one vector for each token" in card
    assert of_folder("source", source).digest in card
    assert "| SIF coefficient a | 0.0001 |" in card
    assert re.findall(r"\| Dimensions \| (.*) \|", card) == ["8"]
    assert f"| Tokens with a vector | {len(kept_tokens(tiny_tokenizer('bert')))} |" in card


def test_it_is_made_once_for_the_same_model_and_options(made, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path))
    found = of_folder("source", made[0])
    first = finish(static_folder.stored(found, FEW))
    monkeypatch.setattr(static_folder, "export", None)
    assert finish(static_folder.stored(found, FEW)) == first
    assert (first.name, first.digest) == ("source, static", of_folder("", made[1]).digest)
    with pytest.raises(TypeError):
        finish(static_folder.stored(found, StaticOptions(dimensions=4)))


def test_an_encoder_that_lowercases_texts_gives_one_that_does(tmp_path):
    folder = save_tiny("bert", tmp_path / "cased")
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 16, "do_lower_case": True}))
    static = finish(distilled(encoder_of(folder), FEW))
    assert static.tokens(["THE DOG"]).ids == static.tokens(["the dog"]).ids


def test_placeholders_get_no_vector():
    tokenizer = tiny_tokenizer("bert")
    before = kept_tokens(tokenizer)
    tokenizer.add_tokens(["[unused7]", "[unused]"])
    assert kept_tokens(tokenizer) == [*before, tokenizer.convert_tokens_to_ids("[unused]")]


@pytest.mark.parametrize(("dimensions", "stated"), [(256, f"{WIDTH}"), (0, f"{WIDTH}, without PCA")])
def test_its_card_states_the_dimensions_that_it_has(tmp_path, dimensions, stated):
    source = save_tiny("bert", tmp_path / "source")
    finish(static_folder.export(of_folder("source", source), StaticOptions(dimensions=dimensions), tmp_path / "static"))
    card = (tmp_path / "static" / "README.md").read_text()
    assert re.findall(r"\| Dimensions \| (.*) \|", card) == [stated]


def test_more_dimensions_than_there_are_are_refused_before_tokens_are_encoded(tmp_path):
    encoder = encoder_of(save_tiny("bert", tmp_path / "source"))
    with pytest.raises(BadChoice, match=r"33 is not a possible number .*'tiny' have 32\. Choose 1 to 32, or 0 to keep"):
        next(distilled(encoder, StaticOptions(dimensions=WIDTH + 1)))


def test_what_no_static_encoder_can_be_made_of_is_refused_in_one_line(made, tmp_path):
    with pytest.raises(UnsupportedModel, match=r"'tiny' is static embeddings already, .*Choose an encoder such as"):
        finish(distilled(encoder_of(made[1]), FEW))
    wide = encoder_of(save_tiny("bert", tmp_path / "wide", hidden_size=96))
    with pytest.raises(BadChoice, match=r"PCA onto 96 dimensions needs more than 96 tokens, .* has 73 without"):
        finish(distilled(wide, StaticOptions()))
