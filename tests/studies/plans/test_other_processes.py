"""Test that trainings in other processes at once have the results of one after the other, though one is killed."""

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

from explorer.progress import finish
from explorer.studies.plans import execution, plan_folder
from explorer.training.record import runs
from explorer.training.workers import outside
from tests.plan_kills import numbers
from tests.processes import process
from tests.trainings import weights


class _Fork:
    """A process that runs the command that resumes a run."""

    def __init__(self, run):
        self.process = process(resumed, outside.command(run)[2:])

    def ended(self):
        return not self.process.is_alive()

    def ask_to_stop(self):
        self.process.terminate()

    def wait(self):
        self.process.join()

    def trouble(self):
        self.process.join()
        return "" if self.process.exitcode == 0 else f"The process ended with status {self.process.exitcode}."


class InForks(outside.Outside):
    """As processes of their own, but quicker; a lost one is replaced."""

    pause = 0.01
    again = 1

    def begin(self, run):
        return _Fork(run)


def resumed(words):
    """The command of a worker."""
    from explorer.__main__ import main

    with Path(os.devnull).open("w") as nowhere:
        sys.stdout = sys.stderr = nowhere
        sys.exit(main(words))


def test_a_plan_is_the_same_if_two_are_trained_at_once_and_one_is_killed(plan, own_runs, tmp_path, monkeypatch):
    plan = replace(plan, settings=plan.settings | {"steps": 12}, grid={}, seeds=(1, 2, 3))
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "alone"))
    finish(execution.execute(plan_folder.new(plan)))
    alone = numbers(plan)
    monkeypatch.setenv("STRATA_RUNS", str(own_runs))
    workers, killed, most = InForks(), [], 0

    def kill_one(progress):
        nonlocal most
        under_way = [status for run in runs.every() if (status := run.status()).state == "running"]
        most = max(most, len(under_way))
        if not killed and under_way and under_way[0].step > 2:
            killed.append(under_way[0].step)
            os.kill(under_way[0].pid, signal.SIGKILL)

    def two(plan):
        yield from ()
        return 2

    status = finish(execution.execute(plan_folder.new(plan), workers.train, two), kill_one)
    assert (status.state, status.failures, most) == (plan_folder.FINISHED, {}, 2)
    assert 2 < killed[0] < 12
    assert numbers(plan) == alone
    for run in runs.every():
        before = weights(runs.Run(tmp_path / "alone" / run.name))
        assert all((before[name] == weight).all() for name, weight in weights(run).items()), run.name
