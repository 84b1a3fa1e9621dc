"""Test published rows: every task's scores, the paper's measure, differences, what differs in the setting."""

import json

import pytest

from explorer.data import reference_scores
from explorer.evaluating.results.result_table import models, rows_for, what_differs
from explorer.evaluating.tasks import published, sts, transfer
from tests.evaluating.results_by_hand import result, task


def row_of(tasks, source, base, model):
    (found,) = [row for row in rows_for(tasks) if (row.source, row.base, row.model) == (source, base, model)]
    return found


def test_a_row_has_the_scores_of_the_paper():
    row = row_of(sts.SEVEN, "SG-BERT, Table 1", "BERT-base", "SG-OPT")
    assert row.scores["STS-B"].value == 77.23
    assert row.scores["STS-B"].std == 0.43
    assert set(row.scores) == set(sts.SEVEN)
    assert str(row.cell("STS-B")) == "77.23 ± 0.43"


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


def test_names_that_papers_write_differently_are_the_same_task():
    assert any("SST-2" in row.scores for row in rows_for(transfer.TASKS))


def test_a_difference_is_under_the_papers_measure():
    rows = rows_for(["STS12"])
    (wmean, *_) = [row for row in rows if row.aggregation == "wmean"]
    assert wmean.measure("STS12") == "spearman wmean"
    assert wmean.measure("STS-B") == "spearman", "it has no sub-corpora that papers average"
    (model,) = models([result("m", "STS12", 70, measure="spearman wmean")])
    assert wmean.difference(model, task("STS12")) == pytest.approx(70 - wmean.scores["STS12"].value)
    (other,) = models([result("m", "STS12", 70, measure="spearman")])
    assert wmean.difference(other, task("STS12")) is None
    assert wmean.difference(model, task("STS13")) is None


def test_nothing_is_published_on_a_users_file():
    assert rows_for(["moods.csv"]) == ()


def test_what_differs_names_both_sides():
    rows = [row for row in rows_for(["MR"]) if row.source == "SG-BERT, Table 4"]
    mr = task("MR", probe=transfer.LOGISTIC)
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
