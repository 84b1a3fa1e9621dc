"""Test that `compare` and `score` split a file by its columns: each group has the numbers of its rows alone."""

import csv

import pytest

from explorer.data import sample
from explorer.data.text_sets import GradedPairs
from tests.tiny_models import save_tiny

LANGUAGES = ("de", "en", "ja")


def file_of(path, pairs: GradedPairs, rows):
    """Scored pairs of some rows, with the language of each."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("sentence1", "sentence2", "score", "language"))
        writer.writerows((pairs.first[row], pairs.second[row], pairs.gold[row], LANGUAGES[row % 3]) for row in rows)
    return path


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return [save_tiny("bert", tmp_path_factory.mktemp("models") / f"{seed}", seed=seed) for seed in (0, 1)]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder, pairs = tmp_path_factory.mktemp("files"), sample.pairs()
    every = range(90)
    parts = {
        one: file_of(folder / f"{one}.csv", pairs, [row for row in every if LANGUAGES[row % 3] == one])
        for one in LANGUAGES
    }
    return file_of(folder / "all.csv", pairs, every), parts


def test_each_group_has_the_scores_of_a_file_of_its_rows_alone(models, files, answered, done):
    whole, parts = files
    found = answered("compare", *models, "--on", whole, "--split", "Language", "--json")["split"]
    assert (found["column"], found["metric"]) == ("language", "Spearman")
    assert [one["group"] for one in found["groups"]] == list(LANGUAGES)
    for one in found["groups"]:
        alone = answered("compare", *models, "--on", parts[one["group"]], "--json")["chosen"]
        assert (one["items"], one["A"], one["B"], one["difference"]) == (30, alone["A"], alone["B"], one["difference"])
        assert one["low"] < alone["low"] < alone["high"] < one["high"], "wider, since those of three hold together"
    out, _ = done("compare", *models, "--on", whole, "--split", "language")
    assert "each is a 98.33 % CI" in out
    assert sum(line.startswith(LANGUAGES) for line in out.splitlines()) == 3


def test_the_score_of_one_model_is_split_as_well(models, files, answered, done, refused):
    whole, parts = files
    found = answered("score", models[0], "--sts", whole, "--split", "language", "--json")["split"]
    for one in found["groups"]:
        rows = answered("score", models[0], "--sts", parts[one["group"]], "--json")["readings"]
        assert one["score"] == next(row["spearman"] for row in rows if row["reading"] == found["reading"])
        assert one["low"] < one["score"] < one["high"]
    out, _ = done("score", models[0], "--sts", whole, "--split", "length")
    assert "length" in out.splitlines()[-5]
    assert "--split has no rows in --csv" in refused("score", models[0], "--sts", whole, "--split", "length", "--csv")


def test_queries_are_split_by_the_mean_of_their_items(models, tmp_path, answered):
    with (tmp_path / "queries.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("query", "passage", "source"))
        pairs = sample.pairs()
        writer.writerows(
            (f"{pairs.first[row]} {row}", f"{pairs.second[row]} {row}", "xy"[row % 2]) for row in range(60)
        )
    found = answered("compare", *models, "--on", tmp_path / "queries.csv", "--split", "source", "--json")
    groups = found["split"]["groups"]
    assert [(one["group"], one["items"]) for one in groups] == [("x", 30), ("y", 30)]
    for side in "AB":
        assert sum(one[side] for one in groups) / 2 == pytest.approx(found["chosen"][side], abs=1e-3)


def test_what_cannot_be_split_is_refused_before_models_are_loaded(models, files, refused):
    whole, _ = files
    said = refused("compare", *models, "--on", whole, "--split", "lang")
    assert "cannot be split by 'lang'. Choose one of: language, length." in said
    assert "--split is for one set" in refused("compare", *models, "--on", whole, "--on", whole, "--split", "length")
