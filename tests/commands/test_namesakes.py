"""Test from outside that files of one name, and settings, are never taken for one another by `evaluate`."""

import csv
import io
import json
import os
import random
import re

import pytest

from explorer.__main__ import main
from tests import namesakes
from tests.tiny_models import save_tiny


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RESULTS", str(tmp_path / "results"))
    monkeypatch.delenv("STRATA_DATA", raising=False)
    save_tiny("bert", tmp_path / "tiny")
    return tmp_path


def evaluate(desk, capsys, *paths, flags=(), models=("tiny",)):
    """The table by model, as text, and what is said about it."""
    tasks = [word for path in paths for word in ("--task", str(path))]
    assert main(["evaluate", *(str(desk / model) for model in models), *tasks, *flags, "--csv"]) == 0
    told = capsys.readouterr()
    return {row["model"]: row for row in csv.DictReader(io.StringIO(told.out))}, told.err


def test_three_files_of_one_name_have_the_scores_that_scipy_gives_each(desk, capsys):
    paths = namesakes.write(desk)
    expected = [namesakes.outside_score(desk / "tiny", path) for path in paths]
    assert len({round(score) for score in expected}) == 3, "the premise: they differ"
    row = evaluate(desk, capsys, *paths)[0]["tiny"]
    assert [float(row[f"{path.parent.name}/test.tsv"]) for path in paths] == pytest.approx(expected, abs=0.006)
    assert float(row["average of 3"]) == pytest.approx(sum(expected) / 3, abs=0.006)
    for path, score in zip(paths, expected, strict=True):
        row, told = evaluate(desk, capsys, path)
        assert float(row["tiny"]["test.tsv"]) == pytest.approx(score, abs=0.006)
        assert "not measured again" in told, "each result was kept"


def test_another_setting_neither_changes_nor_replaces_a_score(desk, capsys):
    (path,) = namesakes.write(desk, folders=("a",))
    usual = evaluate(desk, capsys, path)[0]["tiny"]["test.tsv"]
    short = evaluate(desk, capsys, path, flags=("--max-length", "4"))[0]["tiny"]
    assert short["test.tsv (maximum length 4)"] != usual
    again, told = evaluate(desk, capsys, path)
    assert again["tiny"]["test.tsv"] == usual
    assert "not measured again" in told


def test_the_same_data_twice_is_one_column(desk, capsys):
    (path,) = namesakes.write(desk, folders=("a",))
    copy = desk / "copy.tsv"
    copy.write_bytes(path.read_bytes())
    rows, told = evaluate(desk, capsys, path, copy)
    assert set(rows["tiny"]) == {"model", "test.tsv"}
    assert "copy.tsv has the same data as" in told


@pytest.mark.parametrize(("one", "other"), [("тест.tsv", "план.tsv"), ("试验.tsv", "测试.tsv")])
def test_names_outside_ascii_keep_their_results(desk, capsys, one, other):
    (first,), (second,) = (namesakes.write(desk, name, (folder,)) for name, folder in ((one, "a"), (other, "b")))
    second.write_text(first.read_text("utf-8").replace("\n5", "\n0"), encoding="utf-8")
    measured = evaluate(desk, capsys, first, second)[0]["tiny"]
    again, told = evaluate(desk, capsys, first, second)
    assert again["tiny"] == measured
    assert f"tiny: {one}, {other}" in told, "both are reused"


def test_models_with_names_outside_ascii_keep_their_results(desk, capsys):
    names = ("модель", "макет")
    for seed, name in enumerate(names):
        save_tiny("bert", desk / name, seed=seed)
    (path,) = namesakes.write(desk, folders=("a",))
    rows, _ = evaluate(desk, capsys, path, models=names)
    for name in names:
        assert float(rows[name]["test.tsv"]) == pytest.approx(namesakes.outside_score(desk / name, path), abs=0.006)
    again, told = evaluate(desk, capsys, path, models=names)
    assert again == rows
    assert told.count("not measured again") == 1


def test_a_file_of_word_vectors_is_known_by_its_content(desk, capsys):
    (path,) = namesakes.write(desk, folders=("a",))
    words = sorted(set(re.findall("[a-z]+", path.read_text(encoding="utf-8"))))
    found = []
    for seed in (1, 2):
        draw = random.Random(seed)
        lines = (" ".join([word, *(str(draw.randint(1, 9)) for _ in range(4))]) for word in words)
        (desk / "glove.txt").write_text("\n".join(lines) + "\n")
        os.utime(desk / "glove.txt", (1, 1))  # as after `cp -p`, or of a file from an archive
        found.append(evaluate(desk, capsys, path, models=("glove.txt",)))
    (first, _), (second, told) = found
    assert first["glove.txt"]["test.tsv"] != second["glove.txt"]["test.tsv"]
    assert "not measured again" not in told


def test_models_of_one_name_are_each_in_an_estimate(desk, capsys):
    models = [save_tiny("bert", desk / folder / "tiny", seed=seed) for seed, folder in enumerate("ab")]
    (path,) = namesakes.write(desk, folders=("pairs",))
    assert main(["evaluate", *map(str, models), "--task", str(path), "--estimate"]) == 0
    assert capsys.readouterr().out.count("tiny, test.tsv: about") == 2


def test_json_tells_files_of_one_name_apart(desk, capsys):
    tasks = [word for path in namesakes.write(desk) for word in ("--task", str(path))]
    assert main(["evaluate", str(desk / "tiny"), *tasks, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {one["task"] for one in found} == {"test.tsv"}
    assert len({one["data"] for one in found}) == len({one["folder"] for one in found}) == 3
