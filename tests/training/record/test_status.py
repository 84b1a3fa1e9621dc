"""Test that a viewer reads the right status, whatever happened to the training process or the system's clock."""

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from explorer import run_folder, work_folder
from explorer.data.sources import texts
from explorer.errors import RunBusy
from explorer.training import running
from explorer.training.loop.measured_facts import SeedScores
from explorer.training.recipe import Recipe
from explorer.training.record import runs
from explorer.training.record import status as statuses
from explorer.training.record.run_facts import RunFacts
from explorer.training.record.runs import Run
from explorer.training.record.status import (
    FAILED,
    FINISHED,
    INTERRUPTED,
    LIVE,
    RUNNING,
    STOPPED,
    WAITING,
    Status,
)
from tests.processes import process
from tests.trainings import recipe, train


@pytest.fixture
def run(tmp_path) -> Run:
    return runs.new(Recipe("sg-opt"), "one", tmp_path)


@pytest.fixture
def trained(place, tmp_path) -> Run:
    return runs.new(recipe(place, "simcse"), "one", tmp_path)


def hold(folder: Path) -> None:
    """What a process does that trains, but for the training."""
    with Run(folder).held():
        statuses.write(folder, Status(state=RUNNING))
        (folder / "held").touch()
        time.sleep(60)


def wait_in_queue(folder: Path) -> None:
    statuses.write(folder, Status(state=WAITING))
    (folder / "held").touch()
    time.sleep(60)


def begun(do, run: Run):
    """A process that does it, once it is at it."""
    started = process(do, run.folder)
    while not (run.folder / "held").exists():
        assert started.is_alive()
        time.sleep(0.005)
    return started


def end(started) -> None:
    started.kill()
    started.join()


def rewrite(run: Run, **changes) -> None:
    """Change the status without signing it."""
    path = run.folder / run_folder.STATUS
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(("do", "state"), [(hold, RUNNING), (wait_in_queue, WAITING)])
def test_a_run_is_live_while_its_process_is_and_interrupted_when_it_was_killed(run, do, state):
    trainer = begun(do, run)
    status = run.status()
    assert (status.state, status.live, status.pid) == (state, True, trainer.pid)
    assert status.pid != os.getpid()
    end(trainer)
    assert run.status().state == INTERRUPTED
    assert not run.status().live
    assert json.loads((run.folder / run_folder.STATUS).read_text())["state"] == state, "nobody wrote it: it is told"
    runs.restarted(run)
    assert run.status().state == WAITING


def test_a_run_that_is_trained_is_refused_to_a_second_process_until_the_first_is_gone(run, monkeypatch):
    trainer = begun(hold, run)
    waited = []
    monkeypatch.setattr(work_folder.time, "sleep", waited.append)
    with (
        pytest.raises(RunBusy, match=r"'one' is being trained by another process\. Wait for it, or stop it"),
        run.held(),
    ):
        pytest.fail("it was held twice")
    assert 0.5 <= sum(waited) <= 2, "a viewer that looks at that moment is waited for"
    for way in (run.delete, lambda: run.renamed("two")):
        with pytest.raises(RunBusy, match="'one' is running and cannot be"):
            way()
    monkeypatch.undo()
    end(trainer)
    with run.held():
        assert work_folder.is_held(run.folder)
    assert not work_folder.is_held(run.folder)


def test_a_run_is_refused_to_a_second_thread_of_its_process_and_looking_takes_it_from_nobody(run, monkeypatch):
    monkeypatch.setattr(work_folder.time, "sleep", lambda seconds: None)
    with run.held(), pytest.raises(RunBusy, match="being trained"), run.held():
        pytest.fail("it was held twice")
    with run.held():
        assert all(work_folder.is_held(run.folder) for _ in range(3))
    assert not work_folder.is_held(run.folder)
    assert not work_folder.is_held(run.folder / "missing")
    with run.held():
        pass


def test_a_process_number_that_came_round_again_is_another_process(run):
    assert run.status().state == WAITING
    boot, _, ticks = run.status().born.partition(" ")
    rewrite(run, born=f"{boot} {int(ticks) - 1}")
    assert run.status().state == INTERRUPTED


def test_a_process_that_ended_and_was_not_buried_is_gone(run):
    child = os.fork()
    if not child:
        statuses.write(run.folder, Status(state=WAITING))
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    status = run.status()
    assert status.pid == child
    assert Path(f"/proc/{child}/stat").read_text().split()[2] == "Z", "it is still in the list of processes"
    assert status.state == INTERRUPTED
    os.waitpid(child, 0)


@pytest.mark.parametrize("state", LIVE)
def test_a_process_on_another_machine_lives_as_long_as_it_writes(run, state):
    rewrite(run, state=state, host="elsewhere", pid=1, born="", beat=time.time())
    assert run.status().state == state
    statuses._last_beats.clear()  # as another process sees it
    rewrite(run, beat=time.time() - 2 * statuses.SILENCE)
    assert run.status().state == INTERRUPTED


@pytest.mark.parametrize("state", [FINISHED, STOPPED, FAILED])
def test_what_has_ended_stays_what_it_is_when_its_process_is_gone(run, state):
    rewrite(run, state=state, pid=2**22 + 1, born="")
    assert run.status().state == state
    assert not run.status().live


@pytest.mark.parametrize("content", ["", "{", "[]", "null", "{}", '{"results": null}', '{"state": 1, "verdict": 2}'])
def test_a_status_that_cannot_be_read_is_that_of_a_run_broken_off(run, content):
    (run.folder / run_folder.STATUS).write_text(content)
    assert run.status().state == INTERRUPTED
    (run.folder / run_folder.STATUS).unlink()
    assert run.status().state == INTERRUPTED


