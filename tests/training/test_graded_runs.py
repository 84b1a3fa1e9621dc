"""Test runs on scored pairs, on a model with dense layers, and on labelled texts: what trains, is scored and saved."""

import ast
import json
import random
import re

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from sklearn.linear_model import LogisticRegression
from transformers import AutoModel, AutoTokenizer

from explorer import typed_json
from explorer.__main__ import main
from explorer.data import corpora
from explorer.data.graded import sets
from explorer.data.text_sets import LABELLED_TEXTS, GradedPairs
from explorer.encoding.export.exporting import export
from explorer.encoding.read.head import Head
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import BadScores, TooFewRows, WrongColumns
from explorer.evaluating.probes.class_scores import class_scores
from explorer.measuring.scores.bootstrap import mean_difference
from explorer.progress import Phase
from explorer.run_folder import LOG, Evaluation, TrainingStep
from explorer.training.loop import judging, measured_facts
from explorer.training.loop.learner import Learner
from explorer.training.record import runs
from explorer.training.record.runs import KEEP
from explorer.training.saved_model import CLASSIFIER
from tests.exports import assert_close, by_sentence_transformers, by_strata, dense
from tests.spoiling import configure, encoder_of
from tests.training.unbroken import assert_goes_on
from tests.trainings import WORDS, new, recipe, spearman, texts_of, train, weights, words_of


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
    brought = sets.keep(pairs).written
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
        ("score,a,b\n" + "".join(f"1,a {n},b {n}\n" for n in range(5)), BadScores, "every score in 'score' is 1"),
        ("score,a,b\n1,one,two\n2,three,four\n", TooFewRows, "too few usable rows: 2.*need at least 5"),
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
    data = (str(getattr(place, OTHER_TEXT.get(name, "text"))),)
    run = train(new(place, name, model=str(declared), data=data, settings={"steps": 4}))
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
        assert scores.before == pytest.approx(expected, abs=0.01)
        assert scores.before_as_trained == pytest.approx(expected, abs=0.01), "what is trained is what it declares"


SETTINGS = {"steps": 6, "batch_size": 8, "learning_rate": 3e-3, "max_length": 24}


