"""Test that trainings in other processes at once have the results of one after the other, though one is killed."""

import os
import signal
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from unittest import mock

from explorer.progress import finish
from explorer.studies.plans import execution, plan_folder
from explorer.training.loop.learner import Learner
from explorer.training.record import runs
from explorer.training.workers import outside
from tests.plan_kills import numbers
from tests.processes import process
from tests.trainings import weights


class _Fork:
    """A process that runs the command that resumes a run."""

    def __init__(self, run, dies):
        self.process = process(resumed, outside.command(run)[2:], dies)

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
    """As processes of their own, but quicker; a lost one is replaced. With the file `dies`, one kills itself."""

    pause = 0.01
    again = 1

    def __init__(self, dies):
        super().__init__()
        self.dies, self.begun, self.most = dies, [], 0

    def begin(self, run):
        self.begun.append(run.name)
        self.most = max(self.most, 1 + len(self._under_way))
        return _Fork(run, self.dies)


def resumed(words, dies):
    """The command of a worker, which is killed in the middle of its training if nobody was before."""
    from explorer.__main__ import main

    update, done = Learner.update, []

    def counted(learner):
        done.append(learner)
        if len(done) == 5:
            with suppress(FileNotFoundError):
                dies.unlink()
                os.kill(os.getpid(), signal.SIGKILL)
        update(learner)

    with Path(os.devnull).open("w") as nowhere, mock.patch.object(Learner, "update", counted):
        sys.stdout = sys.stderr = nowhere
        sys.exit(main(words))


def test_a_plan_is_the_same_if_two_are_trained_at_once_and_one_is_killed(plan, own_runs, tmp_path, monkeypatch):
    plan = replace(plan, settings=plan.settings | {"steps": 8}, grid={}, seeds=(1, 2, 3))
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "alone"))
    finish(execution.execute(plan_folder.new(plan)))
    alone = numbers(plan)
    monkeypatch.setenv("STRATA_RUNS", str(own_runs))
    dies = tmp_path / "dies"
    dies.touch()
    workers, notes = InForks(dies), []

    def two(plan):
        yield from ()
        return 2

    work = execution.execute(plan_folder.new(plan), workers.train, two)
    status = finish(work, lambda progress: notes.append(progress.note))
    assert (status.state, status.failures, workers.most) == (plan_folder.FINISHED, {}, 2)
    assert len(workers.begun) == len(set(workers.begun)) + 1 == 4, "one of them twice"
    assert any(note.startswith("The process ended with status -9. Its worker was lost") for note in notes)
    assert numbers(plan) == alone
    for run in runs.every():
        before = weights(runs.Run(tmp_path / "alone" / run.name))
        assert all((before[name] == weight).all() for name, weight in weights(run).items()), run.name
