"""Test that static embeddings are read as sentence-transformers reads them, in its layout and in that of model2vec."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import modules as theirs
from tokenizers import Tokenizer

from explorer import methods
from explorer.encoding.export.exporting import export
from explorer.encoding.load import declared
from explorer.encoding.locate import layout
from explorer.encoding.read.head import Head
from explorer.encoding.read.head_facts import UNLIMITED
from explorer.encoding.read.pooling import Reading, Row
from explorer.encoding.tune import editing
from explorer.errors import BadChoice, NotWeights, TokenizerMissing, UnsupportedModel
from tests.exports import assert_close, dense, model_defaults, tunable
from tests.spoiling import configure, encoder_of, reweigh
from tests.tiny_models import SENTENCES, WIDTH, tiny_tokenizer

TEXTS = (*SENTENCES, "", "[CLS] ☃ [PAD]", " ".join(["the dog"] * 300))


def saved(folder: Path, *after: torch.nn.Module, limit: int | None = None, **options: object) -> Path:
    """A tiny table of random vectors, as sentence-transformers saves it."""
    torch.manual_seed(0)
    tokenizer = tiny_tokenizer("bert").backend_tokenizer
    if limit:
        tokenizer.enable_truncation(limit, direction="left")
    modules = [theirs.StaticEmbedding(tokenizer, embedding_dim=WIDTH), *after]
    SentenceTransformer(modules=modules, device="cpu", **options).save(str(folder), create_model_card=False)
    return folder


def as_model2vec(folder: Path, normalize: bool, **tensors: torch.Tensor) -> Path:
    """The same folder as model2vec saves it: other names of tensors, and no list of modules."""
    reweigh(folder, lambda found: {"embeddings": found["embedding.weight"], **tensors})
    (folder / "modules.json").unlink()
    (folder / "config.json").write_text(json.dumps({"model_type": "model2vec", "normalize": normalize}))
    return folder


def assert_alike(folder: Path, opened: SentenceTransformer, texts: tuple[str, ...] = TEXTS) -> None:
    np.testing.assert_allclose(
        model_defaults(encoder_of(folder), texts).numpy(), opened.encode(list(texts)), atol=1e-5, rtol=0
    )


@pytest.mark.parametrize("limit", [None, 4], ids=["whole", "cut"])
def test_texts_have_the_vectors_of_sentence_transformers_also_without_tokens(tmp_path, limit):
    options = {"prompts": {"query": "the dog "}, "default_prompt_name": "query"} if limit is None else {}
    folder = saved(tmp_path / "static", limit=limit, **options)
    assert_alike(folder, SentenceTransformer(str(folder), device="cpu"))
    encoder = encoder_of(folder)
    assert encoder.max_length == (limit or UNLIMITED)
    assert encoder.tokens(TEXTS).truncated == (0 if limit is None else 5)
    assert model_defaults(encoder, ("",)).any() == (limit is None), "a text without tokens, not even a prompt, is zero"


def test_a_table_in_a_folder_of_its_own_is_followed_by_maps(tmp_path):
    folder = saved(tmp_path / "static", theirs.Dense(WIDTH, 8), theirs.Dropout(0.5), theirs.Normalize())
    (folder / "0_StaticEmbedding").mkdir()
    for name in ("model.safetensors", "tokenizer.json"):
        (folder / name).rename(folder / "0_StaticEmbedding" / name)
    lines = json.loads((folder / "modules.json").read_text())
    lines[0]["path"] = "0_StaticEmbedding"
    (folder / "modules.json").write_text(json.dumps(lines))
    assert_alike(folder, SentenceTransformer(str(folder), device="cpu"))
    assert declared.declared(folder) == "mean of the token vectors → dense layer → normalised"
    assert encoder_of(folder).default_head.facts().stages[1:] == ("Dense 8 (tanh)", "normalised")


@pytest.mark.parametrize("normalize", [True, False])
def test_the_folder_of_model2vec_is_read_with_its_rows_and_factors(tmp_path, normalize):
    count = len(tiny_tokenizer("bert"))
    mapping, factors = torch.arange(count).flip(0), torch.linspace(0.1, 2, count, dtype=torch.float64)
    folder = as_model2vec(saved(tmp_path / "static"), normalize, mapping=mapping, weights=factors)
    modules = [theirs.StaticEmbedding.load(str(folder)).float(), *[theirs.Normalize()] * normalize]
    assert_alike(folder, SentenceTransformer(modules=modules, device="cpu"))
    assert declared.declared(folder) == f"mean of the token vectors{' → normalised' * normalize}"


def test_it_has_one_layer_under_one_pooling_and_no_special_tokens(tmp_path):
    folder = saved(tmp_path / "static")
    encoder, cell = encoder_of(folder), Reading(Row((0,)), "mean")
    assert declared.grid(folder) == (cell,) == (declared.default_cell(folder),)
    assert (encoder.rows, encoder.poolings, layout.last_layer(folder)) == ((cell.row,), ("mean",), 0)
    (views,) = encoder.views(SENTENCES[:1])
    assert torch.equal(views.grid[0, 0], views.own)
    (ids,) = encoder.tokens(["a man"]).ids
    assert encoder.texts(ids) == ("a", "man")
    assert editing.stack(encoder).lowest == 0
    assert_close(model_defaults(editing.cut(encoder, 0), TEXTS), model_defaults(encoder, TEXTS))


def test_tokens_that_the_file_does_not_call_special_are_none(tmp_path):
    folder = saved(tmp_path / "static")
    configure(folder / "tokenizer.json", added_tokens=[])
    text, encoder = "[PAD] no [MASK] [UNK]", encoder_of(folder)
    alone = Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert encoder.tokens([text]).ids == [alone.encode(text, add_special_tokens=False).ids]
    assert len(encoder.tokens([text]).ids[0]) > len(text.split())
    export(tunable(encoder), Head(("mean",)), tmp_path / "run", "", folder)
    assert json.loads((tmp_path / "run" / "tokenizer.json").read_text())["added_tokens"] == []


@pytest.mark.parametrize("limit", [None, 4], ids=["whole", "cut"])
def test_a_trained_table_is_exported_as_sentence_transformers_saves_it(tmp_path, limit):
    folder = saved(tmp_path / "static", limit=limit)
    tuned, head = tunable(encoder_of(folder)), Head(("mean",), dense=(dense(8),), normalize=True)
    export(tuned, head, tmp_path / "run", "", folder)
    with torch.no_grad():
        states = tuned.eval().states(TEXTS)
        expected = head(states.hidden, states.mask)
    # the training cuts where the encoder does
    opened = SentenceTransformer(str(tmp_path / "run"), device="cpu")
    assert_close(opened.encode(list(TEXTS), convert_to_tensor=True)[:-1], expected[:-1])
    assert_alike(tmp_path / "run", opened)
    again = Tokenizer.from_file(str(tmp_path / "run" / "tokenizer.json"))
    assert (again.truncation and again.truncation["max_length"]) == limit
    with pytest.raises(UnsupportedModel, match=r"cls of the last layer cannot be exported. Set pooling to 'mean'"):
        export(tuned, Head(("cls",)), tmp_path / "other", "", folder)


def test_methods_that_need_layers_refuse_it_in_one_sentence():
    trains = set()
    for name in methods.names():
        kind = methods.load(name)
        if kind.needs_layers():
            with pytest.raises(UnsupportedModel, match=rf"'it' is static embeddings, .* and {name} needs them. Choose"):
                kind.check_layers({}, "it", 0)
        elif "keep_layers" in kind.knobs:
            with pytest.raises(BadChoice, match=r"'it' has no layers, and none can be removed"):
                kind.check_layers({}, "it", 0)
            kind.check_layers({"teacher": "another"}, "it", 0)
        else:
            kind.check_layers({}, "it", 0)
            trains.add(name)
    assert {"contrast", "contrast-hard", "cosent", "cosine-regression", "sbert-nli", "setfit", "whitening"} <= trains
    assert not trains & {"simcse", "sg-opt", "bt-sg-opt", "layer-attention-sup", "wk", "distil", "tsdae"}


def spoil_table(change):
    return lambda folder: reweigh(folder, change)


@pytest.mark.parametrize(
    ("spoil", "error", "message"),
    [
        (lambda folder: (folder / "model.safetensors").unlink(), NotWeights, r"has no weights: it holds .*Copy"),
        (lambda folder: (folder / "tokenizer.json").unlink(), TokenizerMissing, r"has no tokenizer: .* tokenizer.json"),
        (spoil_table(lambda found: {"table": found["embedding.weight"]}), NotWeights, r"holds no weights 'embeddings'"),
        (
            spoil_table(lambda found: {"embedding.weight": found["embedding.weight"].flatten()}),
            NotWeights,
            r"'embedding.weight' of shape \[2496\]: a table of vectors has two dimensions. Copy",
        ),
        (
            spoil_table(lambda found: {"embedding.weight": found["embedding.weight"] * torch.nan}),
            NotWeights,
            r"holds NaN or infinite numbers. Copy",
        ),
        (
            spoil_table(lambda found: {"embedding.weight": found["embedding.weight"][:9]}),
            UnsupportedModel,
            r"has ids up to 77, but the model has embeddings for 0 to 8: .*Copy the tokenizer",
        ),
    ],
)
def test_a_damaged_folder_is_refused_in_one_line(tmp_path, spoil, error, message):
    folder = saved(tmp_path / "static")
    spoil(folder)
    with pytest.raises(error, match=message) as refused:
        encoder_of(folder)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"mapping": torch.arange(78) + 1}, r"'mapping' of shape \[78\]: it names rows from 1 to 78 of 78. Copy"),
        ({"mapping": torch.arange(78) / 2}, r"'mapping' of shape \[78\]: it should hold the number of a row"),
        ({"weights": torch.ones(3)}, r"'weights' of shape \[3\]: it should hold a factor for each of 78 tokens. Copy"),
    ],
)
def test_rows_and_factors_that_do_not_fit_are_refused(tmp_path, tensors, message):
    folder = as_model2vec(saved(tmp_path / "static"), True, **tensors)
    with pytest.raises(NotWeights, match=message):
        encoder_of(folder)
