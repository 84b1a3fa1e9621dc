"""Test that a path which cannot be looked up is refused by every command in one line, and that nothing is left."""

import runpy

import pytest

from explorer.__main__ import main

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
    ("shrink", MODEL, "--with", "@"),
    ("shrink", MODEL, "--export", "@"),
    ("embed", MODEL, "@", "--out", "there"),
    ("embed", MODEL, "sample", "--out", "@"),
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


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    for folder in ("here", "runs"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    yield
    assert [path.name for path in sorted(tmp_path.rglob("*"))] == ["here", "runs"]


@pytest.mark.parametrize("words", PLACES, ids=" ".join)
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


@pytest.mark.parametrize("variable", ["STRATA_CACHE", "STRATA_RUNS", "STRATA_RESULTS", "STRATA_DATA"])
def test_the_app_does_not_start_with_a_folder_that_cannot_be_looked_up(variable, monkeypatch, capsys):
    monkeypatch.setattr(runpy, "run_module", None)
    monkeypatch.setenv(variable, "~nosuch/x")
    assert main(["app"]) == 1
    assert "'~nosuch/x' cannot be looked up" in capsys.readouterr().err
