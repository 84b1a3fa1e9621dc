"""Test the cosines of the pairs that a run watches, at every evaluation."""

import json
from functools import partial
from unittest import mock

import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from explorer.__main__ import main
from explorer.data.watched_pairs import OWN, WatchedPair
from explorer.errors import BadChoice
from explorer.run_folder import METRICS, Evaluation, metric_line
from explorer.training import recipe_file
from explorer.training.loop.preparing import Prepared
from tests import trainings
from tests.trainings import new, recipe, train

PAIR = ("No cat sleeps on the mat.", "A cat sleeps on the mat.")
QUICK = {"steps": 4, "pooling": "mean"}


def evaluations(run):
    return [line for line in run.metrics() if isinstance(line, Evaluation)]


@pytest.fixture(scope="module")
def run(place):
    return train(new(place, "simcse", watch=PAIR, test=None, settings={**QUICK, "keep_steps": True}))


def by_transformers(folder, pair):
    """The cosine of two sentences by the mean of the last layer, each read alone, in float64 afterwards."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    means = []
    for text in pair:
        inputs = tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            means.append(model(**inputs).last_hidden_state[0].double().mean(0))
    return float(torch.nn.functional.cosine_similarity(*means, dim=0))


def test_the_cosines_of_a_step_are_those_of_its_saved_model_by_plain_transformers(run):
    pairs, lines = run.status().facts.watched, evaluations(run)
    assert pairs[0] == WatchedPair(OWN, *PAIR)
    assert [line.step for line in lines] == [*range(5)]
    for line in lines:
        expected = [
            by_transformers(run.folder / "steps" / f"step-{line.step}", (one.first, one.second)) for one in pairs
        ]
        assert line.cosines == pytest.approx(expected, abs=2e-6)
    assert len({line.cosines for line in lines}) == 5, "training moved them"


def test_watching_changes_no_byte_of_a_run(place, run):
    alone = new(place, "simcse", test=None, settings={**QUICK, "keep_steps": True})
    nothing = mock.PropertyMock(return_value=())
    with mock.patch.object(Prepared, "watched", nothing):
        train(alone)
    assert (alone.model / "model.safetensors").read_bytes() == (run.model / "model.safetensors").read_bytes()
    assert trainings.losses(alone) == trainings.losses(run)
    assert trainings.looks(alone) == trainings.looks(run)
    assert all(line.cosines == () for line in evaluations(alone))
    assert alone.status().facts.watched == ()


def test_a_line_of_before_cosines_were_recorded_has_none(run):
    lines = (run.folder / METRICS).read_text().splitlines()
    line = next(json.loads(one) for one in lines if "cosines" in json.loads(one))
    del line["cosines"]
    assert metric_line(json.dumps(line)).cosines == ()


def test_train_prints_the_cosines_of_every_step_as_json(place, capsys):
    asked = recipe(place, "simcse", watch=PAIR, test=None, settings=QUICK)
    words = [*trainings.words_of(asked), "--out", str(place.runs), "--name", "watched", "--json"]
    main(words)
    found = json.loads(capsys.readouterr().out)["watched"]
    assert (found[0]["first"], found[0]["second"]) == PAIR
    assert [one["step"] for one in found[0]["cosines"]] == [*range(5)]
    assert all(-1 <= one["cosine"] <= 1 for pair in found for one in pair["cosines"])


def test_the_own_pair_is_in_the_file_and_in_the_command_of_a_recipe_but_decides_no_weights(place):
    asked = partial(recipe, place, "simcse")
    read = recipe_file.from_yaml(asked(watch=PAIR).as_yaml(), "here")
    assert read.watch == PAIR
    assert asked(watch=PAIR).of_any_seed == asked().of_any_seed
    assert "watch" not in asked().as_yaml()
    words = trainings.words_of(asked(watch=PAIR))
    assert [words[at + 1] for at, word in enumerate(words) if word == "--watch"] == list(PAIR)


@pytest.mark.parametrize("watch", [("one sentence",), ("a", "b", "c"), ("a", " ")])
def test_anything_but_two_sentences_is_refused(place, watch):
    with pytest.raises(BadChoice, match="watch cannot be"):
        recipe(place, "simcse", watch=watch)
