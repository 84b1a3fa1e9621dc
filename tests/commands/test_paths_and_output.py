"""Test that paths and output that cannot be used are named, and that no file is taken for another of its name."""

import csv
import errno
import importlib.metadata
import io
import json
import os
import random
import re
import runpy
import sys
from pathlib import Path

import pytest

from explorer import __main__ as command_line
from explorer import places
from explorer.__main__ import main
from tests import namesakes
from tests.tiny_models import save_tiny
from tests.trainings import recipe, words_of

MODEL = "all-MiniLM-L6-v2"
PLACES = [  # of a path among the words of a command
    ("score", "@"),
    ("score", MODEL, "--sts", "@"),
    ("compare", MODEL, "@"),
    ("compare", MODEL, MODEL, "--sts", "@"),
    ("compare", MODEL, MODEL, "--dev", "@"),
    ("compare", MODEL, MODEL, "--report", "@"),
    ("search", "hello", "--corpus", "@"),
    ("search", "hello", "--vectors", "@"),
    ("search", "hello", "--model", "@"),
    ("shrink", MODEL, "--on", "@"),
    ("shrink", MODEL, "--text", "@"),
    ("shrink", MODEL, "--words", "@"),
    ("shrink", MODEL, "--with", "@"),
    ("shrink", MODEL, "--export", "@"),
    ("static", "@", "there"),
    ("static", MODEL, "@"),
    ("embed", MODEL, "@", "--out", "there"),
    ("embed", MODEL, "sample", "--out", "@"),
    ("mine", "@"),
    ("train", "simcse", "--data", "@", "--estimate"),
    ("train", "simcse", "--dev", "@", "--estimate"),
    ("train", "simcse", "--model", "@", "--estimate"),
    ("train", "classify", "--data", "@", "--estimate"),
    ("train", "simcse", "--out", "@"),
    ("train", "--recipe", "@"),
    ("plan", "@"),
    ("export", "@", "there"),
    ("export", "example", "@"),
    ("backtranslate", "@", "--there", MODEL, "--back", MODEL, "--out", "there.tsv"),
    ("backtranslate", "sample", "--there", MODEL, "--back", MODEL, "--out", "@"),
    ("generator", "--data", "@", "--out", "there"),
    ("generator", "--out", "@"),
    ("evaluate", "@"),
    ("evaluate", MODEL, "--data", "@"),
]


FILES = [  # commands whose work ends with a file, with models and plans that are not there
    ("compare", "./no", "./no", "--report"),
    ("explain", "a", "b", "./no", "--html"),
    ("shrink", "./no", "--report"),
    ("plan", "./no", "--report"),
    ("advise", "--html"),
    ("similarity", "./no", "--export"),
    ("backtranslate", "./no", "--there", "./no", "--back", "./no", "--out"),
]


