"""Test result files: a round trip, MTEB's layout, damaged files, names that are no paths."""

import io
import json
import zipfile

import numpy as np
import pytest

from explorer.evaluating.measured import Items, Measured
from explorer.evaluating.results import result_files
from explorer.evaluating.results.result_files import Origin, Result, Scored
from tests.evaluating.results_by_hand import result


def whole():
    items = Items(
        np.array([0.5, np.nan, 1.0]), np.array([1.0, 2.0, 5.0]), ("news", "news", "forum"), "abcdef0123456789"
    )
    table = np.array([[[70.0, 71.0], [60.0, np.nan]], [[80.0, 81.5], [62.0, 63.0]]])
    measured = Measured(
        "STS-B", "test", ("mean of layer 0", "model default"), ("spearman", "pearson"), table, (1, 2),
        {"text": "raw", "max_length": 256, "folds": None}, items, 12.5,
    )  # fmt: skip
    return Result(Scored("org/model", "abc123", Origin("simcse", "base", "r1", 3)), measured)


def test_what_is_written_is_read_again(tmp_path):
    before = whole()
    path = result_files.write(before, tmp_path)
    assert path == tmp_path / "org__model" / "abc123" / "STS-B.json"
    (after,) = result_files.read_all(tmp_path)
    assert after.model == before.model
    one, other = before.measured, after.measured
    for name in ("task", "split", "titles", "measures", "seeds", "setting", "seconds"):
        assert getattr(one, name) == getattr(other, name)
    assert np.array_equal(one.table, other.table, equal_nan=True)
    assert np.array_equal(one.items.values, other.items.values, equal_nan=True)
    assert np.array_equal(one.items.gold, other.items.gold)
    assert (one.items.parts, one.items.digest) == (other.items.parts, other.items.digest)


def test_a_file_holds_what_mteb_wants(tmp_path):
    content = json.loads(result_files.write(whole(), tmp_path).read_text())
    assert content["task_name"] == "STSBenchmark"
    (score,) = content["scores"]["test"]
    assert score["main_score"] == pytest.approx((80.0 + 81.5) / 200)
    assert score["main_score"] == score["spearman"]
    assert (score["hf_subset"], score["languages"]) == ("default", ["eng-Latn"])
    assert set(content) >= {"dataset_revision", "mteb_version", "evaluation_time", "kg_co2_emissions"}
    meta = json.loads((tmp_path / "org__model" / "abc123" / "model_meta.json").read_text())
    assert meta == {"name": "org/model", "revision": "abc123"}


def test_sick_has_another_name_than_in_mteb_where_it_has_more_pairs(tmp_path):
    content = json.loads(result_files.write(result("m", "SICK-R", 80), tmp_path).read_text())
    assert content["task_name"] == "SICK-R"
    assert content["strata"]["task"] == "SICK-R"


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "[]",
        lambda text: "{}",
        lambda text: text.replace('"titles": [', '"titles": ["one more", '),
        lambda text: text.replace('"table": [[[', '"table": [[["x", '),
        lambda text: text.replace('"table": [[[70.0, 71.0], ', '"table": [[[70.0], '),
        lambda text: "[" * 50_000,
    ],
)
def test_a_broken_file_is_left_out(tmp_path, damage):
    path = result_files.write(whole(), tmp_path)
    text = path.read_text()
    path.write_text(damage(text))
    assert path.read_text() != text
    assert result_files.read_all(tmp_path) == []


def test_items_that_do_not_fit_are_left_out_and_the_scores_stay(tmp_path):
    path = result_files.write(whole(), tmp_path)
    path.write_text(path.read_text().replace('"gold": [1.0, ', '"gold": ['))
    (found,) = result_files.read_all(tmp_path)
    assert found.measured.items is None
    assert found.measured.score("model default") == 80.75


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "..", "a\\b", "run:x@step-1", "x" * 400, ".hidden"]
)
def test_a_name_is_no_path(tmp_path, name):
    path = result_files.write(result(name, name, 50), tmp_path / "home")
    assert path.resolve().is_relative_to(tmp_path / "home")
    assert len(path.relative_to(tmp_path / "home").parts) == 3
    (found,) = result_files.read_all(tmp_path / "home")
    assert found.model.name == name


def test_files_of_others_are_left_out(tmp_path):
    folder = tmp_path / "org__other" / "rev"
    folder.mkdir(parents=True)
    (folder / "STS12.json").write_text(json.dumps({"task_name": "STS12", "scores": {"test": []}}))
    assert result_files.read_all(tmp_path) == []


def test_a_variable_names_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RESULTS", str(tmp_path / "elsewhere"))
    path = result_files.write(result("m", "MR", 80))
    assert path.is_relative_to(tmp_path / "elsewhere")
    assert len(result_files.read_all()) == 1


def test_the_archive_has_every_file(tmp_path):
    path = result_files.write(whole(), tmp_path)
    with zipfile.ZipFile(io.BytesIO(result_files.zipped(tmp_path))) as archive:
        inside = f"results/{path.relative_to(tmp_path)}"
        assert set(archive.namelist()) == {inside, inside.replace("STS-B", "model_meta")}
        assert archive.read(inside) == path.read_bytes()
