"""Test that each run has a process of its own, with its share of the threads and a GPU, which ends with a plan."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from explorer import fair_share
from explorer.encoding.load import hardware
from explorer.errors import RunError
from explorer.progress import finish
from explorer.training.record import status as statuses
from explorer.training.workers import own_processes
from explorer.training.workers.own_processes import OwnProcesses


@pytest.fixture
def started(monkeypatch):
    """The commands that were started, their variables, and the short program that each is replaced by."""
    found = SimpleNamespace(commands=[], variables=[], program="pass")
    real = subprocess.Popen

    def popen(command, env, **options):
        found.commands.append(command)
        found.variables.append(env)
        return real([sys.executable, "-S", "-c", found.program], env=env, **options)

    monkeypatch.setattr(own_processes.subprocess, "Popen", popen)
    monkeypatch.setattr(OwnProcesses, "pause", 0.01)
    return found


def test_the_command_resumes_the_run_alone_or_with_so_many_processes(run, started):
    assert finish(OwnProcesses(at_once=2).train(run)) == run
    assert finish(OwnProcesses(processes=3).train(run)) == run
    alone, several = started.commands
    resumes = ["-m", "explorer", "train", "--resume", "one", "--out", str(run.folder.parent)]
    assert alone == [sys.executable, *resumes]
    assert several[1:6] == ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "3"]
    assert several[6:] == resumes
    assert run.status().state == statuses.STOPPED, "the command accepts a run that does not wait"


def test_what_ends_badly_is_an_error_with_its_last_words_its_signal_or_those_of_its_run(run, started, tmp_path):
    started.program = "import sys; sys.exit('no such device')"
    with pytest.raises(RunError, match="status 1: no such device"):
        finish(OwnProcesses(processes=2).train(run))
    started.program = "import os; os.kill(os.getpid(), 9)"
    with pytest.raises(RunError, match=r"^The process was killed by SIGKILL\.$"):
        finish(OwnProcesses(2).train(run))
    work, noted = OwnProcesses(2).train(run), tmp_path / "noted"
    started.program = (
        f"import os, time\nwhile not os.path.exists({str(noted)!r}): time.sleep(0.01)\nraise SystemExit(1)"
    )
    next(work)  # it trains
    statuses.write(run.folder, replace(run.status(), state=statuses.FAILED, error="The loss is NaN."))
    noted.touch()
    with pytest.raises(RunError, match=r"^The loss is NaN\.$"):
        finish(work)


def test_a_stopped_plan_ends_all_processes(started, waiting):
    started.program = "import time; time.sleep(60)"
    workers = OwnProcesses(2)
    works = [workers.train(waiting(name)) for name in ("one", "two")]
    for work in works:
        next(work)
    begun = list(workers._begun)
    works[0].close()  # waits until it has ended
    assert begun[0]._started.returncode == -signal.SIGTERM
    works[1].close()
    assert begun[1]._started.returncode == -signal.SIGTERM


@pytest.mark.parametrize(
    ("stated", "cores", "at_once", "threads"), [("", 16, 8, "2"), ("", 2, 8, "1"), ("3", 16, 8, "3")]
)
def test_processes_share_the_threads_unless_their_number_is_stated(monkeypatch, stated, cores, at_once, threads):
    monkeypatch.setattr(fair_share, "_share", SimpleNamespace(most=cores))
    monkeypatch.setenv("OMP_NUM_THREADS", stated) if stated else monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setenv("A_VARIABLE", "kept")
    found = own_processes.environment(at_once)
    assert (found["OMP_NUM_THREADS"], found["A_VARIABLE"]) == (threads, "kept")
    assert found.get("CUDA_VISIBLE_DEVICES") == os.environ.get("CUDA_VISIBLE_DEVICES")


def test_each_process_is_given_the_gpu_with_the_fewest(started, monkeypatch, waiting):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,7")
    assert hardware.gpus() == ["5", "7"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert hardware.gpus() == ["0", "1"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,7")
    workers, works = OwnProcesses(4), []
    started.program = "import time; time.sleep(60)"
    for name in "abcd":
        works.append(workers.train(waiting(name)))
        next(works[-1])
    assert [one["CUDA_VISIBLE_DEVICES"] for one in started.variables] == ["5", "7", "5", "7"]
    workers._begun[1]._started.kill()
    workers._begun[1]._started.wait()
    works.append(workers.train(waiting("e")))
    next(works[-1])
    assert started.variables[-1]["CUDA_VISIBLE_DEVICES"] == "7", "where one has ended"
    for work in works:
        work.close()
