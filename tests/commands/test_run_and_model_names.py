"""Test that every argument for a model takes a run as `run:NAME`, and every argument for a run each of its names."""

import argparse
import itertools
import shutil

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from explorer.__main__ import COMMANDS, _parser
from explorer.encoding.locate import model_names
from explorer.training.record import status as statuses
from tests.tiny_models import SENTENCES
from tests.trainings import new, train

MODELS, RUNS = ("MODEL", "A", "B"), ("RUN",)
# a command line for each argument that takes a model or a run, which is written as {}
LINES = {
    ("score", "MODEL"): "score {} --sts {test} --json",
    ("compare", "A"): "compare {} {model} --sts {test} --json",
    ("compare", "B"): "compare {model} {} --sts {test} --json",
    ("evaluate", "MODEL"): "evaluate {} --task {test} --json",
    ("search", "--model"): "search words --corpus {text} --model {} --json",
    ("explain", "A"): "explain one two {} --json",
    ("explain", "B"): "explain one two {model} {} --json",
    ("mine", "--model"): "mine {triplets} --model {} --json",
    ("similarity", "A"): "similarity {} --text {text} --json",
    ("similarity", "B"): "similarity {model} {} --text {text} --json",
    ("shrink", "MODEL"): "shrink {} --on {test} --layers 1 --poolings mean --dimensions 4 --stored float32 --json",
    ("shrink", "--with"): "shrink {model} --on {test} --layers 1 --poolings mean --dimensions 4 --stored float32 "
    "--with {} --json",
    ("static", "MODEL"): "static {} {out} --dimensions 4",
    ("verify", "MODEL"): "verify {} {served} --text {text} --json",
    ("embed", "MODEL"): "embed {} {text} --out {out}",
    ("train", "--model"): "train simcse --model {} --data {text} --dev {dev} --test {test} --elsewhere none "
    "--steps 2 --set batch_size=4 --out {out}",
    ("train", "--resume"): "train --resume {}",
    ("blend", "RUN"): "blend {} --points 2 --json",
    ("blend", "--base"): "blend {model} --base {} --dev {dev} --test {test} --points 2 --json",
    ("advise", "--model"): "advise {long} --model {} --method simcse --estimate",
    ("reproduce", "--model"): "reproduce sg-bert-5 --model {} --data {text} --dev {dev} --test {test} --table --csv",
    ("export", "RUN"): "export {} {out}",
    ("gallery", "--run"): "gallery {out} --run {}",
    ("backtranslate", "--there"): "backtranslate {text} --there {} --back {model} --out {out}.tsv",
    ("backtranslate", "--back"): "backtranslate {text} --there {model} --back {} --out {out}.tsv",
    ("generator", "--model"): "generator --model {} --data {long} --out {out} --steps 1",
}  # fmt: skip
# an encoder is found, and is no translator
REFUSED = {"backtranslate": "is not a translation model"}


def arguments():
    """Every argument of every command that takes a model or a run, by what it is called."""
    every = next(one for one in _parser([*COMMANDS])._actions if isinstance(one, argparse._SubParsersAction)).choices
    for verb, parser in every.items():
        for action in parser._actions:
            if action.metavar in (*MODELS, *RUNS):
                named = action.option_strings[0] if action.option_strings else action.metavar
                yield (verb, named), action.metavar in RUNS


def test_every_argument_for_a_model_or_a_run_is_tried():
    assert {argument for argument, _ in arguments()} == set(LINES)


@pytest.fixture(scope="module")
def run(place):
    return train(new(place, "simcse", "mine"))


@pytest.fixture
def line(place, run, tmp_path):
    """The words of a command with what stands in it; no two write to one folder."""
    long, numbers = tmp_path / "long.txt", itertools.count()
    long.write_text("\n".join(f"{number} {one}" for number in range(20) for one in SENTENCES), encoding="utf-8")

    def of(text, source):
        paths = {name: getattr(place, name) for name in ("model", "text", "triplets", "dev", "test")}
        more = {"out": tmp_path / f"out-{next(numbers)}", "long": long, "served": tmp_path / "served.npy"}
        if "{served}" in text:
            texts = place.text.read_text(encoding="utf-8").splitlines()
            np.save(more["served"], SentenceTransformer(str(run.model), device="cpu").encode(texts))
        return [word.format(source, **paths, **more) for word in text.split()]

    return of


@pytest.mark.parametrize("argument", LINES, ids=" ".join)
def test_a_run_is_given_by_its_name_after_run(argument, line, said, run):
    source = "run:mine"
    if argument == ("train", "--resume"):
        source = "run:stopped"
        stopped = shutil.copytree(run.folder, run.folder.with_name("stopped"))
        shutil.rmtree(stopped / "model")
        statuses.write(stopped, statuses.Status(state=statuses.STOPPED))
    code, out, err = said(*line(LINES[argument], source))
    if argument[0] in REFUSED:
        assert (code, out) == (1, "")
        assert REFUSED[argument[0]] in err
    else:
        assert (code, bool(out)) == (0, "--estimate" not in LINES[argument]), err


@pytest.mark.parametrize("given", ["name", "folder", "model", "relative folder"])
def test_a_run_is_given_by_its_name_its_folder_or_that_of_its_model(given, run, done, monkeypatch, tmp_path):
    monkeypatch.chdir(run.folder.parent)
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path if given == "relative folder" else run.folder.parent))
    source = {"name": "mine", "folder": run.folder, "model": run.model, "relative folder": "mine"}[given]
    done("export", source, tmp_path / "copy")
    assert model_names.of_folder("copy", tmp_path / "copy").digest == model_names.of_folder("run", run.model).digest


def test_a_checkpoint_is_no_run_and_a_run_that_is_gone_is_named(refused, tmp_path):
    assert "'run:mine@step-2' is a checkpoint; a run is needed. Give 'run:mine'." in refused(
        "export", "run:mine@step-2", tmp_path / "copy"
    )
    for source in ("gone", "run:gone", tmp_path / "gone"):
        assert "There is no run 'gone'" in refused("export", source, tmp_path / "copy")


def test_two_models_of_which_the_first_is_no_run_are_blended_with_the_first_as_base(place, run, answered):
    on = ("--dev", place.dev, "--test", place.test, "--points", "2", "--json")
    expected = answered("blend", run.model, "--base", place.model, *on)
    assert expected["base"] == "tiny"
    for second in ("run:mine", "mine", run.folder, run.model):
        found = answered("blend", place.model, second, *on)
        assert found == expected
    assert answered("blend", "mine", "--base", place.model, *on) == expected


@pytest.mark.parametrize(
    "given",
    ["{model}", "run:mine {model}", "{model} {model} run:mine", "nothing", "nothing run:mine", "run:mine@step-2"],
)
def test_what_cannot_be_blended_is_refused_with_what_can(given, place, refused):
    told = refused("blend", *given.format(model=place.model).split())
    assert "Give runs (run:NAME, a name, or a folder); or two models" in told
