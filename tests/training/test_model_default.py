"""Test runs on a model with dense layers: training, evaluation and export use its model default."""

import json

import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer

from explorer.encoding.export.exporting import export
from explorer.encoding.read.head import Head
from explorer.encoding.tune.tunable import Tunable
from tests.exports import assert_close, by_sentence_transformers, by_strata, dense
from tests.spoiling import configure, encoder_of
from tests.trainings import new, spearman, texts_of, train

PROMPT = "the dog: "
OTHER_TEXT = {"simcse-hard": "triplets", "contrast": "triplets", "contrast-hard": "triplets"}


@pytest.fixture(scope="module")
def declared(place, tmp_path_factory):
    """A model in sentence-transformers' form: mean, a dense layer that narrows, length 1, after a prompt."""
    folder = tmp_path_factory.mktemp("declared") / "model"
    encoder = encoder_of(place.model)
    export(Tunable(encoder, 64), Head(("mean",), (dense(20),), normalize=True), folder, "# card", place.model)
    configure(folder / "config_sentence_transformers.json", prompts={"query": PROMPT}, default_prompt_name="query")
    return folder


@pytest.mark.parametrize("name", ["contrast", "contrast-hard", "sg-opt", "simcse", "simcse-hard", "conisi-s"])
def test_the_export_reads_as_the_run_did_in_sentence_transformers(place, declared, name):
    text = getattr(place, OTHER_TEXT.get(name, "text"))
    run = train(new(place, name, model=str(declared), data=(str(text),)))
    (result,) = run.status().results
    kept = ["Dense"] * (name == "simcse-hard")
    kinds = [line["type"].rsplit(".", 1)[-1] for line in json.loads((run.model / "modules.json").read_text())]
    assert kinds == ["Transformer", "Pooling", "Dense", *kept, "Normalize"]
    assert SentenceTransformer(str(run.model), device="cpu").prompts["query"] == PROMPT
    assert_close(by_strata(run.model), by_sentence_transformers(run.model))
    first, second, gold = texts_of(place.test)
    found = spearman(*(by_sentence_transformers(run.model, tuple(side)) for side in (first, second)), gold)
    assert result.test == pytest.approx(found, abs=0.01)
    before, after = (load_file(folder / "2_Dense" / "model.safetensors") for folder in (declared, run.model))
    assert all(torch.equal(before[one], after[one]) for one in before)
    before, after = (load_file(folder / "model.safetensors") for folder in (declared, run.model))
    assert any(not torch.equal(before[one], after[one]) for one in before)


def test_the_base_is_scored_as_its_makers_read_it(place, declared):
    run = train(new(place, "contrast-hard", model=str(declared), data=(str(place.triplets),), settings={"steps": 1}))
    verdict = run.status().verdict
    for path, scores in ((place.dev, verdict.dev), (place.test, verdict.test)):
        first, second, gold = texts_of(path)
        sides = (by_sentence_transformers(declared, tuple(side)) for side in (first, second))
        expected = spearman(*sides, gold)
        assert scores.declared_base == pytest.approx(expected, abs=0.01)
        assert scores.same_reading_base == pytest.approx(expected, abs=0.01), "what is trained is what it declares"
