"""Test fine-tuning on tasks, and that rows of the papers' tables are trained with their settings, or say why not."""

import json
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from unittest import mock

import numpy as np
import pytest

from explorer.__main__ import _options, main
from explorer.commands import plans
from explorer.data import reference_scores, sources
from explorer.data.graded import sets
from explorer.data.labelled import labelled_sets
from explorer.data.text_sets import LABELLED_TEXTS
from explorer.errors import BadChoice
from explorer.evaluating.evaluation import EvaluationResult
from explorer.evaluating.probes.class_scores import MEASURES, class_scores
from explorer.evaluating.results import result_files, table_formats
from explorer.evaluating.results.result_files import Result
from explorer.evaluating.results.scored_task import FINE_TUNING
from explorer.methods import load, paper_values
from explorer.progress import finish
from explorer.studies import fine_tuning
from explorer.studies.fine_tuning import TuningOptions
from explorer.studies.plans import execution, plan_folder
from explorer.studies.plans.plan import cells
from explorer.studies.reproduce.paper_tables import paper_table, paper_tables
from explorer.studies.reproduce.reproduced_scores import base_scores, written
from explorer.studies.reproduce.reproduction import ReproductionOptions, reproduction
from explorer.training.record import runs
from explorer.training.record.status import FINISHED, INTERRUPTED
from tests import named_texts, namesakes
from tests.shown_numbers import value_of
from tests.training.test_graded_runs import labelled_file
from tests.trainings import furnish

SETTINGS = {"steps": 2, "batch_size": 8, "max_length": 24}
QUICK = TuningOptions((1, 2), SETTINGS, "float32", "cpu")


@pytest.fixture(autouse=True, scope="module")
def few_pairs(place):
    """Every run evaluates on the halves of the sample, and elsewhere; many lengths take longer than its steps."""
    whole = {half.piece: sets.load(half) for half in sets.halves()}
    few = {piece: (pairs.name, partial(pairs.taken, range(5), pairs.name)) for piece, pairs in whole.items()}
    at_hand = mock.patch.object(sources, "at_hand", return_value=(sources.identity(str(place.dev)),))
    with mock.patch.dict(sets._SAMPLES, few), at_hand:
        yield


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


@pytest.fixture(scope="module")
def tuned_once(shelf, tmp_path_factory):
    """A folder of a run and its result, and the result."""
    home = tmp_path_factory.mktemp("tuned")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STRATA_RUNS", str(home / "runs"))
        patch.setenv("STRATA_RESULTS", str(home / "results"))
        return home, tuned(shelf).results[0]


@pytest.fixture
def result(tuned_once, tmp_path) -> Result:
    """A result, whose run is in the folder of the test."""
    shutil.copytree(tuned_once[0], tmp_path, dirs_exist_ok=True)
    return tuned_once[1]


def test_a_result_is_the_scores_of_the_test_rows_of_each_seed(shelf, result, tmp_path):
    (run,) = runs.every()
    rows, _ = named_texts.corpus([shelf[1]], LABELLED_TEXTS)
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


