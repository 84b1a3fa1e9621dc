"""Test runs on scored pairs, and on a model with dense layers, whose model default they train, score and export."""

import json
import random

import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer

from explorer.data.graded import sets
from explorer.data.sources import written
from explorer.data.text_sets import GradedPairs
from explorer.encoding.export.exporting import export
from explorer.encoding.read.head import Head
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import BadScores, TooFewRows, WrongColumns
from explorer.run_folder import LOG, TrainingStep
from explorer.training.record.runs import KEEP
from tests.exports import assert_close, by_sentence_transformers, by_strata, dense
from tests.spoiling import configure, encoder_of
from tests.trainings import WORDS, new, spearman, texts_of, train


def rows(count: int, seed: int = 5) -> list[tuple[str, str, float]]:
    """Phrases that share from none to all but one of their words, scored by how many."""
    drawn = random.Random(seed)
    found = []
    for number in range(count):
        words, others = drawn.sample(WORDS, 6), drawn.sample(WORDS, 6)
        shared = number % 6
        found.append((" ".join(words), " ".join(words[:shared] + others[shared:]), 10.0 * shared))
    return found


@pytest.fixture
def odd_file(tmp_path):
    path = tmp_path / "odd.csv"
    lines = [f"{score},{number},{one},{other}" for number, (one, other, score) in enumerate(rows(30))]
    path.write_text("\n".join(["my rating,row id,left text,right text", *lines]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["cosent", "cosine-regression"])
def test_a_file_of_graded_pairs_is_trained_on_and_the_export_scores_what_the_run_says(place, odd_file, name):
    columns = {"first": "left text", "second": "right text", "score": "my rating"}
    run = train(new(place, name, data=(str(odd_file),), columns=columns))
    (result,) = run.status().results
    assert len([line.loss for line in run.metrics() if isinstance(line, TrainingStep)]) == 6
    assert run.status().facts.rows == 30
    first, second, gold = texts_of(place.test)
    sides = (by_sentence_transformers(run.model, tuple(side)) for side in (first, second))
    assert result.test == pytest.approx(spearman(*sides, gold), abs=0.01)
    kinds = [line["type"].rsplit(".", 1)[-1] for line in json.loads((run.model / "modules.json").read_text())]
    assert kinds == ["Transformer", "Pooling"]


def test_a_set_that_was_brought_is_trained_on_without_the_rows_it_is_evaluated_on(place, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))
    dev, _, _ = texts_of(place.dev)
    first, second, gold = zip(*rows(20), strict=True)
    pairs = GradedPairs("mine.csv", (*first, dev[0], "x"), (*second, "y", dev[3]), (*gold, 1.0, 2.0), ("",) * 22)
    brought = written(sets.keep(pairs))
    run = train(new(place, "cosent", data=(brought,)))
    assert run.status().facts.rows == 20
    log = (run.folder / LOG).read_text(encoding="utf-8")
    assert f"held out: 2 of 22 rows of {brought} share a sentence with the dev or test pairs" in log
    assert brought.split(" · ")[0] in (run.folder / "recipe.yaml").read_text(encoding="utf-8")


def test_a_resumed_run_holds_out_the_same_rows(place, odd_file):
    columns = {"first": "left text", "second": "right text", "score": "my rating"}
    run = new(place, "cosent", data=(str(odd_file),), columns=columns)
    train(run, lambda progress: run.request_stop(KEEP) if progress.stage == "training" and progress.done == 3 else None)
    assert run.status().step < 6
    train(run)
    assert run.status().step == 6


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        ("score,a,b\n1,one,two\n1,three,four\n1,five,six\n", BadScores, "every score in 'score' is 1"),
        ("score,a,b\n1,one,two\n2,three,four\n", TooFewRows, "too few usable rows: 2.*need at least 3"),
        ("score,a,b\n1,one,two\n2,three,four\n3,five,six\n", TooFewRows, "has 3 rows, but a batch takes 4"),
        ("a,b\none,two\nthree,four\nfive,six\n", WrongColumns, "cannot give graded pairs: it has no scores"),
    ],
)
def test_what_cannot_be_trained_on_is_refused_with_what_to_do(place, tmp_path, content, error, message):
    path = tmp_path / "bad.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(error, match=message):
        train(new(place, "cosent", data=(str(path),)))


def test_the_pairs_that_a_run_is_evaluated_on_are_no_training_text(place):
    with pytest.raises(TooFewRows, match=r"All 12 rows of dev\.csv share a sentence.*Choose other dev or test pairs"):
        train(new(place, "cosent", data=(str(place.dev),)))


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
    run = train(new(place, name, model=str(declared), data=(str(getattr(place, OTHER_TEXT.get(name, "text"))),)))
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
