"""Test that a jump of the system's clock changes no duration, no state of a run, and deletes nothing in use."""

import json
import time

import psutil
import pytest

from explorer import run_folder
from explorer.training import running
from explorer.training.record import runs
from explorer.training.record import status as statuses
from explorer.training.record.status import INTERRUPTED, RUNNING, WAITING, Status
from tests.trainings import recipe, train

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


def test_the_seconds_and_the_pace_of_a_run_do_not_see_a_jump(place, tmp_path, clock):
    run = runs.new(recipe(place, "simcse"), "one", tmp_path)
    began, paces = time.monotonic(), []

    def tell(progress):
        if progress.stage == "training":
            clock.moved += YEAR if progress.done % 2 else -2 * YEAR
            statuses.write(run.folder, run.status())  # as if half a second had passed
            paces.append((run.status().steps_a_second, run.status().seconds_left))

    train(run, tell)
    assert 0 < run.status().seconds <= time.monotonic() - began
    assert all(pace is None or 0 < pace < 10**6 for pace, _ in paces)
    assert all(left is None or 0 <= left < 3600 for _, left in paces)


def test_a_resumed_run_adds_the_seconds_of_its_sessions(place, tmp_path, clock):
    run = runs.new(recipe(place, "simcse"), "one", tmp_path)
    work = running.train(run)
    for progress in work:
        if (progress.stage, progress.done) == ("training", 2):
            break
    clock.passed += 300
    work.close()
    first = run.status().seconds
    assert 300 <= first < 360
    clock.passed, clock.moved = 0.0, -YEAR  # a monotonic clock starts anew with the machine
    runs.restarted(run)
    train(run)
    assert first < run.status().seconds < first + 60


def test_what_is_left_is_told_from_the_work_of_this_process_alone(place, tmp_path, clock):
    run = runs.new(recipe(place, "simcse"), "one", tmp_path)
    statuses.write(run.folder, Status(seconds=5000.0))
    seen = {}

    def tell(progress):
        if progress.stage == "training" and progress.done not in seen:
            clock.passed += 2
            seen[progress.done] = run.status()

    train(run, tell)
    status = seen[5]
    assert status.seconds > 5000
    assert 0.2 < status.steps_a_second < 0.7, "not that of 5,000 s"


def another_machine(run, **changes) -> None:
    path = run.folder / run_folder.STATUS
    path.write_text(json.dumps(json.loads(path.read_text()) | {"host": "elsewhere", "state": RUNNING} | changes))


@pytest.mark.parametrize("jump", [86_400.0, -86_400.0])
def test_a_run_on_another_machine_lives_as_long_as_it_writes_whatever_the_clocks_say(place, tmp_path, clock, jump):
    run = runs.new(recipe(place), "one", tmp_path)
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
def test_a_run_that_is_silent_when_it_is_first_seen_is_interrupted_until_it_writes(place, tmp_path, clock, off):
    run = runs.new(recipe(place), "one", tmp_path)
    another_machine(run, beat=time.time() + off)
    assert run.status().state == INTERRUPTED
    another_machine(run, beat=time.time() + off + 1)
    assert run.status().state == RUNNING


def test_a_run_that_waits_on_this_machine_stays_waiting(place, tmp_path, monkeypatch):
    run = runs.new(recipe(place), "one", tmp_path)
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
