"""Test that a Router is read if all texts take the same modules, and refused with the reason if not."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules.router import Router
from sentence_transformers.sentence_transformer import modules as theirs

from explorer.encoding.export.exporting import export
from explorer.encoding.load import declared
from explorer.encoding.locate.model_names import of_folder, wanted
from explorer.errors import NotAModelFolder, UnsupportedModel
from tests.exports import as_trained, assert_close, by_sentence_transformers, model_defaults, tunable
from tests.spoiling import configure, encoder_of
from tests.tiny_models import SENTENCES, WIDTH, save_tiny, tiny_tokenizer

PROMPTS = {"query": "the dog ", "document": "women "}


def chain(folder: Path, seed: int = 0) -> list[torch.nn.Module]:
    """A transformer with its pooling."""
    return [theirs.Transformer(str(save_tiny("bert", folder, seed=seed))), theirs.Pooling(WIDTH, "cls")]


def saved(folder: Path, *after: torch.nn.Module, **routes: list[torch.nn.Module]) -> Path:
    """A Router with these routes, and what follows it, as sentence-transformers saves them."""
    model = SentenceTransformer(modules=[Router(routes), *after], device="cpu", prompts=PROMPTS)
    model.save(str(folder), create_model_card=False)
    return folder


@pytest.fixture
def routed(tmp_path):
    """Queries and documents take the same modules."""
    shared = chain(tmp_path / "made")
    return saved(tmp_path / "routed", theirs.Normalize(), query=shared, document=shared)


@pytest.mark.parametrize("kind", ["Router", "Asym"])
def test_a_router_with_one_route_for_all_texts_is_read_as_that_route(routed, kind):
    if kind == "Asym":  # its name and its file in older releases
        (routed / "router_config.json").rename(routed / "config.json")
        lines = json.loads((routed / "modules.json").read_text())
        lines[0]["type"] = "sentence_transformers.models.Asym"
        (routed / "modules.json").write_text(json.dumps(lines))
    encoder, opened = encoder_of(routed), SentenceTransformer(str(routed), device="cpu")
    roles = encoder.role_prompts
    for own, encode in (
        (roles.before_queries(SENTENCES), opened.encode_query),
        (roles.before_documents(SENTENCES), opened.encode_document),
    ):
        np.testing.assert_allclose(model_defaults(encoder, own).numpy(), encode(list(SENTENCES)), atol=1e-6, rtol=0)
    assert declared.declared(routed) == "cls of the last layer → normalised"


def test_its_digest_is_of_the_files_of_the_route_and_its_export_has_none(routed, tmp_path):
    (weights,) = routed.rglob("model.safetensors")
    assert str(weights.relative_to(routed)) in wanted(str(path.relative_to(routed)) for path in routed.rglob("*"))
    before, tuned = of_folder("it", routed).digest, tunable(encoder_of(routed))
    export(tuned, tuned.encoder.default_head, tmp_path / "run", "", routed)
    assert_close(by_sentence_transformers(tmp_path / "run"), as_trained(tuned, tuned.encoder.default_head))
    configure(weights.parent / "config.json", hidden_act="relu")
    assert of_folder("it", routed).digest != before


def test_a_single_route_may_be_of_static_embeddings(tmp_path):
    torch.manual_seed(0)
    table = theirs.StaticEmbedding(tiny_tokenizer("bert").backend_tokenizer, embedding_dim=WIDTH)
    folder = saved(tmp_path / "routed", query=[table])
    expected = SentenceTransformer(str(folder), device="cpu").encode(list(SENTENCES), convert_to_tensor=True)
    assert_close(model_defaults(encoder_of(folder), SENTENCES), expected)


def test_routes_that_differ_are_refused_with_the_reason(tmp_path):
    folder = saved(tmp_path / "routed", query=chain(tmp_path / "one"), document=chain(tmp_path / "two", seed=1)[:1])
    message = r"routed reads texts by a Router, each kind with modules of its own \(query: Transformer → Pooling, "
    with pytest.raises(UnsupportedModel, match=rf"{message}document: Transformer\)\. .* choose the model of one route"):
        encoder_of(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"structure": {}}, r"router_config.json should name the modules of each route"),
        ({"structure": {"query": ["another"]}}, r"router_config.json should name the modules of each route"),
        ({"structure": {"query": ["../it"]}, "types": {"../it": "Pooling"}}, r"points outside its folder: '\.\./it'"),
        ({"structure": ["query"]}, r"router_config.json cannot be used: "),
    ],
)
def test_a_damaged_list_of_routes_is_refused(routed, change, message):
    configure(routed / "router_config.json", **change)
    with pytest.raises(NotAModelFolder, match=message):
        encoder_of(routed)


def test_a_missing_list_of_routes_is_refused(routed):
    (routed / "router_config.json").unlink()
    with pytest.raises(NotAModelFolder, match=r"router_config.json should name the modules .* Copy or download"):
        encoder_of(routed)
