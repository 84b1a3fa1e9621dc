"""Test the table of results, seeds of a recipe and averages of whole rows, and published scores next to it."""

import json
from dataclasses import replace
from statistics import fmean, stdev

import pytest

from explorer.data import reference_scores
from explorer.evaluating.results import result_table, table_formats
from explorer.evaluating.results.result_table import models, ranked, rows_for, what_differs
from explorer.evaluating.results.scored_task import LOGISTIC
from explorer.evaluating.tasks import published, sts, transfer
from tests.evaluating.results_by_hand import result, task


def by_name(results):
    return {row.name: row for row in models(results)}


def test_runs_that_differ_by_their_seed_are_one_row_also_if_they_scored_themselves():
    results = [result(f"run:{seed}", "MR", score, recipe="r", seed=seed) for seed, score in ((1, 80.0), (2, 83.0))]
    (row,) = models(results)
    assert row.name == "simcse on base, 2 seeds"
    cell = row.cell(task("MR"))
    assert (cell.mean, cell.std) == (fmean([80, 83]), stdev([80, 83]))
    assert str(cell) == "81.50 ± 2.12"
    results = [result(f"run:{seed}", "MR", score, recipe="r", seed=seed) for seed, score in ((1, 80.0), (2, 83.0))]
    (row,) = models([replace(one, model=replace(one.model, digest="")) for one in results])
    assert str(row.cell(task("MR"))) == "81.50 ± 2.12"
    saved = replace(results[0], task=task("CR"))
    (row,) = models([saved, *(replace(one, model=replace(one.model, digest="")) for one in results)])
    assert (row.cell(task("MR")).std is not None, row.cell(task("CR"))) == (True, None), "one seed lacks a task"


def test_a_base_without_the_tasks_of_what_was_trained_from_it_is_named():
    tuned = [result("run:1", name, 80, recipe="r") for name in ("MR", "CR")]
    tasks = [task("MR"), task("CR")]
    for known, lacking in (([], ("base",)), (["MR"], ("base",)), (["MR", "CR"], ())):
        rows = models([*tuned, *(result("base", name, 70) for name in known)])
        assert result_table.without_base(rows, rows, tasks) == lacking
    assert result_table.without_base(models([result("other", "MR", 70)]), (), tasks) == ()


def test_seeds_of_one_result_have_a_deviation_too_and_what_is_not_a_number_is_missing():
    one = result("m", "MR", 80, seeds=(1, 2))
    one.measured.table[0, 0] = [80.0, 83.0]
    (row,) = models([one])
    assert str(row.cell(task("MR"))) == "81.50 ± 2.12"
    assert row.cell(task("CR")) is row.cell(task("MR"), measure="macro F1") is None
    assert row.cell(task("MR"), "mean of layer 6") is None
    (row,) = models([result("one", "MR", float("nan"))])
    assert row.cell(task("MR")) is None
    assert row.cell(task("CR")) is None
    assert row.cell(task("MR"), measure="pearson") is None


def test_other_recipes_models_and_revisions_are_other_rows():
    results = [result("run:1", "MR", 80, recipe="r"), result("run:2", "MR", 81, recipe="s"), result("base", "MR", 70)]
    assert set(by_name(results)) == {"simcse on base (run:1)", "simcse on base (run:2)", "base"}
    rows = models([result("m", "MR", 80, revision="abc"), result("m", "MR", 81, revision="def")])
    assert [row.name for row in rows] == ["m (abc)", "m (def)"]


def test_an_average_needs_every_task_of_every_seed():
    rows = by_name([result("one", "MR", 80), result("one", "CR", 90), result("other", "MR", 99)])
    assert rows["one"].average([task("MR"), task("CR")]).mean == 85
    assert rows["other"].average([task("MR"), task("CR")]) is None
    assert rows["one"].average([]) is None
    results = [result("run:1", name, 80, recipe="r", seed=1) for name in ("MR", "CR")]
    (row,) = models([*results, result("run:2", "MR", 82, recipe="r", seed=2)])
    assert row.cell(task("MR")).std is not None
    assert row.cell(task("CR")) is None
    assert row.average([task("MR"), task("CR")]) is None


def test_the_deviation_of_an_average_is_that_of_the_averages():
    scores = {1: (80, 90), 2: (82, 88), 3: (90, 92)}
    results = [
        result(f"run:{seed}", name, score, recipe="r", seed=seed)
        for seed, both in scores.items()
        for name, score in zip(("MR", "CR"), both, strict=True)
    ]
    (row,) = models(results)
    assert row.average([task("MR"), task("CR")]).std == pytest.approx(stdev(map(fmean, scores.values())))