def test_a_finished_run_is_not_trained_again(shelf, result, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(fine_tuning.running, "train", None)
        again = tuned(shelf).results[0]
    assert np.array_equal(again.measured.table, result.measured.table)
    other = tuned(shelf, TuningOptions((1,), SETTINGS, "float32", "cpu")).results[0]
    assert len(runs.every()) == 2, "another recipe is another run"
    assert other.task != result.task, "and another column"
    assert len(result_files.read_all()[0]) == 2


def test_a_run_on_text_that_has_changed_is_a_new_one(shelf, tmp_path):
    file = tmp_path / "mine.tsv"
    content = Path(shelf[1]).read_text(encoding="utf-8")
    for text in (content, content.replace("yes", "si")):
        file.write_text(text, encoding="utf-8")
        finish(fine_tuning.fine_tuning([shelf[0]], [str(file)], replace(QUICK, seeds=(1,))))
    assert len(runs.every()) == 2


def test_an_interrupted_run_is_resumed_to_the_same_result(shelf, result):
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
    assert np.array_equal(again.measured.table, result.measured.table)


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
    assert main([*command, "--device", "cpu", "--suite", "glue", *words, "--json"]) == 2, "GLUE is not here"
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
        (["--suite", "glue", "--prompt", "a: "], "--prompt is for models as they are"),
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


STEPS = {"steps": 2, "batch_size": 4}


def settings_of(table):
    """What each row of a table sets, by method."""
    return [(row.label, table.how(row)) for row in table.published().rows]


@pytest.fixture
def scale(place, own_runs, tmp_path, monkeypatch) -> ReproductionOptions:
    monkeypatch.setenv("STRATA_RESULTS", str(tmp_path / "results"))
    model, text, dev, test = map(str, (place.model, place.text, place.dev, place.test))
    return ReproductionOptions(model, (text,), "", "", STEPS, (1, 2), dev, test)


@pytest.fixture
def poolers(place):
    """The table of poolers, on a few pairs."""
    return replace(paper_table("layerattpooler-2"), tasks=(str(place.test),), column={str(place.test): "STS-B"})


def test_every_published_table_has_a_name_and_the_weights_and_poolers_of_the_papers():
    named = {(table.paper, table.number) for table in paper_tables() if not table.figure}
    assert {(table.paper, table.number) for table in reference_scores.tables()} <= named
    assert len({table.name for table in paper_tables()}) == len(paper_tables())
    assert all(bool(table.tasks) != bool(table.elsewhere) for table in paper_tables())
    shares = [how.settings["share"] for _, how in settings_of(paper_table("conisi-7"))]
    assert shares == [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    poolers = [how.settings["pooler"] for _, how in settings_of(paper_table("layerattpooler-2"))]
    every = load("layer-attention-hard").knobs["pooler"].choices
    assert poolers == [pooler for pooler in every if "from layer 0" not in pooler]


@pytest.mark.parametrize(
    "table", [table for table in paper_tables() if not table.elsewhere], ids=lambda table: table.name
)
def test_every_row_has_settings_that_its_method_takes_or_a_reason(table):
    for label, how in settings_of(table):
        if how.method:
            knobs = load(how.method).knobs
            assert set(how.settings) <= set(knobs), label
            assert all(knobs[name].checked(value) == value for name, value in how.settings.items())
        else:
            assert how.pooling or how.why_not


def test_the_ablation_of_sg_opt_changes_one_setting_in_each_row():
    found = [(how.method, dict(how.settings)) for _, how in settings_of(paper_table("sg-bert-5"))]
    plain = {"temperature": 0.01, "pull": 0.1}
    assert found == [
        ("sg-opt", {}), ("sg-opt", {"objective": "opt2"}), ("sg-opt", {"objective": "opt1"}), ("sg", {}),
        ("sg-opt", plain), ("sg-opt", {"temperature": 0.1, "pull": 0.1}),
        ("sg-opt", {"temperature": 0.001, "pull": 0.1}), ("sg-opt", {"temperature": 0.01, "pull": 0.0}),
        ("sg-opt", {"temperature": 0.01, "pull": 1.0}), ("sg-opt", {**plain, "projection": False}),
    ]  # fmt: skip
    assert plain.items() <= paper_values(load("sg-opt")).items()


def test_rows_of_one_training_are_trained_once(scale):
    (plan,) = reproduction(paper_table("sg-bert-5"), scale).plans.values()
    assert plan.rows == 9, "the default stands in the table twice"
    assert len(cells(plan)) == 18
    (plan,) = reproduction(paper_table("sg-bert-5"), replace(scale, pooling="both")).plans.values()
    poolings = [cell.recipe.settings.get("pooling", "model default") for cell in cells(plan)[:4]]
    assert poolings == ["cls", "model default"] * 2


def test_the_table_has_the_measured_mean_beside_the_published_score(place, scale, poolers):
    scale = replace(scale, data=(str(place.triplets),))
    found = reproduction(poolers, scale)
    (plan,) = found.plans.values()
    finish(execution.execute(plan_folder.new(replace(plan, variants=plan.variants[-1:]))))  # one row takes long enough
    finish(base_scores(found))
    header, rows = table_formats.shown(*written(found))
    measured = [f"{name} (Spearman)" for name in (place.test, f"{place.test}, published", f"{place.test}, difference")]
    assert header == ["row", *measured, "setting"]
    by_row = {row[0]: row[1:] for row in rows}
    last = reference_scores.find_table("LayerAttPooler", "2").rows[-1]
    label = f"{last.label}, {last.pooling}, {last.base}"
    of_last = [run for run in runs.every() if "pooler" not in run.recipe().settings]
    scores = [run.status().verdict.test.after for run in of_last]
    called = {f"{last.pooling}, seed {run.recipe().seeds[0]}" for run in of_last}
    assert {run.called for run in of_last} == called, "what tells the rows of this table apart is their pooling"
    assert {runs.shown(f"run:{run.name}") for run in of_last} == {f"{run.called} (run:{run.name})" for run in of_last}
    mean, deviation = map(value_of, by_row[label][0].split(" ± "))
    assert len(scores) == 2
    assert mean == pytest.approx(fmean(scores), abs=0.006)
    assert deviation == pytest.approx(abs(scores[0] - scores[1]) / 2**0.5, abs=0.006)
    assert value_of(by_row[label][1]) == last.scores["STS-B"].value == 86.76
    assert value_of(by_row[label][2]) == pytest.approx(mean - 86.76, abs=0.011)
    assert by_row[label][3].startswith(f"scaled down: {place.model} in place of BERT-base; text: {place.triplets}")
    base = {name: row for name, row in by_row.items() if name.startswith("tiny, ")}
    assert set(base) == {"tiny, [CLS]", "tiny, model default"}
    assert all(row[0] and not row[1] for row in base.values())


def test_a_plan_with_the_name_of_a_table_and_other_values_is_not_gone_on_with(scale):
    (plan,) = reproduction(paper_table("sg-bert-5"), scale).plans.values()
    plan_folder.new(replace(plan, seeds=(9,)))
    with pytest.raises(BadChoice, match="was begun with other values of seeds"):
        plans.worked_off(plan, _options(["reproduce", "sg-bert-5"]))


def test_a_row_that_was_not_trained_has_no_score_and_what_no_training_shows_its_place(place, scale, poolers):
    header, rows = table_formats.shown(*written(reproduction(poolers, replace(scale, data=(str(place.triplets),)))))
    assert header == ["row", f"{place.test}, published (Spearman)", "setting"]
    assert len(rows) == 11
    with pytest.raises(BadChoice, match="make bench ARGS=efficiency"):
        reproduction(paper_table("sg-bert-6"), ReproductionOptions())
    with pytest.raises(BadChoice, match="Did you mean 'sg-bert-5'"):
        paper_table("sgbert-5")


def test_what_is_missing_is_the_reason_of_the_row_alone(scale):
    found = reproduction(paper_table("sg-bert-1"), scale)
    reasons = {line.label: line.why_not for line in found.lines if line.why_not}
    assert "backtranslate" in reasons["BT, CLS, BERT-base"]
    assert "see the row of BERT-base" in reasons["SG-OPT, CLS, BERT-large"]
    assert "word vectors" in reasons["GloVe, Mean, without BERT"]
    trained = [line.label for line in found.lines if line.method]
    assert trained == [f"{row}, BERT-base" for row in ("No tuning, WK", "Flow, Mean-2", "SG, CLS", "SG-OPT, CLS")]


def test_the_figure_of_domains_trains_each_method_on_both_texts(scale, place):
    table = paper_table("sg-bert-figure-4")
    scores = {row.model: row.scores for row in table.published().rows}
    printed = {name: (of["STS-B"].value, of["STS average"].value) for name, of in scores.items()}
    assert printed == {
        "Flow": (71.35, 68.77),
        "Flow, trained on other text": (59.19, 64.58),
        "SG-OPT": (77.23, 74.62),
        "SG-OPT, trained on other text": (75.40, 72.99),
    }
    (plan,) = reproduction(table, replace(scale, other_text=str(place.triplets))).plans.values()
    texts = [(cell.recipe.method, tuple(map(str, cell.recipe.data))) for cell in cells(plan) if cell.seed == 1]
    assert texts == [(method, (str(text),)) for method in ("flow", "sg-opt") for text in (place.text, place.triplets)]
    asked = [line.why_not for line in reproduction(table, scale).lines if line.why_not]
    assert len(asked) == 2
    assert all("--other-text FILE" in why for why in asked)


def test_text_that_is_asked_for_and_models_that_are_not_on_this_disk_are_named_in_their_rows(own_runs):
    options = ReproductionOptions(data=("sample",), dev="sample dev", test="sample test")
    found = reproduction(paper_table("sg-bert-7"), options)
    assert not found.plans
    (plan,) = reproduction(paper_table("sg-bert-1"), replace(options, model="all-MiniLM-L6-v2")).plans.values()
    assert plan.name == "sg-bert-1-8bbef2", "of the texts that name its sets, as in every version"
    reasons = [line.why_not for line in found.lines]
    assert "'bert-base-uncased' is neither a folder here nor in the local cache" in reasons[1]
    found = reproduction(paper_table("conisi-7"), ReproductionOptions(model="all-MiniLM-L6-v2"))
    assert all("--data FILE" in line.why_not for line in found.lines)
    assert len(found.lines) == 10


def test_files_of_one_name_keep_their_scores(place, scale, poolers, tmp_path):
    paths = namesakes.write(tmp_path, folders=("a", "b"))
    tasks = tuple(map(str, paths))
    table = replace(poolers, tasks=tasks, column=dict.fromkeys(tasks, "STS-B"))
    found = reproduction(table, replace(scale, data=(str(place.triplets),)))
    finish(base_scores(found))
    header, rows = written(found)
    by_row = {row[0]: dict(zip([one.name for one in header], row, strict=True)) for row in rows}
    for name, pooling in (("tiny, [CLS]", "cls"), ("tiny, model default", "mean")):
        expected = [namesakes.outside_score(place.model, path, pooling) for path in paths]
        assert [by_row[name][task].mean for task in tasks] == pytest.approx(expected, abs=0.006)
