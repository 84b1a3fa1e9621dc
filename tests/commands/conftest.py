"""Shared by the tests of the command line: a folder of runs, and a place with a model, text and pairs."""

import json

import pytest

from explorer.__main__ import main
from tests.tiny_models import save_tiny
from tests.trainings import Place, few_probes, few_probes_shown, furnish, in_no_time, loaded_once


@pytest.fixture(autouse=True, scope="module")
def quick():
    with in_no_time(), few_probes(), few_probes_shown(), loaded_once():
        yield


@pytest.fixture(autouse=True, scope="module")
def runs_of_the_tests(place):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STRATA_RUNS", str(place.runs))
        yield place.runs


@pytest.fixture(scope="session")
def place(tmp_path_factory) -> Place:
    return furnish(tmp_path_factory.mktemp("place"))


@pytest.fixture(scope="session")
def other(tmp_path_factory):
    """An encoder with other weights than that of the place."""
    return save_tiny("bert", tmp_path_factory.mktemp("other") / "model", seed=9)


@pytest.fixture
def said(capsys):
    """Say something to the command line: what it ends with, and what it says on standard output and on the other."""

    def say(*words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        try:
            code = main([str(word) for word in words])
        except SystemExit as end:  # with the code that a command chooses
            code = end.code
        told = capsys.readouterr()
        return code, told.out, told.err

    return say


@pytest.fixture
def refused(said):
    """Say something that is refused, with nothing on standard output; what is said of it."""

    def refuse(*words: object) -> str:
        code, out, err = said(*words)
        assert (code, out) == (1, "")
        return err

    return refuse


@pytest.fixture
def done(said):
    """Say something that succeeds: what is said on standard output and on the other."""

    def do(*words: object) -> tuple[str, str]:
        code, out, err = said(*words)
        assert code == 0, err
        return out, err

    return do


@pytest.fixture
def answered(done):
    """The JSON that a command answers with."""
    return lambda *words: json.loads(done(*words)[0])
