"""Test fine-tuning on tasks: a run for each, trained once or resumed, and its scores as a result."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explorer.__main__ import main
from explorer.data import corpora
from explorer.data.labelled import labelled_sets
from explorer.data.text_sets import LABELLED_TEXTS
from explorer.errors import BadChoice
from explorer.evaluating.evaluation import EvaluationResult
from explorer.evaluating.results import result_files
from explorer.evaluating.results.scored_task import FINE_TUNING
from explorer.measuring.scores.metrics import MEASURES, class_scores
from explorer.progress import finish
from explorer.studies import fine_tuning
from explorer.studies.fine_tuning import TuningOptions
from explorer.training.record import runs
from explorer.training.record.status import FINISHED, INTERRUPTED
from tests.training.test_graded_runs import labelled_file
from tests.trainings import furnish

SETTINGS = {"steps": 2, "batch_size": 8, "max_length": 24}
QUICK = TuningOptions((1, 2), SETTINGS, "float32", "cpu")


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """A tiny model, and a labelled file of pairs."""
    folder = tmp_path_factory.mktemp("studies")
    return str(furnish(folder).model), labelled_file(folder)


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("STRATA_RESULTS", str(tmp_path / "results"))
    monkeypatch.delenv("STRATA_DATA", raising=False)


def tuned(shelf, options=QUICK) -> EvaluationResult:
    model, file = shelf
    return finish(fine_tuning.fine_tuning([model], [file], options))


def test_a_result_is_the_scores_of_the_test_rows_of_each_seed(shelf, tmp_path):
    (result,) = tuned(shelf).results
    (run,) = runs.every()
    rows, _ = corpora.corpus([shelf[1]], LABELLED_TEXTS)
    found = [(run.folder / "predictions" / f"seed-{seed}.tsv").read_text().splitlines()[1:] for seed in (1, 2)]
    right = []
    for place, lines in enumerate(found):
        gold, predicted = zip(*(line.split("\t") for line in lines), strict=True)
        assert gold == rows.test.labels
        scores = class_scores(gold, predicted)
        assert result.measured.table[0, :, place].tolist() == [scores.measure(name) for name in MEASURES]
        right.append([one == other for one, other in zip(gold, predicted, strict=True)])
    assert result.measured.items.values == pytest.approx(np.mean(right, axis=0))
    assert (result.task.kind, result.task.name, result.measured.split) == (FINE_TUNING, "pairs.tsv", "test")
    assert result.task.data == rows.digest
    assert (result.measured.measures, result.measured.seeds) == (MEASURES, (1, 2))
    assert result.measured.setting["steps"] == 2
    (kept,) = result_files.read_all(tmp_path / "results")[0]
    assert np.array_equal(kept.measured.table, result.measured.table)
    assert kept.model == result.model
    assert kept.model.name == "tiny", "what is scored is the encoder that was fine-tuned"


def test_a_finished_run_is_not_trained_again(shelf, monkeypatch):
    first = tuned(shelf).results[0]
    with monkeypatch.context() as patch:
        patch.setattr(fine_tuning.running, "train", None)
        again = tuned(shelf).results[0]
    assert np.array_equal(again.measured.table, first.measured.table)
    other = tuned(shelf, TuningOptions((1,), SETTINGS, "float32", "cpu")).results[0]
    assert len(runs.every()) == 2, "another recipe is another run"
    assert other.task != first.task, "and another column"
    assert len(result_files.read_all()[0]) == 2


def test_a_run_on_text_that_has_changed_is_a_new_one(shelf, tmp_path):
    file = tmp_path / "mine.tsv"
    content = Path(shelf[1]).read_text(encoding="utf-8")
    for text in (content, content.replace("yes", "si")):
        file.write_text(text, encoding="utf-8")
        finish(fine_tuning.fine_tuning([shelf[0]], [str(file)], QUICK))
    assert len(runs.every()) == 2


def test_an_interrupted_run_is_resumed_to_the_same_result(shelf, tmp_path, monkeypatch):
    whole = tuned(shelf).results[0]
    runs.every()[0].delete()
    work = fine_tuning.fine_tuning([shelf[0]], [shelf[1]], QUICK)
    for progress in work:
        if progress.stage.endswith(": training") and progress.done == 1:
            break
    work.close()
    (run,) = runs.every()
    assert run.status().state == INTERRUPTED
    again = tuned(shelf).results[0]
    assert runs.every() == [run]
    assert run.status().state == FINISHED
    assert "resumed at step 1" in run.log_tail(60)
    assert np.array_equal(again.measured.table, whole.measured.table)


def test_cola_is_scored_and_chosen_by_matthews_correlation():
    (known,) = [known for known in labelled_sets.GLUE if known.name == "GLUE CoLA"]
    assert fine_tuning.named("glue cola") == known.name
    recipes = {task: fine_tuning.recipe(task, "all-MiniLM-L6-v2", QUICK) for task in fine_tuning.TASKS}
    assert {task for task, one in recipes.items() if one.schedule().validate_by == "Matthews"} == {"GLUE CoLA"}
    assert fine_tuning.column("GLUE CoLA") == ("GLUE CoLA", "")
    assert fine_tuning.column("mrpc") == ("MRPC", "")


def test_the_command_fine_tunes_and_prints_the_scores(shelf, capsys):
    model, file = shelf
    words = [f"--set={name}={value}" for name, value in SETTINGS.items()]
    command = ["evaluate", model, "--task", file, "--probe", "fine-tuned", "--seeds", "1,2", "--precision", "float32"]
    assert main([*command, "--device", "cpu", "--suite", "glue", *words, "--json"]) == 0
    told = capsys.readouterr()
    (found,) = json.loads(told.out)
    (kept,) = result_files.read_all()[0]
    assert (found["task"], found["kind"]) == ("pairs.tsv", FINE_TUNING)
    assert found["scores"]["model default"]["accuracy"] == pytest.approx(kept.measured.score(), abs=0.01)
    for task in fine_tuning.TASKS:
        assert f"{task} is not available" in told.err
    assert main([*command, "--device", "cpu", *words, "--estimate"]) == 0
    assert "s per step" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--task", "STS12", "--probe", "fine-tuned"], "--probe fine-tuned is for classification tasks"),
        (["--task", "STS12", "--set", "steps=3"], "--set is for tasks that are fine-tuned on"),
        (["--suite", "glue", "--set", "steps"], "lacks an equals sign"),
    ],
)
def test_flags_without_a_task_to_fine_tune_on_are_refused(shelf, capsys, flags, said):
    assert main(["evaluate", shelf[0], *flags]) == 1
    assert said in capsys.readouterr().err


def test_an_unknown_setting_or_a_refused_training_leaves_no_run(shelf):
    with pytest.raises(BadChoice, match="no setting 'stepz'"):
        tuned(shelf, TuningOptions((1,), {"stepz": 3}))
    assert runs.every() == []
    with pytest.raises(BadChoice, match="mps"):
        tuned(shelf, replace(QUICK, device="mps"))
    assert runs.every() == []


def test_word_vectors_have_nothing_to_fine_tune(shelf, capsys):
    assert main(["evaluate", "bag-of-words", "--task", shelf[1], "--probe", "fine-tuned"]) == 1
    assert "bag-of-words has no encoder to fine-tune" in capsys.readouterr().err
