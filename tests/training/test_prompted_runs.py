"""Test runs with a chosen prompt: trained and evaluated after it, exported with it, and the base as people use it."""

import shlex

import pytest
from sentence_transformers import SentenceTransformer

from explorer.errors import BadChoice
from explorer.training import recipe_file
from explorer.training.recipe import Recipe
from tests.exports import assert_close, by_sentence_transformers, by_strata
from tests.spoiling import configure, declare
from tests.tiny_models import WIDTH
from tests.trainings import furnish, new, recipe, spearman, texts_of, train

OWN, STS = "the dog: ", "a man and "


@pytest.fixture(scope="module")
def prompted(tmp_path_factory):
    """A place whose model has a prompt of its own, and another one in its table."""
    found = furnish(tmp_path_factory.mktemp("prompted"))
    declare(found.model, "Transformer", "Pooling", pooling={"word_embedding_dimension": WIDTH})
    (found.model / "config_sentence_transformers.json").write_text("{}")
    stated = {"prompts": {"own": OWN, "sts": STS}, "default_prompt_name": "own"}
    configure(found.model / "config_sentence_transformers.json", **stated)
    return found


def test_a_run_after_a_prompt_is_what_sentence_transformers_makes_of_its_export(prompted):
    run = train(new(prompted, "simcse", prompt="sts", settings={"steps": 3}))
    first, second, gold = texts_of(prompted.test)

    def score(folder):
        return spearman(*(by_sentence_transformers(folder, tuple(side)) for side in (first, second)), gold)

    exported = SentenceTransformer(str(run.model), device="cpu")
    assert (exported.prompts["sentence"], exported.default_prompt_name) == (STS, "sentence")
    assert_close(by_strata(run.model), by_sentence_transformers(run.model))
    verdict, (result,), facts = run.status().verdict, run.status().results, run.status().facts
    assert result.test == pytest.approx(score(run.model), abs=0.01)
    assert verdict.test.before == pytest.approx(score(prompted.model), abs=0.01), "the base has its own prompt"
    as_trained = prompted.folder / "as-trained"
    SentenceTransformer(str(prompted.model), prompts={"sts": STS}, default_prompt_name="sts", device="cpu").save(
        str(as_trained), create_model_card=False
    )
    assert verdict.test.before_as_trained == pytest.approx(score(as_trained), abs=0.01)
    assert (facts.default.prompt, run.recipe().prompt) == (OWN, "sts")
    assert STS in (run.folder / "README.md").read_text()


def test_a_recipe_states_a_prompt_and_repeats_it_and_passages_have_none(prompted, tmp_path):
    one = recipe(prompted, "simcse", prompt="Instruct: do\nQuery: ")
    words = shlex.split(one.command())
    assert words[words.index("--prompt") + 1] == one.prompt
    assert recipe_file.from_yaml(one.as_yaml(), "r.yaml") == one
    assert one.how_trained()["prompt"] == one.prompt
    assert "prompt" not in Recipe("simcse").as_yaml()
    with pytest.raises(
        BadChoice, match="prompt cannot be 'sts' with Sample search: it would be put before passages, too"
    ):
        train(new(prompted, "simcse", prompt="sts", test="Sample search"))
    with pytest.raises(BadChoice, match=r"has no prompt named 'nope'\. Its table has: own, sts"):
        train(new(prompted, "simcse", prompt="nope"))