def test_the_best_average_comes_first_and_only_models_with_every_task_are_ranked():
    results = [result(model, name, score) for model, name, score in (("a", "MR", 70), ("a", "CR", 72), ("b", "MR", 80),
                                                                    ("b", "CR", 82), ("c", "MR", 99))]  # fmt: skip
    header, rows = result_table.cells(models(results), [task("MR"), task("CR")])
    assert header == ["model", "MR", "CR", "average of 2"]
    assert rows == [["b", "80.00", "82.00", "81.00"], ["a", "70.00", "72.00", "71.00"], ["c", "99.00", "", ""]]
    right, wrong = [1.0] * 90 + [0.0] * 10, [1.0] * 50 + [0.0] * 50
    scored = ("a", "MR", 90, right), ("b", "MR", 50, wrong), ("c", "CR", 10, wrong)
    results = [result(model, name, score, items=items) for model, name, score, items in scored]
    found = ranked(models(results), [task("MR")])
    assert (found.names, found.letters) == (("a", "b"), ("a", "b"))
    assert ranked(models(results), [task("MR"), task("CR")]) is None


def test_json_has_every_layer_and_pooling():
    (found,) = json.loads(table_formats.as_json([result("m", "MR", 80, layers=(60, float("nan")))]))
    assert found["scores"] == {
        "mean of layer 0": {"accuracy": 60},
        "mean of layer 1": {"accuracy": None},
        "model default": {"accuracy": 80},
    }
    assert (found["model"], found["task"]) == ("m", "MR")


def row_of(tasks, source, base, model):
    (found,) = [row for row in rows_for(tasks) if (row.source, row.base, row.model) == (source, base, model)]
    return found


def test_a_row_has_the_scores_of_the_paper_under_each_name_of_a_task():
    row = row_of(sts.SEVEN, "SG-BERT, Table 1", "BERT-base", "SG-OPT")
    assert (row.scores["STS-B"].value, row.scores["STS-B"].std) == (77.23, 0.43)
    assert (set(row.scores), str(row.cell("STS-B"))) == (set(sts.SEVEN), "77.23 ± 0.43")
    assert any("SST-2" in row.scores for row in rows_for(transfer.TASKS))
    assert rows_for(["moods.csv"]) == ()


def test_every_score_on_a_task_of_a_suite_is_in_a_row():
    tasks = published()
    rows = rows_for(tasks)
    for paper in reference_scores.FOLDER.glob("*.json"):
        stated = json.loads(paper.read_text(encoding="utf-8"))
        for number, table in stated["tables"].items():
            if table.get("kind", "scores") != "scores" or table.get("task"):
                continue
            names = {"".join(filter(str.isalnum, name.lower())) for name in tasks}
            expected = sum("".join(filter(str.isalnum, column.lower())) in names
                           for row in table["rows"] for column in row["scores"])  # fmt: skip
            source = f"{stated['paper']['name']}, Table {number}"
            assert sum(len(row.scores) for row in rows if row.source == source) == expected, source


def test_a_difference_is_under_the_papers_measure():
    (wmean, *_) = [row for row in rows_for(["STS12"]) if row.aggregation == "wmean"]
    assert wmean.measure("STS12") == "spearman wmean"
    assert wmean.measure("STS-B") == "spearman", "it has no sub-corpora that papers average"
    (model,) = models([result("m", "STS12", 70, measure="spearman wmean")])
    assert wmean.difference(model, task("STS12")) == pytest.approx(70 - wmean.scores["STS12"].value)
    (other,) = models([result("m", "STS12", 70, measure="spearman")])
    assert wmean.difference(other, task("STS12")) is None
    assert wmean.difference(model, task("STS13")) is None


def test_what_differs_names_both_sides():
    rows = [row for row in rows_for(["MR"]) if row.source == "SG-BERT, Table 4"]
    mr = task("MR", probe=LOGISTIC)
    (model,) = models([result("mine", "MR", 80, of=mr)])
    told = " ".join(what_differs(rows, model, [mr], "mean of layer 6"))
    for words in ("BERT-base", "mine", "mean of layer 6", "classifier: SentEval's MLP, here logistic regression"):
        assert words in told


@pytest.mark.parametrize(("kind", "name", "setting"), [("transfer", "MR", "probe"), ("sts", "STS12", "text")])
def test_what_is_as_in_the_papers_is_no_difference(kind, name, setting):
    same, other = task(name, kind=kind, **{setting: "senteval"}), task(name, kind=kind, **{setting: "another"})
    models_of = [models([result("mine", name, 80, of=one)])[0] for one in (same, other)]
    rows = rows_for([name])
    differs = [len(what_differs(rows, model, [same, other], "model default")) for model in models_of]
    assert differs[1] == differs[0] + 1


def test_figures_without_a_named_metric_are_under_glues_measures():
    tasks = ["GLUE CoLA", "GLUE SST-2"]
    row = row_of(tasks, "SG-BERT, Table 10", "BERT-base", "No tuning")
    assert {name: row.cell(name).mean for name in tasks} == {"GLUE CoLA": 56.63, "GLUE SST-2": 91.08}
    assert [row.measure(name) for name in tasks] == ["Matthews", "accuracy"]
    (model,) = models([result("mine", "GLUE CoLA", 60, measure="Matthews")])
    assert row.difference(model, task("GLUE CoLA")) == pytest.approx(60 - 56.63)
    assert "not named in the paper" in " ".join(what_differs([row], model, [task("GLUE CoLA")], "model default"))
