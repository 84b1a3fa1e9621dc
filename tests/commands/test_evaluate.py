"""Test the evaluate command: results, tables, and tasks whose files are not there or not whole."""

import csv
import io
import json

import pytest

from explorer.__main__ import main
from explorer.evaluating import result_files
from explorer.evaluating.tasks import tasks_of
from tests.evaluating.test_sts_task import write_set
from tests.tiny_models import save_tiny


@pytest.fixture
def desk(tmp_path, monkeypatch):
    for name, kind in (("one", "bert"), ("other", "roberta")):
        save_tiny(kind, tmp_path / name)
    write_set(tmp_path / "data", "STS17_en/test.tsv", 250)
    write_set(tmp_path / "data", "STS17_es_es/test.tsv", 250, "uno {}")
    monkeypatch.setenv("STRATA_RESULTS", str(tmp_path / "results"))
    monkeypatch.delenv("STRATA_DATA", raising=False)
    return tmp_path


def evaluate(desk, *flags, models=("one",)):
    return main(["evaluate", *(str(desk / name) for name in models), "--data", str(desk / "data"), *flags])


def test_each_result_is_a_file_and_a_row(desk, capsys):
    assert evaluate(desk, "--task", "STS17", "--task", "STS17-es-es", "--csv", models=("one", "other")) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    results = result_files.read_all(desk / "results")
    assert len(results) == 4
    assert {row["model"] for row in rows} == {"one", "other"}
    for result in results:
        (row,) = [row for row in rows if row["model"] == result.model.name]
        assert row[result.measured.task] == f"{result.measured.score():.2f}"
    for row in rows:
        assert float(row["average of 2"]) == pytest.approx(
            (float(row["STS17"]) + float(row["STS17-es-es"])) / 2, abs=0.011
        )
        assert row["rank group"]


def test_json_has_every_layer_and_pooling(desk, capsys):
    assert evaluate(desk, "--task", "STS17", "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["task"] == "STS17"
    assert len(found["scores"]) > 9
    assert set(found["scores"]["model default"]) == {"spearman", "pearson"}


def test_a_task_that_is_not_there_is_named_and_there_is_no_average(desk, capsys):
    assert evaluate(desk, "--task", "STS17", "--task", "STS15", "--csv") == 0
    told = capsys.readouterr()
    (row,) = csv.DictReader(io.StringIO(told.out))
    assert row["STS17"]
    assert row["STS15"] == row["average of 2"] == ""
    assert "STS15" in told.err


def test_a_set_without_a_part_of_its_pairs_has_no_score(desk, capsys):
    write_set(desk / "data", "STS17_es_es/test.tsv", 200)
    assert evaluate(desk, "--task", "STS17-es-es") == 1
    assert "200 pairs here, but 250" in capsys.readouterr().err
    assert result_files.read_all(desk / "results") == []


def test_nothing_that_can_be_scored_is_an_error(desk, capsys):
    assert main(["evaluate", str(desk / "one"), "--data", str(desk / "nowhere")]) == 1
    told = capsys.readouterr().err
    assert all(task in told for task in tasks_of("sts"))


@pytest.mark.parametrize(
    ("flags", "said"),
    [(("--task", "STS99"), "STS99"), (("--suite", "nonsense"), "nonsense"), (("--seeds", "1,x"), "1,x")],
)
def test_what_is_not_there_is_refused_before_anything_is_measured(desk, capsys, flags, said):
    assert evaluate(desk, *flags) == 1
    assert said in capsys.readouterr().err
    assert not (desk / "results").exists()
