"""Test that runs are trained by workers elsewhere: lost ones are replaced, all are stopped together, others awaited."""

import os
from dataclasses import replace

import pytest

from explorer.errors import RunError
from explorer.progress import Phase, Progress, finish
from explorer.training.record import runs
from explorer.training.record import status as statuses
from explorer.training.workers import outside


class Scripted:
    """A worker that does to a run what its script says, one entry a look: a state, a number of steps, or "killed"."""

    def __init__(self, run, script, events):
        self.run, self.script, self.events, self.over = run, list(script), events, ""

    def ended(self):
        if self.script and not self.over:
            entry = self.script.pop(0)
            if entry == "killed":
                self.over = "It was killed."
            elif isinstance(entry, int):
                statuses.write(self.run.folder, replace(self.run.status(), state=statuses.RUNNING, step=entry))
            else:
                statuses.write(self.run.folder, replace(self.run.status(), state=entry, error="Too hot."))
                self.over = "It ended."
        return bool(self.over)

    def ask_to_stop(self):
        self.events.append(f"{self.run.name} is asked")
        self.script = []

    def wait(self):
        self.events.append(f"{self.run.name} is awaited")
        self.over = "It was stopped."

    def trouble(self):
        return self.over


class ByScripts(outside.Outside):
    """Each worker of a run follows the next of its scripts."""

    pause = 0.0

    def __init__(self, scripts, again=0):
        super().__init__()
        self.again, self.scripts, self.events = again, {name: list(one) for name, one in scripts.items()}, []

    def begin(self, run):
        assert run.status().state == statuses.STOPPED, "the command accepts a run that does not wait"
        self.events.append(f"{run.name} begins")
        return Scripted(run, self.scripts[run.name].pop(0), self.events)


def test_a_run_that_its_worker_ends_is_returned_and_one_that_fails_is_an_error_with_its_words(run):
    assert finish(ByScripts({"one": [[3, statuses.FINISHED]]}).train(run)) == run
    assert run.status().step == 3
    assert outside.progress_of(run, 0.5) == Progress(Phase.SAVING, 3, 0, pause=0.5), "what ends is not starting"
    assert finish(ByScripts({"one": [[statuses.STOPPED]]}).train(run)) == run, "a viewer stopped it"
    with pytest.raises(RunError, match=r"^Too hot\.$"):
        finish(ByScripts({"one": [[statuses.FAILED]]}, again=3).train(run))


def test_a_lost_worker_is_replaced_so_often_without_a_new_step(run):
    dies = [["killed"], [5, "killed"], ["killed"], [6, "killed"], [5, statuses.FINISHED]]
    workers, notes = ByScripts({"one": dies}, again=2), []
    assert finish(workers.train(run), lambda progress: notes.append(progress.note)) == run
    assert workers.events == ["one begins"] * 5
    assert (
        len([one for one in notes if one.startswith("It was killed. Its worker was lost: the training goes on")]) == 4
    )
    # what comes no further than before is given up
    stuck = ByScripts({"one": [[4, "killed"]] * 9}, again=2)
    with pytest.raises(RunError, match=r"^It was killed\.$"):
        finish(stuck.train(run))
    assert stuck.events == ["one begins"] * 3


def test_when_one_is_closed_all_are_asked_to_stop_before_any_is_awaited(waiting):
    workers = ByScripts({"one": [[1, 2, 3]], "two": [[1, 2, 3]]})
    works = [workers.train(waiting(name)) for name in ("one", "two")]
    for work in works:
        next(work)
    for work in works:
        work.close()
    assert workers.events[2:5] == ["one is asked", "two is asked", "one is awaited"]
    assert workers.events[-1] == "two is awaited"


def test_a_run_that_another_process_trains_is_awaited(run, monkeypatch):
    run.put(replace(run.status(), state=statuses.WAITING))
    assert finish(outside.followed(run)) is None, "its own runs wait for nobody else"
    status = run.status()
    looks = [replace(status, pid=os.getpid() + 1, step=step) for step in (1, 2)]
    looks += [replace(status, state=statuses.FINISHED)]
    seen = []
    monkeypatch.setattr(runs.Run, "status", lambda run: looks[0])
    for progress in outside.followed(run):
        seen.append(progress.done)
        looks.pop(0)
    assert seen == [1, 2]
