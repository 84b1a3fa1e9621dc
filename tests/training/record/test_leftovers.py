"""Test that what killed processes left in a folder of runs is deleted, and nothing else."""

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from explorer.errors import NotWritable
from explorer.training.recipe import Recipe
from explorer.training.record import runs
from explorer.training.record import status as statuses
from explorer.training.record.runs import Run
from explorer.training.record.status import FINISHED, STOPPED, Status
from tests.disk_calls import Killed, ReadOnlyDisk, watched
from tests.kill_points import forked
from tests.processes import process

RECIPE = Recipe("sg-opt", "some/Tiny model", ("a.csv",))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def idle(name: str = "", state: str = STOPPED, folder: Path | None = None) -> Run:
    """A run that nobody trains, with a model and a state."""
    run = runs.new(RECIPE, name, folder)
    statuses.write(run.folder, Status(state=state))
    for inside in (run.model, run.state / "save-1"):
        inside.mkdir(parents=True)
        (inside / "tensors").write_bytes(b"weights")
    return run


def test_the_state_of_a_finished_run_is_deleted_and_no_other():
    finished, stopped = idle("finished", FINISHED), idle("stopped", STOPPED)
    with finished.held():
        runs.collect()
        assert finished.state.exists(), "a process works on it"
    runs.collect()
    assert not finished.state.exists()
    assert stopped.state.exists()


def test_the_state_of_a_finished_run_in_another_folder_is_deleted(tmp_path):
    finished = idle("finished", FINISHED, tmp_path / "other")
    runs.collect(tmp_path / "other")
    assert not finished.state.exists()


def test_half_made_and_half_deleted_runs_are_deleted_when_they_are_old(folder, monkeypatch):
    names = (".123-456.part", ".deleted-run-7", ".deleted-a-b-7")
    others = (".mine", ".mine.part", "run.part", ".deleted")
    for name in (*names, *others):
        (folder / name / "inside").mkdir(parents=True)
    runs.collect()
    assert {path.name for path in folder.iterdir()} == {*names, *others}, "another process may be at work"
    monkeypatch.setattr(runs, "UNTOUCHED", 0.0)
    runs.collect()
    assert {path.name for path in folder.iterdir()} == set(others)


def kill_deletions(folder: Path, told: Path) -> None:
    """Kill a process at every call of a deletion; write what was left each time, before and after collecting."""
    runs.UNTOUCHED = 0.0
    os.environ["STRATA_RUNS"] = str(folder)
    found, code = [], -signal.SIGKILL
    while code == -signal.SIGKILL:
        run = idle("run", folder=folder)
        code, _ = forked(Killed(folder, len(found)), run.delete)
        listed = [(one.name, sorted(path.name for path in one.folder.iterdir())) for one in runs.every()]
        runs.collect()
        found.append((code, listed, sorted(path.name for path in folder.iterdir())))
        shutil.rmtree(run.folder, ignore_errors=True)
    told.write_text(json.dumps(found))


def test_a_deletion_that_is_killed_at_any_call_leaves_the_whole_run_or_nothing(folder, tmp_path):
    process(kill_deletions, folder, tmp_path / "told").join()
    found = json.loads((tmp_path / "told").read_text())
    whole = ["run", ["model", "recipe.yaml", "state", "status.json"]]
    assert [code for code, _, _ in found] == [-signal.SIGKILL] * (len(found) - 1) + [0]
    assert len(found) > 8, "the premise: there are many calls"
    for _, listed, left in found:
        assert (listed, left) in (([whole], ["run"]), ([], []))


def test_a_run_is_deleted_though_an_earlier_one_of_its_name_was_half_deleted(folder, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(runs.shutil, "rmtree", lambda gone, **_: None)
        idle("run").delete()
    idle("run").delete()
    assert runs.every() == []


@pytest.mark.parametrize("at", range(8))
def test_a_deletion_on_a_disk_that_becomes_read_only_says_what_is_left(folder, at):
    run = idle("run")
    with watched(ReadOnlyDisk(folder, at)), pytest.raises(NotWritable, match="Read-only file system") as refused:
        run.delete()
    assert ("is deleted, but a part of it is left" in str(refused.value)) == (at > 0)
    assert [one.name for one in runs.every()] == (["run"] if at == 0 else [])
