"""Test runs of SetFit: the exported encoder and its layer, the card's lines, what chooses a step, and going on."""

import ast
import json
import random
import re

import numpy as np
import pytest
from safetensors import safe_open
from sentence_transformers import SentenceTransformer
from sklearn.linear_model import LogisticRegression

from explorer.data import corpora
from explorer.data.text_sets import LABELLED_TEXTS
from explorer.errors import TooFewRows, WrongColumns
from explorer.evaluating.probes.class_scores import class_scores
from explorer.progress import Phase, finish
from explorer.run_folder import TrainingStep
from explorer.training.loop import estimate as estimates
from explorer.training.loop import folds
from explorer.training.loop.learner import Learner
from explorer.training.loop.preparing import prepare
from explorer.training.loop.processes import World
from explorer.training.saved_model import CLASSIFIER, take
from tests.training.unbroken import assert_goes_on
from tests.trainings import DEVICE, WORDS, new, recipe, train

SETTINGS = {"batch_size": 4, "steps": 3, "iterations": 3, "learning_rate": 3e-3, "max_length": 8}


def written(folder, name, labels, seed, pairs=False):
    """A split whose rows of one class have a word of their own; some are longer than a row is in training."""
    drawn, lines = random.Random(seed), []
    for label in labels:
        rows = [" ".join([WORDS[ord(label) % 7], *drawn.choices(WORDS, k=drawn.randint(3, 14))]) for _ in range(2)]
        lines.append("\t".join([label, rows[0], *[rows[1]] * pairs]))
    header = "label\tsentence1\tsentence2" if pairs else "label\ttext"
    (folder / f"{name}.tsv").write_text("\n".join([header, *lines, ""]), encoding="utf-8")


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """Two classes of four rows, and one of a single row."""
    folder = tmp_path_factory.mktemp("few")
    for name, labels, seed in (("train", "aaaabbbbc", 1), ("dev", "aaaabbbbcc", 2), ("test", "aaabbbcababcab", 3)):
        written(folder, name, labels, seed)
    return str(folder)


@pytest.fixture(scope="module")
def run(place, text):
    """A run of two seeds."""
    return train(new(place, "setfit", data=(text,), seeds=(1, 2), settings=SETTINGS))


def rows_of(run):
    return corpora.corpus(run.recipe().data, LABELLED_TEXTS)[0]


def kept(run):
    return max(run.status().results, key=lambda one: one.criterion)


def predicted(run):
    lines = (run.folder / "predictions" / f"seed-{kept(run).seed}.tsv").read_text().splitlines()[1:]
    return [line.split("\t")[1] for line in lines]


def encoded(folder, texts):
    """Each text alone, by sentence-transformers."""
    model = SentenceTransformer(str(folder), device="cpu")
    return np.stack([model.encode(text) for text in texts])


def saved_layer(folder):
    with safe_open(folder / CLASSIFIER, "np") as file:
        return file.get_tensor("weight"), file.get_tensor("bias"), json.loads(file.metadata()["classes"])


def classified(folder, texts):
    weight, bias, classes = saved_layer(folder)
    return [classes[place] for place in (encoded(folder, texts) @ weight.T + bias).argmax(1)]


def test_the_folder_alone_classifies_the_test_rows_as_the_run_says(run):
    rows = rows_of(run)
    found = classified(run.model, rows.test.texts[0])
    assert found == predicted(run)
    assert len(set(found)) > 1
    assert kept(run).classes == class_scores(rows.test.labels, found)
    assert {line["type"].rsplit(".", 1)[-1] for line in json.loads((run.model / "modules.json").read_text())} == {
        "Transformer",
        "Pooling",
    }


def test_the_saved_layer_is_the_logistic_regression_of_the_training_rows_under_the_saved_encoder(run):
    rows = rows_of(run)
    model = LogisticRegression(tol=1e-8, max_iter=10_000)
    model.fit(encoded(run.model, rows.texts[0]).astype(np.float64), rows.labels)
    weight, bias, classes = saved_layer(run.model)
    assert classes == list(model.classes_) == ["a", "b", "c"]
    np.testing.assert_allclose(weight, model.coef_, atol=1e-3)
    np.testing.assert_allclose(bias, model.intercept_, atol=1e-3)


def test_the_lines_of_the_card_give_the_same_classes_and_its_table_the_scores_of_both(run, capsys):
    section = (run.folder / "README.md").read_text().split("## Classification")[1].split("## Training")[0]
    best = kept(run)
    for name in ("accuracy", "Matthews"):
        assert f"| {name} | {best.frozen.classes.measure(name):.2f} | {best.classes.measure(name):.2f} | " in section
    assert best.frozen.sentence.text.partition(": ")[2] in section
    assert "C = 1" in section
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    code = code.replace('"path/to/this/folder"', repr(str(run.model)))
    sentences = re.findall(r"^sentences = .*$", code, re.MULTILINE)
    exec(code.replace(*sentences, f"sentences = {list(rows_of(run).test.texts[0])!r}"), {})
    assert ast.literal_eval(capsys.readouterr().out) == predicted(run)


def test_an_exported_folder_has_the_layer(run, tmp_path):
    take(run, tmp_path / "exported")
    texts = rows_of(run).test.texts[0]
    assert classified(tmp_path / "exported", texts) == predicted(run)


def test_a_run_that_was_broken_off_ends_as_if_it_never_was(run):
    rows, last = Phase.EVALUATING_TEST_ROWS, (2, SETTINGS["steps"])
    ends = assert_goes_on(run, (1, 2, Phase.TRAINING), (*last, Phase.EVALUATING_HELD_OUT), (*last, rows))
    for name in (f"model/{CLASSIFIER}", "predictions/seed-1.tsv", "predictions/seed-2.tsv"):
        assert (ends.folder / name).read_bytes() == (run.folder / name).read_bytes()


