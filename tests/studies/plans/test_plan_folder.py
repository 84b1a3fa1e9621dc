"""Test that a plan's folder is made and deleted as a whole or not at all, whenever its process is killed."""

import json
import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from explorer import work_folder
from explorer.errors import BadChoice, RunBusy, RunGone
from explorer.studies.plans import plan_folder
from explorer.studies.plans.plan import Plan
from tests.disk_calls import Killed
from tests.kill_points import forked
from tests.processes import process

PLAN = Plan("mine", ("simcse",), ("some/Tiny model",), (("a.csv",),))


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    return tmp_path / "runs"


def ended() -> plan_folder.PlanFolder:
    folder = plan_folder.new(PLAN)
    folder.put(replace(folder.status(), state=plan_folder.STOPPED))
    return folder


def kill(what: str, runs: Path, told: Path) -> None:
    """Kill a process at every call of making or deleting a plan; write what each left, listed and on the disk."""
    work_folder.UNTOUCHED = 0.0
    os.environ["STRATA_RUNS"] = str(runs)
    home, found, code = plan_folder.plans_folder(), [], -signal.SIGKILL
    while code == -signal.SIGKILL:
        act = ended().delete if what == "delete" else lambda: plan_folder.new(PLAN)
        code, _ = forked(Killed(runs, len(found)), act)
        listed = [(one.name, one.status().id != "", one.plan().methods) for one in plan_folder.every()]
        work_folder.collect(home)
        found.append((code, listed, sorted(path.name for path in home.glob("*"))))
        shutil.rmtree(home / "mine", ignore_errors=True)
    told.write_text(json.dumps(found))


@pytest.mark.parametrize("what", ["make", "delete"])
def test_a_plan_whose_process_is_killed_at_any_call_is_whole_or_not_there(home, tmp_path, what):
    process(kill, what, home, tmp_path / "told").join()
    found = json.loads((tmp_path / "told").read_text())
    assert [code for code, _, _ in found] == [-signal.SIGKILL] * (len(found) - 1) + [0]
    assert len(found) > 3, "the premise: there are many calls"
    whole = [["mine", True, ["simcse"]]], ["mine"]
    for _, listed, left in found:
        assert (listed, left) in (whole, ([], []))


def test_what_is_under_way_taken_or_gone_is_refused(home):
    folder = plan_folder.new(PLAN)
    with pytest.raises(RunBusy, match=r"'mine' is waiting and cannot be deleted\. Stop it first"):
        folder.delete()
    with pytest.raises(BadChoice, match="There is a plan 'mine' already"):
        plan_folder.new(PLAN)
    shutil.rmtree(folder.folder)
    for act in (folder.request_stop, folder.delete, lambda: folder.put(folder.status())):
        with pytest.raises(RunGone, match=r"The plan 'mine' is no longer there: .* list of plans"):
            act()
    assert not list(plan_folder.plans_folder().iterdir())
