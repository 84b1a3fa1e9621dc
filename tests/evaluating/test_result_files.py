"""Test result files: a round trip, MTEB's layout, damaged files, names that are no paths."""

import io
import json
import zipfile

import numpy as np
import pytest

from explorer.evaluating.results import result_files
from explorer.evaluating.results.result_files import META, Origin, Result, ScoredModel
from explorer.evaluating.results.scored_task import Items, Measured
from tests.evaluating.results_by_hand import result, task


def whole():
    items = Items(
        np.array([0.5, np.nan, 1.0]), np.array([1.0, 2.0, 5.0]), ("news", "news", "forum"), "abcdef0123456789"
    )
    table = np.array([[[70.0, 71.0], [60.0, np.nan]], [[80.0, 81.5], [62.0, 63.0]]])
    measured = Measured(
        "test", ("mean of layer 0", "model default"), ("spearman", "pearson"), table, (1, 2),
        {"text": "raw", "max_length": 256, "folds": None}, items, 12.5,
    )  # fmt: skip
    model = ScoredModel("org/model", "abc123", "f" * 64, Origin("simcse", "base", "r1", 3))
    return Result(model, task("STS-B", kind="sts", text="raw", max_length=None, seeds="1, 2"), measured)


def test_what_is_written_is_read_again(tmp_path):
    before = whole()
    path = result_files.write(before, tmp_path)
    assert path == tmp_path / "org__model" / "abc123" / "experiments" / before.key[:16] / "STS-B.json"
    (after,) = result_files.read_all(tmp_path).results
    assert (after.model, after.task, after.key) == (before.model, before.task, before.key)
    assert (after.task.name, after.task.folder) == (before.task.name, before.task.folder)
    one, other = before.measured, after.measured
    for name in ("split", "titles", "measures", "seeds", "setting", "seconds"):
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
    content = json.loads(result_files.write(result("m", "SICK-R", 80), tmp_path).read_text())
    assert (content["task_name"], content["strata"]["task"]["name"]) == ("SICK-R", "SICK-R")


BROKEN = [
    lambda text: text[: len(text) // 2],
    lambda text: text.replace('"titles": [', '"titles": ["one more", '),
    lambda text: text.replace('"table": [[[', '"table": [[["x", '),
    lambda text: text.replace('"table": [[[70.0, 71.0], ', '"table": [[[70.0], '),
    lambda text: text.replace('"data": "', '"data": 1, "was": "'),
    lambda text: "[" * 50_000,
    lambda text: text.replace("70.0", "9" * 400),
    lambda text: text.replace("70.0", "9" * 5000),
]


@pytest.mark.parametrize("damage", BROKEN)
def test_a_broken_file_is_left_out_and_named(tmp_path, damage):
    path = result_files.write(whole(), tmp_path)
    text = path.read_text()
    path.write_text(damage(text))
    assert path.read_text() != text
    assert result_files.read_all(tmp_path) == result_files.SavedResults((), (path,))


def test_a_file_that_may_not_be_read_is_named_and_items_that_do_not_fit_are_left_out(tmp_path):
    path = result_files.write(whole(), tmp_path)
    path.write_text(path.read_text().replace('"gold": [1.0, ', '"gold": ['))
    (found,) = result_files.read_all(tmp_path).results
    assert found.measured.items is None
    assert found.measured.score("model default") == 80.75
    path = result_files.write(whole(), tmp_path)
    path.unlink()
    path.mkdir()
    assert result_files.read_all(tmp_path).unreadable == (path,)


@pytest.mark.parametrize("text", ["[]", "{}", '{"task_name": "STS12", "scores": {}}'])
def test_a_file_of_others_is_left_out(tmp_path, text):
    result_files.write(whole(), tmp_path).write_text(text)
    assert result_files.read_all(tmp_path) == result_files.SavedResults((), ())


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "..", "a\\b", "run:x@step-1", "x" * 400, ".hidden"]
)
def test_a_name_is_no_path(tmp_path, name):
    path = result_files.write(result(name, name, 50), tmp_path / "home")
    assert path.resolve().is_relative_to(tmp_path / "home")
    assert len(path.relative_to(tmp_path / "home").parts) == 5
    (found,) = result_files.read_all(tmp_path / "home").results
    assert found.model.name == name


SETTINGS = {"text": "raw", "max_length": None, "precision": "float32", "device": "cpu"}


def test_mteb_finds_a_published_task_under_the_usual_settings_where_it_looks(tmp_path):
    usual = result("m", "STS12", 70, of=task("STS12", kind="sts", **SETTINGS))
    cut = result("m", "STS12", 60, of=task("STS12", kind="sts", **SETTINGS | {"max_length": 4}))
    own = result("m", "test.tsv", 50, of=task("test.tsv", kind="sts", folder="data", **SETTINGS))
    for one in (usual, cut, own):
        result_files.write(one, tmp_path)
    (seen,) = (path for path in tmp_path.glob("*/*/*.json") if path.name != META)
    assert seen.name == "STS12.json"
    assert json.loads(seen.read_text())["scores"]["test"][0]["main_score"] == 0.7
    assert len(result_files.read_all(tmp_path).results) == 3
    assert all((path.parent / META).is_file() for path in tmp_path.rglob("*.json"))


def test_names_of_other_characters_have_paths_of_their_own(tmp_path):
    names = ["тест.tsv", "план.tsv", "试验.tsv", "a" * 200, "a" * 201, "x?.tsv", "x*.tsv"]
    same = task("the same", data="d")
    paths = {result_files.write(result(name, "", 50, of=same), tmp_path) for name in names}
    paths |= {result_files.write(result("m", "", 50, of=task(name, data=name)), tmp_path) for name in names}
    assert len(paths) == 2 * len(names)
    assert len({path.parents[3].name for path in paths}) == len(names) + 1
    assert len({path.name for path in paths}) == len(names) + 1
    assert len(result_files.read_all(tmp_path).results) == 2 * len(names)


def test_a_variable_names_the_folder_and_the_archive_has_every_file(tmp_path, monkeypatch):
    path = result_files.write(whole(), tmp_path)
    with zipfile.ZipFile(io.BytesIO(result_files.zipped(tmp_path))) as archive:
        files = [found for found in tmp_path.rglob("*") if found.is_file()]
        assert path in files
        assert set(archive.namelist()) == {f"results/{found.relative_to(tmp_path)}" for found in files}
        assert all(archive.read(f"results/{found.relative_to(tmp_path)}") == found.read_bytes() for found in files)
    monkeypatch.setenv("STRATA_RESULTS", str(tmp_path / "elsewhere"))
    assert result_files.write(result("m", "MR", 80)).is_relative_to(tmp_path / "elsewhere")
    assert len(result_files.read_all().results) == 1