def labelled_file(folder, rows=120, pairs=True):
    """Rows whose class is whether the first sentence has a certain word."""
    drawn, lines = random.Random(7), []
    for _ in range(rows):
        first, second = (" ".join(drawn.sample(WORDS, drawn.randint(3, 12))) for _ in range(2))
        label = "yes" if WORDS[0] in first.split() or WORDS[1] in first.split() else "no"
        lines.append("\t".join([label, first, *[second] * pairs]))
    path = folder / f"{'pairs' if pairs else 'texts'}.tsv"
    header = "label\tsentence1\tsentence2" if pairs else "label\ttext"
    path.write_text("\n".join([header, *lines, ""]), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labelled")
    return {pairs: labelled_file(folder, pairs=pairs) for pairs in (True, False)}


@pytest.fixture(scope="module", params=[True, False], ids=["pairs", "texts"])
def run(request, place, files):
    """A run of two seeds."""
    return train(new(place, "classify", data=(files[request.param],), seeds=(1, 2), settings=SETTINGS))


def classified(folder, texts, most):
    """The classes of rows by transformers and the saved classification layer, a row at a time."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    with safe_open(folder / CLASSIFIER, "pt") as file:
        weight, bias, classes = *map(file.get_tensor, ("weight", "bias")), json.loads(file.metadata()["classes"])
    found = []
    for row in zip(*texts, strict=True):
        inputs = tokenizer(*row, truncation=True, max_length=most, return_tensors="pt")
        with torch.no_grad():
            scores = model(**inputs).last_hidden_state.mean(1) @ weight.T + bias
        found.append(classes[scores.argmax().item()])
    return found


def predicted(run, kept):
    lines = (run.folder / "predictions" / f"seed-{kept.seed}.tsv").read_text().splitlines()[1:]
    return [tuple(line.split("\t")) for line in lines]


def test_the_saved_model_classifies_the_test_rows_as_the_run_says(run):
    rows, _ = corpora.corpus(run.recipe().data, LABELLED_TEXTS)
    found = classified(run.model, rows.test.texts, SETTINGS["max_length"])
    results = run.status().results
    kept = max(results, key=lambda one: one.criterion)
    assert kept.classes == class_scores(rows.test.labels, found)
    assert predicted(run, kept) == list(zip(rows.test.labels, found, strict=True))
    assert [one.classes.rows for one in results] == [12, 12]


def test_the_card_has_the_scores_and_code_that_classifies(run, capsys):
    rows, _ = corpora.corpus(run.recipe().data, LABELLED_TEXTS)
    kept = max(run.status().results, key=lambda one: one.criterion)
    section = (run.folder / "README.md").read_text().split("## Classification")[1].split("## Training")[0]
    for name, score in (("accuracy", kept.classes.accuracy), ("Matthews", kept.classes.matthews)):
        assert f"| {name} | {kept.frozen.classes.measure(name):.2f} | {score:.2f} | " in section
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    code = code.replace('"path/to/this/folder"', repr(str(run.model)))
    code = code.replace("tokenizer(sentences,", "tokenizer(*texts,")
    exec(code, {"texts": [list(column) for column in rows.test.texts]})
    assert ast.literal_eval(capsys.readouterr().out) == [label for _, label in predicted(run, kept)]


def test_validation_rows_choose_the_checkpoint_and_neither_they_nor_test_rows_are_trained_on(run):
    rows, _ = corpora.corpus(run.recipe().data, LABELLED_TEXTS)
    made = run.recipe().made_with
    assert (made["data_rows"], made["held_out_rows"], made["data_digest"]) == (96, 12, rows.digest)
    assert not run.status().verdict.dev.chose
    for number, result in enumerate(run.status().results, start=1):
        lines = [line for line in run.metrics() if isinstance(line, Evaluation) and line.number == number and line.step]
        best = max(lines, key=lambda line: line.held_out)  # the first of equals
        assert (result.best_step, result.criterion, result.dev_at_best_step) == (best.step, best.held_out, best.dev)


@pytest.mark.parametrize("by", ["accuracy", "macro F1", "Matthews"])
def test_the_chosen_measure_is_the_one_on_record(place, files, by, monkeypatch):
    seen = []
    before = Learner.held_out_score

    def watched(self):
        gold, score = self.held_out.labels, (yield from before(self))
        found = yield from self.method.predicted(self.held_out.texts)
        seen.append((score, class_scores(gold, found).measure(by)))
        return score

    monkeypatch.setattr(Learner, "held_out_score", watched)
    run = train(new(place, "classify", data=(files[False],), settings=SETTINGS | {"steps": 4, "validate_by": by}))
    assert seen
    assert all(score == expected for score, expected in seen)
    assert [line.held_out for line in run.metrics() if isinstance(line, Evaluation)] == [score for score, _ in seen]


def test_a_run_that_was_broken_off_ends_as_if_it_never_was(run):
    rows, last = Phase.EVALUATING_TEST_ROWS, (2, SETTINGS["steps"])
    ends = assert_goes_on(run, (*last, Phase.EVALUATING_HELD_OUT), (*last, rows), (*last, rows, Phase.TRAINING))
    for name in ("model/classifier.safetensors", "predictions/seed-1.tsv", "predictions/seed-2.tsv"):
        assert (ends.folder / name).read_bytes() == (run.folder / name).read_bytes()


def of_base(place, texts):
    """The mean over tokens of each text, read alone by the base, which declares no pooling."""
    tokenizer, model = AutoTokenizer.from_pretrained(place.model), AutoModel.from_pretrained(place.model).eval()
    with torch.no_grad():
        states = [model(**tokenizer(text, truncation=True, return_tensors="pt")).last_hidden_state for text in texts]
    return np.stack([state[0].mean(0).numpy() for state in states]).astype(np.float64)


def by_frozen_base(place, rows, wanted):
    """The classes of wanted rows by scikit-learn on vectors of the base; of two sentences |u - v| and u * v."""

    def features(part):
        sides = [of_base(place, column) for column in part.texts]
        return sides[0] if len(sides) == 1 else np.concatenate([abs(sides[0] - sides[1]), sides[0] * sides[1]], axis=1)

    model = LogisticRegression(tol=1e-8, max_iter=10_000).fit(features(rows), rows.labels)
    return model.predict(features(wanted)).tolist()


def test_the_test_rows_are_compared_with_a_logistic_layer_on_the_frozen_base(place, run):
    rows, _ = corpora.corpus(run.recipe().data, LABELLED_TEXTS)
    results = run.status().results
    by_base = by_frozen_base(place, rows, rows.test)
    kept = max(results, key=lambda one: one.criterion)
    right = [
        np.array([float(label == one) for label, one in zip(rows.test.labels, found, strict=True)])
        for found in (by_base, [one for _, one in predicted(run, kept)])
    ]
    gap, verdict = mean_difference(*right), kept.frozen.verdict
    assert (verdict.before, verdict.after) == pytest.approx([100 * one.mean() for one in right])
    assert (verdict.difference, verdict.low, verdict.high) == (gap.difference, gap.low, gap.high)
    assert [one.frozen.classes for one in results] == [class_scores(rows.test.labels, by_base)] * 2
    assert [one.frozen.verdict.after for one in results] == [one.classes.accuracy for one in results]
    assert [one.frozen.rows for one in results] == [96, 96]


def test_the_comparison_with_the_frozen_base_is_on_record_in_the_log_and_in_the_card(run):
    status = run.status()
    kept = max(status.results, key=lambda one: one.criterion)
    assert status.frozen == kept.frozen
    stored = json.loads((run.folder / "status.json").read_text())["results"]
    assert [one["frozen"]["verdict"] for one in stored] == [
        typed_json.written(one.frozen.verdict) for one in status.results
    ]
    assert f"test rows: {kept.frozen.sentence.text}" in (run.folder / LOG).read_text()
    _, _, told = kept.frozen.sentence.text.partition(": ")
    assert told in (run.folder / "README.md").read_text().split("## Classification")[1]


def test_the_command_says_what_the_frozen_base_gets_and_prints_it_of_each_seed(place, files, monkeypatch, capsys):
    monkeypatch.setenv("STRATA_RUNS", str(place.runs))
    asked = recipe(place, "classify", data=(files[False],), settings=SETTINGS | {"steps": 2})
    assert main([*words_of(asked), "--name", "told", "--json"]) == 0
    told = capsys.readouterr()
    (seed,) = json.loads(told.out)["seeds"]
    frozen = runs.find("told").status().frozen
    assert seed["frozen"] == typed_json.written(frozen)
    assert f"Test rows: {frozen.sentence.text}" in told.err.splitlines()


def test_of_many_rows_the_layer_on_the_frozen_base_has_some_and_the_sentence_says_so(place, files, monkeypatch):
    for module in (judging, measured_facts):
        monkeypatch.setattr(module, "MOST_FITTED", 20)
    run = train(new(place, "classify", data=(files[False],), settings=SETTINGS | {"steps": 1}))
    rows, _ = corpora.corpus(run.recipe().data, LABELLED_TEXTS)
    frozen = run.status().frozen
    by_base = by_frozen_base(place, corpora.drawn(rows, 20, 0), rows.test)
    assert frozen.classes == class_scores(rows.test.labels, by_base)
    assert "a logistic layer of 20 rows" in frozen.sentence.text


def test_the_frozen_base_is_asked_once_for_all_seeds_that_train_on_the_same_rows(place, files, monkeypatch):
    asked, original = [], judging.frozen_classes
    monkeypatch.setattr(judging, "frozen_classes", lambda *given: asked.append(given) or original(*given))
    settings = SETTINGS | {"steps": 1}
    train(new(place, "classify", data=(files[False],), seeds=(1, 2, 3), settings=settings))
    assert len(asked) == 1
    train(new(place, "classify", data=(files[False],), seeds=(1, 2), settings=settings | {"rows": "50 %"}))
    assert len(asked) == 3, "they draw other rows"


SBERT = {"steps": 4, "batch_size": 8, "max_length": 24, "uncorrected_adam": True}


@pytest.fixture(scope="module")
def whole(place, files):
    return train(new(place, "sbert-nli", data=(files[True],), seeds=(1, 2), settings=SBERT))


def test_all_rows_train_the_dev_set_chooses_and_the_classifier_is_gone_afterwards(whole):
    made = whole.recipe().made_with
    rows, _ = corpora.corpus(whole.recipe().data, LABELLED_TEXTS, divide=False)
    assert (made["data_rows"], made["held_out_rows"], made["data_digest"]) == (120, 0, rows.digest)
    assert whole.status().verdict.dev.chose
    for number, result in enumerate(whole.status().results, start=1):
        lines = [
            line for line in whole.metrics() if isinstance(line, Evaluation) and line.number == number and line.step
        ]
        assert {line.held_out for line in lines} == {None}
        best = max(reversed(lines), key=lambda line: line.dev)  # of equal ones the last
        assert (result.best_step, result.dev_at_best_step, result.classes) == (best.step, best.dev, None)
        assert result.criterion == best.dev
        assert result.dev == result.verdict.dev.after
    assert not (whole.model / CLASSIFIER).exists()
    assert not any("classifier" in name for name in weights(whole))
    assert "## Classification" not in (whole.folder / "README.md").read_text()
    assert not (whole.folder / "predictions").exists()


def test_a_run_of_sbert_that_was_broken_off_twice_ends_as_if_it_never_was(whole):
    assert_goes_on(whole, (1, 3, Phase.TRAINING), (2, 2, Phase.TRAINING))


def test_rows_of_one_sentence_are_refused_before_a_model_is_loaded(place, files):
    with pytest.raises(WrongColumns, match=r"texts\.tsv has one sentence per row"):
        train(new(place, "sbert-nli", data=(files[False],), model=str(place.folder / "nowhere"), settings=SBERT))
