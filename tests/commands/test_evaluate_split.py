"""Test that `evaluate` splits its results by a column: each group has the numbers of its items alone."""

import csv
import json

import numpy as np
import pytest
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer

from explorer.data import sample
from explorer.evaluating import evaluation
from explorer.evaluating.results import result_files
from tests.tiny_models import save_tiny

FEW = ("--reading", "mean of layer 1")


def written(path, head, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    return path


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """Two models, scored pairs of three languages and a few of a fourth, and queries of two sources."""
    monkeypatch.setenv("STRATA_RESULTS", str(tmp_path / "results"))
    for name, kind in (("one", "bert"), ("other", "roberta")):
        save_tiny(kind, tmp_path / name)
    pairs = sample.pairs()
    rows = [
        (pairs.first[row], pairs.second[row], pairs.gold[row], ("de", "en", "ja")[row % 3] if row > 6 else "few")
        for row in range(90)
    ]
    written(tmp_path / "pairs.csv", ("sentence1", "sentence2", "score", "language"), rows)
    found = [(f"{pairs.first[row]} {row}", f"{pairs.second[row]} {row}", "xxy"[row % 3]) for row in range(60)]
    written(tmp_path / "queries.csv", ("query", "passage", "source"), found)
    return tmp_path


def groups_of(said, desk, *flags, models=("one",), tasks=("pairs.csv",)):
    """The groups of each result, by model and task, from JSON."""
    named = [word for task in tasks for word in ("--task", desk / task)]
    _, out, err = said("evaluate", *(desk / name for name in models), *named, *FEW, *flags, "--json")
    return {(row["model"], row["task"]): row.get("by_column") for row in json.loads(out)}, err


def test_a_group_of_pairs_has_the_correlation_of_its_pairs_by_scipy_and_sentence_transformers(desk, said):
    found, _ = groups_of(said, desk, "--split", "Language", models=("one", "other"))
    lines = list(csv.DictReader((desk / "pairs.csv").open()))
    for (model, _), split in found.items():
        assert (split["column"], split["metric"], split["reading"]) == ("language", "Spearman", "model default")
        encoder = SentenceTransformer(str(desk / model), device="cpu")
        sides = (encoder.encode([row[side] for row in lines]) for side in ("sentence1", "sentence2"))
        first, second = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides)
        cosines = (first * second).sum(axis=1)
        for group in split["groups"]:
            here = [at for at, row in enumerate(lines) if row["language"] == group["group"]]
            gold = [float(lines[at]["score"]) for at in here]
            assert group["pairs"] == len(here)
            assert group["score"] == pytest.approx(100 * spearmanr(cosines[here], gold).statistic, abs=0.01)
            assert group["group"] == "few" or group["low"] < group["score"] < group["high"]
        few = next(one for one in split["groups"] if one["group"] == "few")
        assert (few["low"], few["note"]) == (None, "too few for an interval: fewer than 10")


def test_the_groups_are_those_of_the_command_score(desk, said, answered):
    found, _ = groups_of(said, desk, "--split", "language")
    alone = answered("score", desk / "one", "--on", desk / "pairs.csv", "--split", "language", "--json")["split"]
    for one, other in zip(found["one", "pairs.csv"]["groups"], alone["groups"], strict=True):
        numbers = [one.pop(name) for name in ("score", "low", "high")]
        assert numbers == pytest.approx([other.pop(name) for name in ("score", "low", "high")], abs=1e-3)
        assert one == other


def test_queries_have_the_mean_of_their_group_and_a_task_without_the_column_is_named(desk, said):
    tasks = ("queries.csv", "pairs.csv")
    found, err = groups_of(said, desk, "--split", "source", tasks=tasks)
    assert "Not split, without a column 'source': pairs.csv." in err
    assert found["one", "pairs.csv"] is None
    every, _ = result_files.read_all(desk / "results")
    items = next(one for one in every if one.task.name == "queries.csv").measured.items.values
    split = found["one", "queries.csv"]
    assert [(one["group"], one["queries"]) for one in split["groups"]] == [("x", 40), ("y", 20)]
    for group in split["groups"]:
        mine = [value for row, value in enumerate(items) if "xxy"[row % 3] == group["group"]]
        assert group["score"] == pytest.approx(100 * sum(mine) / len(mine), abs=1e-3)


def test_saved_results_are_split_without_measuring_and_two_models_stand_side_by_side(desk, said, monkeypatch):
    models, tasks = (desk / "one", desk / "other"), ("--task", desk / "pairs.csv")
    said("evaluate", *models, *tasks)

    def refuse(*_):
        raise AssertionError("measured again")

    monkeypatch.setattr(evaluation.Cell, "measured", refuse)
    code, out, _ = said("evaluate", *models, *tasks, "--split", "length")
    assert code == 0
    lines = out.splitlines()
    at = lines.index("pairs.csv by length: Spearman × 100 (95 % CI)")
    assert lines[at + 1].split() == ["length", "pairs", "one", "other"]
    assert sum(int(line.split("  ")[1].split()[0]) for line in map(squeezed, lines[at + 2 :])) == 90


def squeezed(line):
    """A line whose columns are two spaces apart."""
    return "  ".join(filter(None, (cell.strip() for cell in line.split("  "))))


def test_a_column_that_no_task_has_is_refused_before_anything_is_measured(desk, refused):
    tasks = ("evaluate", desk / "one", "--task", desk / "pairs.csv")
    assert "No task can be split by 'lang'. Choose one of: language, length." in refused(*tasks, "--split", "lang")
    assert "Choose --json, or the text" in refused(*tasks, "--split", "length", "--csv")
    assert not (desk / "results").exists()
