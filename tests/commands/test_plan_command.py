"""Test that `plan` names what it cannot train, and leaves no run of it behind."""

import signal
from dataclasses import replace

import pytest

from explorer.studies.plans import plan as plans
from explorer.studies.plans.plan import Plan
from explorer.training.loop import resume_state as states
from explorer.training.loop.learner import Learner
from explorer.training.recipe import Recipe
from explorer.training.record import runs
from explorer.training.record.status import FINISHED, INTERRUPTED


@pytest.fixture
def plan(place, tmp_path, monkeypatch) -> Plan:
    """One row of one seed, in an empty folder of runs."""
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr("explorer.methods.self_guided.PROJECTION", 8)
    settings = {"batch_size": 4, "steps": 2, "max_length": 16}
    sets = {"dev": str(place.dev), "test": str(place.test), "precision": "float32", "device": "cpu"}
    return Plan("short", ("simcse",), (str(place.model),), ((str(place.text),),), settings, seeds=(1,), **sets)


@pytest.fixture
def file(plan, tmp_path):
    """Write a plan to a file."""

    def write(**changes):
        path = tmp_path / "plan.yaml"
        path.write_text(plans.as_yaml(replace(plan, **changes)), encoding="utf-8")
        return path

    return write


def test_a_cell_that_is_refused_before_its_first_step_is_named_and_leaves_no_run(file, said):
    code, out, err = said("plan", file(methods=("sg-opt",), grid={"first_layer": (1, 9)}))
    assert code == 1
    assert [run.name for run in runs.every()] == ["short-first-layer-1-seed-1"]
    assert "first_layer 9, seed 1: first_layer cannot be 9: this encoder has the layers 0 to 2." in err
    assert "1 of 1" in out
    assert "0 of 1" in out


def test_a_signal_saves_the_run_under_way_after_its_step_and_the_plan_goes_on(file, said, monkeypatch):
    update = Learner.update

    def signalled(self):
        signal.raise_signal(signal.SIGHUP)
        update(self)  # the first update, in which the signal comes

    monkeypatch.setattr(Learner, "update", signalled)
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it
    ended, out, err = said("plan", file())
    signal.signal(signal.SIGHUP, before)
    assert (ended, out) == (129, "")
    assert err.splitlines()[-1] == "Interrupted. Go on with python -m explorer plan short --resume."
    (run,) = runs.every()
    assert run.status().state == INTERRUPTED
    assert states.load(run.state).notes["step"] == 1
    monkeypatch.setattr(Learner, "update", update)
    assert said("plan", "short", "--resume")[0] == 0
    assert run.status().state == FINISHED


def test_a_run_that_cannot_be_read_is_named_beside_the_table(file, done):
    (runs.new(Recipe("simcse"), "damaged").folder / "status.json").write_text("{")
    out, err = done("plan", file(), "--table")
    assert out.startswith("row")
    assert err.startswith("'damaged' has a damaged status")
