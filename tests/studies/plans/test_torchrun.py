"""Test that a run is handed to torchrun so that it can be resumed, and that its failure is told."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from explorer.errors import RunError
from explorer.progress import finish
from explorer.studies.plans import execution
from explorer.studies.plans.plan import cells
from explorer.training.record import runs
from explorer.training.record.status import STOPPED


@pytest.fixture
def started(monkeypatch):
    """The commands that were started, and the short program that each is replaced by."""
    found, real = SimpleNamespace(commands=[], program="pass"), subprocess.Popen

    def popen(command, **options):
        found.commands.append(command)
        return real([sys.executable, "-c", found.program], **options)

    monkeypatch.setattr(execution.subprocess, "Popen", popen)
    monkeypatch.setattr(execution, "POLL_EVERY", 0.01)
    return found


def test_torchrun_resumes_the_run_with_so_many_processes(plan, started):
    run = runs.new(cells(plan)[0].recipe, "one")
    assert finish(execution.trained_by(3)(run)) == run
    (command,) = started.commands
    assert command[1:6] == ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "3"]
    assert command[6:] == ["-m", "explorer", "train", "--resume", "one", "--out", str(run.folder.parent)]
    assert run.status().state == STOPPED, "the command accepts a run that does not wait"


def test_processes_that_fail_end_in_their_last_words(plan, started):
    started.program = "import sys; sys.exit('no such device')"
    run = runs.new(cells(plan)[0].recipe, "one")
    with pytest.raises(RunError, match="status 1: no such device"):
        finish(execution.trained_by(2)(run))


def test_a_stopped_plan_ends_the_processes(plan, started):
    started.program = "import time; time.sleep(60)"
    work = execution.trained_by(2)(runs.new(cells(plan)[0].recipe, "one"))
    next(work)
    work.close()  # waits until they have ended
