"""Test prompts that are chosen, by a name of the model's table or as a text, against sentence-transformers."""

import json

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import modules as theirs

from explorer.encoding.load import chosen_prompts
from explorer.encoding.load.loading import load
from explorer.encoding.locate import model_names
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.pooling import OWN
from explorer.errors import BadChoice, UnsupportedModel
from explorer.measuring.scores.measure import Settings, load_encoder
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish
from tests.tiny_models import SENTENCES, WIDTH, save_tiny

STS, DOG = "a man: ", "the dog and "
TABLE = {"query": "women ", "document": "the train ", "sts": STS, "STSBenchmark": DOG, "own": "guitar "}
INSTRUCTED = "Instruct: Given a web search query\nQuery:"


def saved(folder, table=TABLE, default=None, include_prompt=True):
    """A tiny model with a table of prompts, as sentence-transformers saves it."""
    chain = [
        theirs.Transformer(str(save_tiny("bert", folder / "made"))),
        theirs.Pooling(WIDTH, "mean", include_prompt=include_prompt),
    ]
    model = SentenceTransformer(modules=chain, device="cpu", prompts=dict(table), default_prompt_name=default)
    model.save(str(folder / "saved"), create_model_card=False)
    return folder / "saved"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("table"), default="own")


@pytest.fixture(scope="module")
def found(folder):
    return of_folder("tiny", folder)


def vectors(found, texts=SENTENCES, **settings):
    return finish(of_reading(load_encoder(found, Settings(device="cpu", **settings)), texts, OWN))


@pytest.mark.parametrize("include_prompt", [True, False])
def test_vectors_after_a_chosen_prompt_are_those_of_sentence_transformers(include_prompt, tmp_path):
    folder = saved(tmp_path, default="own", include_prompt=include_prompt)
    found, opened = of_folder("tiny", folder), SentenceTransformer(str(folder), device="cpu")
    cases = {
        "sts": {"prompt_name": "sts"},
        "STSbenchmark": {"prompt": DOG},  # case does not matter
        "dogs and \\n men: ": {"prompt": "dogs and \n men: "},
        "": {"prompt": ""},
        "own": {},  # the default
    }
    for chosen, theirs_ in cases.items():
        own = vectors(chosen_prompts.after(found, chosen))
        np.testing.assert_allclose(own, opened.encode(list(SENTENCES), **theirs_), atol=1e-5, rtol=0, err_msg=chosen)
    assert np.abs(vectors(found) - vectors(chosen_prompts.after(found, "sts"))).max() > 0.01, "the premise"


def test_a_chosen_prompt_makes_another_model_with_the_same_weights(found):
    one, same = chosen_prompts.after(found, "sts"), chosen_prompts.after(found, STS)
    assert one == same != found
    assert one.digest != found.digest == one.files.digest
    assert chosen_prompts.after(one, DOG).digest == chosen_prompts.after(found, DOG).digest
    plain, prompted = load(found, "float32", "cpu"), load(one, "float32", "cpu")
    assert prompted.model is plain.model
    assert (prompted.digest, plain.default_head.prompt) == (one.digest, "guitar ")
    assert prompted.as_used is plain
    search = prompted.for_search  # the prompt is one of queries alone
    assert (search.default_head.prompt, search.role_prompts.query, search.role_prompts.document) == (
        "",
        STS,
        "the train ",
    )
    model_names.check_same(one)


def test_the_model_itself_is_what_its_own_prompts_make(tmp_path):
    found = of_folder("tiny", saved(tmp_path, {"sts": STS}))
    assert chosen_prompts.after(found, None) is chosen_prompts.after(found, "") is found
    assert chosen_prompts.in_words(found) == ""
    assert chosen_prompts.in_words(chosen_prompts.after(found, "sts")) == f", after the prompt {STS!r}"


def test_usual_instructions_are_named_where_the_table_has_an_instruction(found, tmp_path):
    instructed = of_folder("tiny", saved(tmp_path, {"query": INSTRUCTED, "clustering": "its own: "}))
    known = chosen_prompts.table(instructed.folder)
    assert known["sts"] == "Instruct: Retrieve semantically similar text.\nQuery:"
    assert known["clustering"] == "its own: "
    assert {*known} == {"query", "document", *chosen_prompts.INSTRUCTIONS}
    assert "classification" not in chosen_prompts.table(found.folder)


def test_what_cannot_be_chosen_is_refused_with_the_names_that_can(found, tmp_path):
    names = "STSBenchmark, document, own, query, sts"
    with pytest.raises(
        BadChoice, match=rf"tiny has no prompt named 'sts_query'\. Its table has: {names}\. .*'sts_query '"
    ):
        chosen_prompts.after(found, "sts_query")
    bare = of_folder("tiny", save_tiny("bert", tmp_path / "bare"))
    with pytest.raises(BadChoice, match=r"no prompt named 'sts'\. Its folder has no table of prompts"):
        chosen_prompts.after(bare, "sts")
    long = chosen_prompts.after(found, "dog " * 200)
    with pytest.raises(BadChoice, match=r"The chosen prompt 'dog dog .* leaves no room for a text: at most"):
        load_encoder(long, Settings(device="cpu"))
    with pytest.raises(BadChoice, match=r"The chosen prompt .* at most 4 tokens are read"):
        vectors(chosen_prompts.after(found, "sts"), max_length=4)
    stored = tmp_path / "vectors.jsonl"
    stored.write_text(
        "".join(json.dumps({"text": text, "embedding": [1.0, at]}) + "\n" for at, text in enumerate("ab"))
    )
    with pytest.raises(UnsupportedModel, match="needs the model itself"):
        chosen_prompts.after(model_names.find(str(stored)), STS)


def test_the_flags_of_both_sides_repeat_their_prompts(found):
    for stated, words in (
        ({}, []),
        ({"prompt": "sts"}, ["--prompt", STS]),
        ({"prompt": "a \\n b"}, ["--prompt", "a \\n b"]),
        ({"other_prompt": "sts"}, ["--other-prompt", STS]),
        ({"prompt": STS, "other_prompt": DOG}, ["--prompt", STS, "--other-prompt", DOG]),
    ):
        sides = chosen_prompts.SidePrompts(**stated).of_both(found, found)
        assert chosen_prompts.flags(*sides) == words
    assert sides[0].prompt == STS
    assert sides[1].prompt == DOG