def test_a_status_comes_back_as_it_was_written(run):
    status = Status(
        state=STOPPED,
        step=3,
        best=70.25,
        results=(SeedScores(1, best_step=4),),
        facts=RunFacts("sg", data=texts(["ü"]), rows=3),
    )
    written = statuses.write(run.folder, status)
    assert statuses.read(run.folder) == written
    signature = {"pid": os.getpid(), "born": written.born, "host": written.host, "beat": written.beat}
    assert written == replace(status, **signature)
    assert abs(written.beat - time.time()) < 60


def test_what_is_left_is_told_from_the_pace_of_this_process_over_all_seeds():
    status = Status(step=30, total=100, since_step=10, since=1000.0, seconds=1040.0, seeds=3, seed_number=2)
    assert status.steps_a_second == 20 / 40
    assert status.seconds_left == (70 + 100) / 0.5
    for unknown in (replace(status, step=10), replace(status, since=1040.0), replace(status, since=None)):
        assert unknown.steps_a_second is None
        assert unknown.seconds_left is None
    assert replace(status, total=0).seconds_left is None


YEAR = 34_560_000.0  # seconds, more than one


class Clock:
    """The clock of the system, which a test can move, and the monotonic one, which goes on with it or alone."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.moved = self.passed = 0.0
        wall, monotonic = time.time, time.monotonic
        monkeypatch.setattr(time, "time", lambda: wall() + self.moved + self.passed)
        monkeypatch.setattr(time, "monotonic", lambda: monotonic() + self.passed)


@pytest.fixture
def clock(monkeypatch) -> Clock:
    return Clock(monkeypatch)


def test_the_seconds_and_the_pace_of_a_run_do_not_see_a_jump(trained, clock):
    began, paces = time.monotonic(), []

    def tell(progress):
        if progress.stage == "training":
            clock.moved += YEAR if progress.done % 2 else -2 * YEAR
            statuses.write(trained.folder, trained.status())  # as if half a second had passed
            paces.append((trained.status().steps_a_second, trained.status().seconds_left))

    train(trained, tell)
    assert 0 < trained.status().seconds <= time.monotonic() - began
    assert all(pace is None or 0 < pace < 10**6 for pace, _ in paces)
    assert all(left is None or 0 <= left < 3600 for _, left in paces)


def test_a_resumed_run_adds_the_seconds_of_its_sessions(trained, clock):
    work = running.train(trained)
    for progress in work:
        if (progress.stage, progress.done) == ("training", 2):
            break
    clock.passed += 300
    work.close()
    first = trained.status().seconds
    assert 300 <= first < 360
    clock.passed, clock.moved = 0.0, -YEAR  # a monotonic clock starts anew with the machine
    runs.restarted(trained)
    train(trained)
    assert first < trained.status().seconds < first + 60


def test_what_is_left_is_told_from_the_work_of_this_process_alone(trained, clock):
    statuses.write(trained.folder, Status(seconds=5000.0))
    seen = {}

    def tell(progress):
        if progress.stage == "training" and progress.done not in seen:
            clock.passed += 2
            seen[progress.done] = trained.status()

    train(trained, tell)
    status = seen[5]
    assert status.seconds > 5000
    assert 0.2 < status.steps_a_second < 0.7, "not that of 5,000 s"


def another_machine(run, **changes) -> None:
    rewrite(run, **({"host": "elsewhere", "state": RUNNING} | changes))


@pytest.mark.parametrize("jump", [86_400.0, -86_400.0])
def test_a_run_on_another_machine_lives_as_long_as_it_writes_whatever_the_clocks_say(run, clock, jump):
    beat = time.time()
    another_machine(run, beat=beat)
    assert run.status().state == RUNNING
    clock.moved = jump
    for number in range(1, 4):  # it goes on writing, by a clock of its own
        assert run.status().state == RUNNING
        clock.passed += 0.8 * statuses.SILENCE
        another_machine(run, beat=beat + number)
        assert run.status().state == RUNNING
    clock.passed += 1.1 * statuses.SILENCE
    assert run.status().state == INTERRUPTED, "its machine was switched off"
    another_machine(run, beat=beat + 4)
    assert run.status().state == RUNNING, "it was only slow"


@pytest.mark.parametrize("off", [86_400.0, -86_400.0])
def test_a_run_that_is_silent_when_it_is_first_seen_is_interrupted_until_it_writes(run, off):
    another_machine(run, beat=time.time() + off)
    assert run.status().state == INTERRUPTED
    another_machine(run, beat=time.time() + off + 1)
    assert run.status().state == RUNNING


def test_a_run_that_waits_on_this_machine_stays_waiting(run, monkeypatch):
    booted = psutil.boot_time()
    monkeypatch.setattr(psutil._psplatform, "boot_time", lambda: booted + 5)  # what the system says after a jump
    assert run.status().state == WAITING


@pytest.mark.parametrize("jump", [86_400.0, -86_400.0])
def test_a_run_that_is_being_made_is_no_leftover_and_an_old_one_is(place, tmp_path, clock, monkeypatch, jump):
    (tmp_path / ".123-456.part").mkdir()
    write = statuses.write

    def collect_meanwhile(folder, status):
        clock.moved = jump
        runs.collect(tmp_path)
        return write(folder, status)

    monkeypatch.setattr(statuses, "write", collect_meanwhile)
    assert runs.new(recipe(place), "one", tmp_path).status().state == WAITING
    assert [path.name for path in tmp_path.iterdir()] == ["one"]