def test_an_epoch_is_all_pairs_once_and_their_number_gives_the_steps(place, text):
    run = train(new(place, "setfit", data=(text,), settings=SETTINGS | {"steps": 0}))
    assert len([line for line in run.metrics() if isinstance(line, TrainingStep)]) == 2 * 3 * 9 // 4 == 13


def test_a_batch_may_be_larger_than_the_text_if_the_pairs_fill_it(place, text):
    run = train(new(place, "setfit", data=(text,), settings=SETTINGS | {"batch_size": 32, "steps": 1}))
    assert run.status().step == 1


def test_the_layer_of_a_blend_is_that_of_the_blended_encoder(place, text):
    run = train(new(place, "setfit", data=(text,), settings=SETTINGS | {"blend": 0.5}))
    assert classified(run.model, rows_of(run).test.texts[0]) == predicted(run)


def test_validation_rows_are_judged_by_a_layer_of_the_training_rows(place, text, monkeypatch):
    seen = []
    before = Learner.held_out_score

    def watched(self):
        score = yield from before(self)
        vectors = [[*self.method.encode([one]).detach().double().numpy()[0]] for one in self.corpus.texts[0]]
        model = LogisticRegression(tol=1e-8, max_iter=10_000).fit(vectors, self.corpus.labels)
        self.method.eval()
        held = [[*self.method.encode([one]).detach().double().numpy()[0]] for one in self.held_out.texts[0]]
        self.method.train()
        seen.append((score, class_scores(self.held_out.labels, model.predict(held).tolist()).accuracy))
        return score

    monkeypatch.setattr(Learner, "held_out_score", watched)
    settings = SETTINGS | {"steps": 3, "max_length": 64, "dropout": False}
    train(new(place, "setfit", data=(text,), settings=settings))
    assert len(seen) == 4
    assert all(score == expected for score, expected in seen)


def test_classes_that_no_drawn_row_has_are_not_predicted_and_one_class_alone_is_refused(place, text):
    drawn = {seed: set(corpora.drawn(corpora.corpus((text,), LABELLED_TEXTS)[0], 3, seed).labels) for seed in range(60)}
    two = next(seed for seed, classes in drawn.items() if classes == {"a", "b"})
    one = next(seed for seed, classes in drawn.items() if len(classes) == 1)
    settings = SETTINGS | {"rows": "3", "steps": 1}
    run = train(new(place, "setfit", data=(text,), seeds=(two,), settings=settings))
    assert saved_layer(run.model)[2] == ["a", "b"]
    assert set(predicted(run)) <= {"a", "b"}
    with pytest.raises(TooFewRows, match=r"All 3 rows of .* have the label '[abc]'; pairs of two classes"):
        train(new(place, "setfit", data=(text,), seeds=(one,), settings=settings))


def test_rows_of_two_sentences_are_refused_before_a_model_is_loaded(place, tmp_path):
    for name, labels, seed in (("train", "aabb", 1), ("dev", "ab" * 5, 2), ("test", "abab", 3)):
        written(tmp_path, name, labels, seed, pairs=True)
    with pytest.raises(WrongColumns, match=r"two sentences per row.*choose the method classify"):
        train(new(place, "setfit", data=(str(tmp_path),), model=str(place.folder / "nowhere"), settings=SETTINGS))


@pytest.fixture
def folded(place, tmp_path):
    """The learner of the first fold of a text of one's own, of two classes and ten rows."""
    drawn, lines = random.Random(4), ["label\ttext"]
    lines += [f"{label}\t{' '.join(drawn.choices(WORDS, k=5))}" for label in "ababababab"]
    (tmp_path / "mine.tsv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    own = "cross-fitted rows"
    made = recipe(place, "setfit", data=(str(tmp_path / "mine.tsv"),), dev=own, test=own, settings=SETTINGS)
    whole = finish(prepare(made))
    return Learner(finish(folds.prepare(whole, 1, 1, ())), 1, World("float32", DEVICE)), whole


def test_the_estimate_counts_every_text_that_an_evaluation_encodes(folded):
    """Those of the fold for the geometry and for their classes, and those that the layer is fitted to."""
    made, _ = folded
    encoded = []
    vectors = made.method.vectors
    made.method.vectors = lambda texts, *more: encoded.append(len(texts)) or vectors(texts, *more)
    finish(made.evaluate(made.prepared.dev))
    assert len(estimates._evaluated_texts(made)) == sum(encoded) > len(made.corpus)


def test_the_estimate_counts_the_validation_rows_of_labelled_texts(place, text):
    made = Learner(
        finish(prepare(recipe(place, "setfit", data=(text,), settings=SETTINGS))), 1, World("float32", DEVICE)
    )
    encoded = []
    vectors = made.method.vectors
    made.method.vectors = lambda texts, *more: encoded.append(len(set(texts))) or vectors(texts, *more)
    finish(made.evaluate(made.prepared.dev))
    finish(made.held_out_score())
    assert len(estimates._evaluated_texts(made)) == sum(encoded)


def test_equal_scores_cost_one_loss_each_of_few_pairs(folded):
    """Held-out rows make many pairs: each row is read four times on average, and the best checkpoint only once."""
    made, _ = folded
    losses, loss = [], made.method.loss
    made.method.loss = lambda *columns: losses.append(len(columns[0])) or loss(*columns)
    for step in range(5):
        made.step = step
        made.record_score(50.0)
    held = len(made.prepared.loss_rows)
    assert 0 < sum(losses) <= 5 * max(4 * held, 2 * made.feed.size)
