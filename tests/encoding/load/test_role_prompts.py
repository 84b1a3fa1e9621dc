"""Test the prompts of queries and documents against encode_query and encode_document of sentence-transformers."""

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import modules as theirs

from explorer.encoding.load import declared
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import find
from tests.encoding.load.test_declared_head import saved, settings
from tests.tiny_models import SENTENCES, WIDTH


def test_prompts_of_queries_and_documents_are_those_that_sentence_transformers_adds(bert, tmp_path):
    prompts = {"query": "the dog ", "passage": "a man ", "document": "women "}
    folder = saved(bert, tmp_path / "st", theirs.Pooling(WIDTH, "mean"), prompts=prompts)
    encoder, opened = load(find(str(folder)), "float32", "cpu"), SentenceTransformer(str(folder), device="cpu")
    roles = encoder.head.roles
    for prompt, encode in ((roles.query, opened.encode_query), (roles.document, opened.encode_document)):
        ids = encoder.tokens(list(SENTENCES), prompt=prompt).ids
        own = torch.empty(len(SENTENCES), WIDTH)
        for views in encoder.views_of(ids):
            own[views.positions] = views.own
        torch.testing.assert_close(own, encode(list(SENTENCES), convert_to_tensor=True), atol=1e-5, rtol=0)
    assert (roles.query, roles.document) == ("the dog ", "women ")


def test_prompts_of_roles_that_are_left_out_of_the_pooling_are_marked(bert, tmp_path):
    folder = saved(bert, tmp_path / "st", theirs.Pooling(WIDTH, "mean"), prompts={"query": "the dog "})
    assert declared.head(folder).roles.pooled
    settings(folder / "1_Pooling", include_prompt=False)
    assert not declared.head(folder).roles.pooled
