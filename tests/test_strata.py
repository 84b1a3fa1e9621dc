"""Test the package `strata`: what importing it loads, its names, and another package in the place of its code."""

import ast
import inspect
import io
import math
import os
import signal
import subprocess
import sys
import textwrap
from itertools import count
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import strata
from explorer import errors
from explorer.commands.parts import output
from explorer.progress import Progress
from explorer.training.loop.learner import Learner
from tests import trainings
from tests.live import ROOT
from tests.tiny_models import save_tiny

SLOW = ("torch", "transformers", "streamlit", "numpy", "pandas", "scipy", "sklearn", "plotly")
SOURCE = ast.parse((ROOT / "strata" / "__init__.py").read_text(encoding="utf-8"))


def python(code: str, cwd: Path, *first: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a folder, with other folders before the project on the path."""
    path = os.pathsep.join(map(str, (*first, ROOT)))
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(command, cwd=cwd, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A tiny model, as every function takes it."""
    return strata.load(save_tiny("bert", tmp_path_factory.mktemp("model")))


def test_importing_it_loads_no_library():
    code = f"import strata, sys; strata.errors.BadChoice; dir(strata); print([x for x in {SLOW!r} if x in sys.modules])"
    assert python(code, ROOT).stdout == "[]\n"


def test_all_names_are_there_and_those_that_a_type_checker_sees_are_the_same():
    typed = next(node for node in SOURCE.body if isinstance(node, ast.If))
    imported = {
        alias.name: node.module for node in typed.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert {*imported, "__version__"} == {*strata.__all__} == {*dir(strata)}
    for name, module in imported.items():
        value = getattr(strata, name)
        assert name == "errors" or value.__module__ == module
    with pytest.raises(AttributeError, match=r"no attribute 'embed'. It has: .*encode"):
        strata.embed  # noqa: B018


def test_every_error_is_there_to_be_caught():
    known = {name for name, one in vars(errors).items() if inspect.isclass(one) and issubclass(one, Exception)}
    assert known <= {*vars(strata.errors)}
    with pytest.raises(strata.errors.StrataError, match=r"no setting 'temprature'\. Did you mean 'temperature'"):
        strata.train(method="simcse", temprature=1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda model: strata.encode(model, ["a", None]),
            r"sentences\[1\] is None \(NoneType\), and only text \(str\)",
        ),
        (lambda model: strata.encode(model, pd.Series(["a", "b", math.nan])), r"sentences\[2\] is nan \(float\)"),
        (lambda model: strata.encode(model, [1]), r"sentences\[0\] is 1 \(int\)"),
        (
            lambda model: strata.encode(model, pd.DataFrame({"text": ["a"]})),
            "sentences is of type DataFrame, not a list",
        ),
        (lambda model: strata.encode(model, 3), "sentences is of type int, not a list of texts"),
        (lambda model: strata.explain(model, "a", None), r"second is None \(NoneType\)"),
        (lambda model: strata.verify(model, np.eye(2), ["a", 1.5]), r"sentences\[1\] is 1\.5 \(float\)"),
        (lambda _: strata.load(3), r"3 \(int\) is no model\. Give a name such as 'all-MiniLM-L6-v2', a folder"),
        (lambda _: strata.evaluate(3), r"3 \(int\) is no model"),
        (lambda _: strata.blend(3), r"3 \(int\) is no model"),
        (lambda _: strata.train(3), r"3 \(int\) is no model"),
    ],
)
def test_a_value_of_a_wrong_type_is_named_with_its_place(tiny, call, message):
    with pytest.raises(strata.errors.StrataError, match=f"^{message}"):
        call(tiny)


def test_a_column_is_encoded_as_a_list_is(tiny):
    listed = strata.encode(tiny, ["a man", "a dog"])
    for column in (pd.Series(["a man", "a dog"], index=[7, 3]), np.array(["a man", "a dog"]), iter(("a man", "a dog"))):
        assert np.array_equal(strata.encode(tiny, column), listed)


@pytest.mark.parametrize("where", ["here", "installed", "imported"])
def test_another_package_of_the_name_is_named_with_what_to_do(tmp_path, where):
    folder = tmp_path / ("site-packages" if where == "installed" else "project")
    (folder / "explorer").mkdir(parents=True)
    (folder / "explorer" / "__init__.py").write_text("raise SystemExit('it is not to be run')" * (where != "imported"))
    first = [folder] if where == "installed" else []
    begin = "import explorer; " * (where == "imported")
    ended = python(f"{begin}import strata", folder if not first else tmp_path, *first)
    line = ended.stderr.splitlines()[-1]
    assert line.startswith(f"ImportError: {folder / 'explorer'} has taken the name 'explorer'"), ended.stderr
    assert f"sys.path.insert(0, {str(ROOT)!r})" in line
    if where != "imported":
        begin = f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
        assert python(f"{begin}import strata; print(strata.__version__)", folder, *first).returncode == 0


def test_a_folder_of_the_name_that_is_no_package_is_in_nobodys_way(tmp_path):
    (tmp_path / "explorer").mkdir()
    assert python("import strata; print(strata.errors.BadChoice)", tmp_path).stdout


def test_progress_in_a_notebook_takes_the_place_of_the_line_before(monkeypatch):
    """Of the codes of a terminal a cell knows the carriage return alone."""
    cell = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
    monkeypatch.setattr(sys, "stderr", cell)
    with output.ProgressLine() as line:
        for text in ("encoding texts", "saving"):
            line.shown = 0.0  # as if time had passed
            line.tell(Progress(text, 1, 2))
        seen = cell.getvalue().rpartition("\r")[2]
        assert seen.rstrip() == "saving 1 of 2"
        assert len(seen) == len("encoding texts 1 of 2")
    assert "\033" not in cell.getvalue()
    *_, wiped, left = cell.getvalue().split("\r")
    assert (wiped.strip(), left) == ("", "")


def test_an_interrupt_stops_a_training_between_two_steps_and_it_is_resumed(tmp_path, monkeypatch, capsys):
    place = trainings.furnish(tmp_path)
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    given = {"dev": place.dev, "test": place.test, "elsewhere": "none", "steps": 8, "batch_size": 4, "keep_base": False}

    steps = count(1)

    def then_interrupted(learner: Learner) -> None:
        update(learner)
        if next(steps) == 2:
            os.kill(os.getpid(), signal.SIGINT)

    with trainings.in_no_time(), trainings.few_probes():
        whole = strata.train(place.model, place.text, "simcse", name="whole", **given)
        whole.folder.rename(tmp_path / "whole")
        update = Learner.update
        monkeypatch.setattr(Learner, "update", then_interrupted)
        with pytest.raises(KeyboardInterrupt):
            strata.train(place.model, place.text, "simcse", name="cut", **given)
        cut = strata.Run.open("cut")
        assert cut.state == "interrupted"
        assert "strata.Run.open('cut').resume()" in capsys.readouterr().err
        assert cut.resume().state == "finished"
    frames = [one.to_frame()["dev"].tolist() for one in (cut, strata.Run(tmp_path / "whole"))]
    assert frames[0] == frames[1]
