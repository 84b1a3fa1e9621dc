"""Test that a kind of task is one file: a made-up one is on the command line, on Results, in plans and estimates."""

import csv
import io
import json
import sys

import numpy as np
import pytest

from explorer.__main__ import main
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import find
from explorer.encoding.read.pooling import parse
from explorer.evaluating import tasks
from explorer.evaluating.results import result_files
from explorer.evaluating.results.scored_task import EVALUATED, Options
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish
from explorer.studies.plans.plan import Plan, tasks_of
from explorer.training.record import run_results
from explorer.ui.plans import plan_form
from explorer.ui.results import evaluate_form, filters
from tests.live import ROOT
from tests.tiny_models import save_tiny
from tests.visits import entered, opened, pressed, words

SUITE, TASK = "word-order", "Reversed words"


@pytest.fixture(autouse=True, scope="module")
def added():
    """A second folder of tasks, with one file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "__path__", [*tasks.__path__, str(ROOT / "tests" / "evaluating" / "made_up")])
        yield
    sys.modules.pop("explorer.evaluating.tasks.word_order", None)
    vars(tasks).pop("word_order", None)


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RESULTS", str(tmp_path / "results"))
    monkeypatch.setattr(run_results, "of_runs", list)
    save_tiny("bert", tmp_path / "tiny")
    return str(tmp_path / "tiny")


def test_the_command_names_estimates_and_scores_it(model, tmp_path, capsys):
    def said(*flags):
        assert main(["evaluate", model, *flags]) == 0
        return capsys.readouterr().out

    assert ",word-order(madeup),orglue" in "".join(said("--help").split())
    assert said("--suite", SUITE, "--estimate").startswith("tiny, Reversed words: about")
    (row,) = csv.DictReader(io.StringIO(said("--task", "reversed-words", "--csv")))
    (found,) = result_files.read_all(tmp_path / "results")[0]
    assert (row["column"], row["measure"]) == (TASK, found.measured.measures[0])
    assert float(row["mean"]) == pytest.approx(found.measured.score(), abs=0.005)
    for title in ("mean of layer 1", "cls of layer 2"):
        task, encoder = tasks.load(TASK, Options()), load(find(model), "float32", "cpu")
        vectors = finish(of_reading(encoder, task.texts, parse(title, 2)))
        right = [np.argmax([one @ other for one in vectors[:30]]) == at for at, other in enumerate(vectors[30:])]
        assert found.measured.score(title) == pytest.approx(100 * np.mean(right))


def test_its_result_is_in_mtebs_layout_in_the_file_of_its_key(model, tmp_path, capsys):
    assert main(["evaluate", model, "--suite", SUITE, "--index", "ivf"]) == 0
    (found,) = result_files.read_all(tmp_path / "results")[0]
    task = tasks.load(TASK, Options())
    assert found.task == task.key(Options(index="ivf"), EVALUATED) != task.key(Options(), EVALUATED)
    assert task.key(Options(text="senteval", seeds=(2,)), EVALUATED) == task.key(Options(), EVALUATED)
    path = result_files.path_of(found.model, found.task)
    assert found.key[: result_files.KEY] in str(path)
    content = json.loads(path.read_text())
    (score,) = content["scores"]["all"]
    assert (content["task_name"], score["main_score"]) == (TASK, pytest.approx(found.measured.score() / 100))
    assert "Reversed words (IVF index)" in capsys.readouterr().out, "a setting that decides its scores is told"


def test_a_file_of_its_own_is_taken_before_the_kind_that_takes_any(model, tmp_path, capsys):
    (tmp_path / "few.txt").write_text("one two three\nfour five six\n")
    assert main(["evaluate", model, "--task", str(tmp_path / "few.txt"), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["task"], found["kind"]) == ("few.txt", "word order")


def test_results_evaluates_it_and_has_its_column(app, model):
    app.session_state[evaluate_form.MODELS] = [model]
    opened(app, "results", tab="Evaluate models")
    assert TASK in app.multiselect(key=evaluate_form.TASKS).options
    app.multiselect(key=evaluate_form.SUITES_KEY).set_value([SUITE])
    pressed(app, evaluate_form.START)
    assert words(app.success) == ["1 result measured."]
    assert app.selectbox(key=filters.SUITE).value == SUITE
    (found,) = result_files.read_all()[0]
    entered(app, app.segmented_control(key="tab"), "Table")
    column = f"{TASK} ({found.measured.measures[0]})"
    assert app.dataframe[0].value[column].tolist() == [pytest.approx(found.measured.score())]


def test_a_plan_can_name_it(app):
    assert tasks_of(Plan("mine", tasks=(SUITE,))) == (TASK,)
    app.switch_page("pages/plans.py").run()
    assert {f"{SUITE} (1 tasks)", TASK} <= set(app.multiselect(key=plan_form.TASKS).options)
