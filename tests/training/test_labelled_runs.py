"""Test runs on labelled texts, of a classifier and of SBERT: which rows train, choose and test, and what is saved."""

import ast
import json
import random
import re

import pytest
import torch
from safetensors import safe_open
from transformers import AutoModel, AutoTokenizer

from explorer.data import corpora
from explorer.data.text_sets import LABELLED_TEXTS
from explorer.errors import WrongColumns
from explorer.measuring.scores.metrics import class_scores
from explorer.progress import Phase
from explorer.run_folder import Evaluation
from explorer.training.loop.learner import Learner
from explorer.training.saved_model import CLASSIFIER
from tests.training.unbroken import assert_goes_on, with_stages
from tests.trainings import WORDS, new, train, weights

SETTINGS = {"steps": 12, "batch_size": 8, "evaluate_every": 2, "learning_rate": 3e-3, "max_length": 24}


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
            scores = model(**inputs).last_hidden_state[:, 0] @ weight.T + bias
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
        assert f"| {name} | {score:.2f} | " in section
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    code = code.replace('"path/to/this/folder"', repr(str(run.model)))
    code = code.replace("tokenizer(sentences,", "tokenizer(*texts,")
    exec(code, {"texts": [list(column) for column in rows.test.texts]})
    assert ast.literal_eval(capsys.readouterr().out) == [label for _, label in predicted(run, kept)]


def test_validation_rows_choose_the_checkpoint_and_neither_they_nor_test_rows_are_trained_on(run):
    rows, _ = corpora.corpus(run.recipe().data, LABELLED_TEXTS)
    made = run.recipe().made_with
    assert (made["data_rows"], made["held_out_rows"], made["data_digest"]) == (96, 12, rows.digest)
    for number, result in enumerate(run.status().results, start=1):
        lines = [line for line in run.metrics() if isinstance(line, Evaluation) and line.number == number and line.step]
        best = max(lines, key=lambda line: line.held_out)  # the first of equals
        assert (result.best_step, result.criterion, result.dev) == (best.step, best.held_out, best.dev)


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


@pytest.mark.parametrize("stage", [Phase.TRAINING, Phase.EVALUATING_HELD_OUT, Phase.EVALUATING_TEST_ROWS])
def test_a_run_that_was_broken_off_ends_as_if_it_never_was(place, files, stage):
    whole, stages = with_stages(place, "classify", data=(files[True],), settings=SETTINGS | {"steps": 4})
    broken = assert_goes_on(whole, len(stages) - stages[::-1].index(stage))
    for name in ("model/classifier.safetensors", "predictions/seed-1.tsv", "predictions/seed-2.tsv"):
        assert (broken.folder / name).read_bytes() == (whole.folder / name).read_bytes()


SBERT = {"steps": 8, "evaluate_every": 2, "batch_size": 8, "max_length": 24, "uncorrected_adam": True}


@pytest.fixture(scope="module")
def whole(place, files):
    return with_stages(place, "sbert-nli", data=(files[True],), settings=SBERT)


def test_all_rows_train_and_the_dev_set_chooses(whole):
    run, _ = whole
    made = run.recipe().made_with
    rows, _ = corpora.corpus(run.recipe().data, LABELLED_TEXTS, divide=False)
    assert (made["data_rows"], made["held_out_rows"], made["data_digest"]) == (120, 0, rows.digest)
    for number, result in enumerate(run.status().results, start=1):
        lines = [line for line in run.metrics() if isinstance(line, Evaluation) and line.number == number and line.step]
        assert {line.held_out for line in lines} == {None}
        best = max(lines, key=lambda line: line.dev)
        assert (result.best_step, result.dev, result.criterion, result.classes) == (best.step, best.dev, None, None)


def test_the_classifier_is_gone_afterwards(whole):
    run, _ = whole
    assert not (run.model / CLASSIFIER).exists()
    assert not any("classifier" in name for name in weights(run))
    assert "## Classification" not in (run.folder / "README.md").read_text()
    assert not (run.folder / "predictions").exists()


@pytest.mark.parametrize("share", [0.4, 0.8])
def test_a_run_of_sbert_that_was_broken_off_ends_as_if_it_never_was(whole, share):
    run, stages = whole
    assert_goes_on(run, int(share * len(stages)))


def test_rows_of_one_sentence_are_refused_before_a_model_is_loaded(place, files):
    with pytest.raises(WrongColumns, match=r"texts\.tsv has one sentence per row"):
        train(new(place, "sbert-nli", data=(files[False],), model=str(place.folder / "nowhere"), settings=SBERT))