@pytest.fixture
def here(tmp_path, monkeypatch):
    for folder in ("here", "runs"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    yield
    assert [path.name for path in sorted(tmp_path.rglob("*"))] == ["here", "runs"]


@pytest.mark.parametrize("words", FILES, ids=" ".join)
@pytest.mark.usefixtures("here")
def test_a_file_that_cannot_be_written_is_refused_before_the_work(words, capsys):
    for path, reason in (
        (".", "'.' is a folder. Give the path of a file in it, such as name.ending."),
        (f"{__file__}/x", f"'{__file__}/x' cannot be written, since {__file__} is no folder. Choose another path."),
        ("/dev/null", "/dev/null is a device, not a file. Choose another path."),
    ):
        assert main([*words, path]) == 1
        assert capsys.readouterr().err == f"{reason}\n"


@pytest.mark.parametrize("words", PLACES, ids=" ".join)
@pytest.mark.usefixtures("here")
def test_a_path_that_cannot_be_looked_up_is_refused(words, capsys):
    for path, reason in (
        ("~nosuch/x", "there is no user with this home folder"),
        ("x" * 300 + ".tsv", "File name too long"),
        ("bad\udcff.tsv", "is not UTF-8. Rename the file"),  # how Python reads the byte FF of an argument
    ):
        assert main([path if word == "@" else word for word in words]) == 1, path
        out, err = capsys.readouterr()
        *_, last = err.splitlines()
        assert out == "", path
        assert reason in last
        assert path.replace("\udcff", r"\udcff") in last


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("variable", ["STRATA_CACHE", "STRATA_RUNS", "STRATA_RESULTS", "STRATA_DATA"])
def test_the_app_does_not_start_with_a_folder_that_cannot_be_looked_up(variable, monkeypatch, capsys):
    monkeypatch.setattr(runpy, "run_module", None)
    monkeypatch.setenv(variable, "~nosuch/x")
    assert main(["app"]) == 1
    assert "'~nosuch/x' cannot be looked up" in capsys.readouterr().err


@pytest.fixture(params=["a file", "no permission", "no search"])
def runs_folder(request, tmp_path, monkeypatch):
    """A folder of runs that cannot be read: for root, too."""
    folder = tmp_path / "runs"
    monkeypatch.setenv("STRATA_RUNS", str(folder))
    if request.param == "a file":
        folder.touch()
        return folder
    folder.mkdir()
    denied = PermissionError(errno.EACCES, "Permission denied", str(folder))
    call, method = (os, "scandir") if request.param == "no permission" else (places.Path, "stat")
    real = getattr(call, method)

    def refused(path, *arguments, **options):
        if str(path).startswith(str(folder)) and (method == "scandir" or str(path) != str(folder)):
            raise denied
        return real(path, *arguments, **options)

    monkeypatch.setattr(call, method, refused)
    return folder


@pytest.mark.parametrize(
    "words",
    [("train",), ("train", "--resume", "such"), ("plan", "such"), ("export", "such", "there"), ("score", "run:such")],
    ids=" ".join,
)
def test_a_folder_of_runs_that_cannot_be_read_is_named(runs_folder, place, refused, words):
    given = words_of(recipe(place)) if words == ("train",) else words
    (line,) = refused(*given).splitlines()
    assert str(runs_folder) in line
    assert "Permission denied" in line or "Not a directory" in line


def test_a_command_that_needs_no_run_does_not_mind(runs_folder, place, done):
    out, _ = done("score", place.model, "--sts", place.test)
    assert "on 9 pairs" in out


class Full(io.RawIOBase):
    """A disk without room, which keeps nothing for later if it is asked to."""

    def writable(self):
        return True

    def write(self, data):
        raise OSError(28, "No space left on device")


def printed(monkeypatch, stream, *words) -> object:
    """The exit code of a command that prints to a stream."""
    monkeypatch.setattr(sys, "stdout", stream)
    code = main(list(words))
    assert sys.stdout is stream
    return code


def test_what_ascii_lacks_is_written_as_in_json(place, tmp_path, monkeypatch):
    pairs = tmp_path / "größe 𝄞.csv"
    pairs.write_bytes(place.test.read_bytes())
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    assert printed(monkeypatch, out, "score", str(place.model), "--sts", str(pairs), "--json") == 0
    assert json.loads(out.buffer.getvalue().decode("ascii"))["set"] == "größe 𝄞.csv"
    assert out.errors == "strict", "it is as before"


def test_a_name_that_is_no_text_is_written_too(monkeypatch):
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(command_line, "_options", lambda _: type("Verb", (), {"verb": lambda _: print("a\udcffb ±")}))
    assert printed(monkeypatch, out) == 0
    out.flush()
    assert out.buffer.getvalue().decode() == "a\\udcffb ±\n"


@pytest.mark.parametrize("held_back", [True, False])
@pytest.mark.parametrize("words", [("methods",), ("--help",), ("--version",)])
def test_an_output_that_is_full_is_one_line_and_no_success(monkeypatch, capsys, words, held_back):
    raw = Full()
    out = io.TextIOWrapper(io.BufferedWriter(raw) if held_back else raw, encoding="utf-8", write_through=not held_back)
    assert printed(monkeypatch, out, *words) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("Standard output cannot be written to: No space left on device. Make room there")
    monkeypatch.setattr(Full, "write", lambda self, data: len(data))  # else it fails once more when it is closed


@pytest.fixture
def closed_pipe():
    """A pipe whose reader has had enough, as `| head -1`."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", encoding="utf-8") as out:
        yield out


def test_a_reader_that_has_had_enough_is_no_error(monkeypatch, capsys, closed_pipe):
    assert printed(monkeypatch, closed_pipe, "methods") == 0
    print("more", file=closed_pipe, flush=True)  # nobody reads it, and nobody complains
    assert capsys.readouterr().err == ""


def test_an_error_stays_one_though_nobody_reads_the_output(place, monkeypatch, capsys, closed_pipe):
    def verb(_):
        print("a line", flush=False)
        raise command_line.StrataError("The rest cannot be scored.")

    monkeypatch.setattr(command_line, "_options", lambda _: type("Verb", (), {"verb": verb}))
    assert printed(monkeypatch, closed_pipe) == 1
    assert capsys.readouterr().err == "The rest cannot be scored.\n"


def test_an_error_that_nobody_can_read_is_one_all_the_same(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(Full(), encoding="utf-8", write_through=True))
    assert main(["methods", "no-such"]) == 1
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["methods", "no-such"]) == 1
    monkeypatch.setattr(Full, "write", lambda self, data: len(data))


def test_what_is_wrong_with_a_file_that_nobody_expected_is_one_line(monkeypatch, capsys):
    def verb(_):
        raise PermissionError(13, "Permission denied", "/some/file")

    monkeypatch.setattr(command_line, "_options", lambda _: type("Verb", (), {"verb": verb}))
    assert main([]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("/some/file cannot be used: Permission denied. Check")


def test_a_copied_folder_has_a_command_line_without_its_version(monkeypatch, capsys, tmp_path):
    def none(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(places, "_PROJECT", tmp_path)
    monkeypatch.setattr(importlib.metadata, "version", none)
    assert main(["--help"]) == main(["--version"]) == 0
    assert "strata (of unknown version)" in capsys.readouterr().out
    monkeypatch.setattr("explorer.commands.app.app_file", lambda: Path(tmp_path / "app.py"))
    assert main(["app"]) == 1
    assert "this copy has the commands alone" in capsys.readouterr().err


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RESULTS", str(tmp_path / "results"))
    monkeypatch.delenv("STRATA_DATA", raising=False)
    save_tiny("bert", tmp_path / "tiny")
    return tmp_path


def evaluate(desk, capsys, *paths, flags=(), models=("tiny",)):
    """The means of the table by model and column, as text, and what is said about it."""
    tasks = [word for path in paths for word in ("--task", str(path))]
    assert main(["evaluate", *(str(desk / model) for model in models), *tasks, *flags, "--csv"]) == 0
    told = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(told.out)))
    return {
        name: {row["column"]: row["mean"] for row in rows if row["model"] == name}
        for name in dict.fromkeys(row["model"] for row in rows)
    }, told.err


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
    assert set(rows["tiny"]) == {"test.tsv"}
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


def test_models_of_one_name_are_each_in_an_estimate_and_json_tells_them_apart(desk, capsys):
    models = [save_tiny("bert", desk / folder / "tiny", seed=seed) for seed, folder in enumerate("ab")]
    (path,) = namesakes.write(desk, folders=("pairs",))
    assert main(["evaluate", *map(str, models), "--task", str(path), "--estimate"]) == 0
    assert capsys.readouterr().out.count("tiny, test.tsv: about") == 2
    tasks = [word for path in namesakes.write(desk) for word in ("--task", str(path))]
    assert main(["evaluate", str(desk / "tiny"), *tasks, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {one["task"] for one in found} == {"test.tsv"}
    assert len({one["data"] for one in found}) == len({one["folder"] for one in found}) == 3


def test_a_gallery_of_named_runs_is_written_and_its_first_page_is_named(done, tmp_path):
    out, _ = done("gallery", tmp_path / "site", "--run", "example", "--title", "My runs")
    assert out == f"{tmp_path / 'site' / 'index.html'}\n"
    assert '<h1 dir="auto">My runs</h1>' in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
