"""Test that a run killed at any call or moment, or on a full or read-only disk, ends like an uninterrupted one."""

import json
import random
import time
from dataclasses import replace
from pathlib import Path

import pytest

from explorer import run_folder
from explorer.training.loop import resume_state as states
from explorer.training.record.runs import Run
from explorer.training.record.status import FINISHED, INTERRUPTED, LIVE
from tests.kill_points import outcomes, try_points
from tests.processes import process
from tests.trainings import command, furnish, recipe, words_of

KILLS, MOST = 10, 10  # steps of an attempt
STEPS = KILLS * MOST + 40  # so that there are some left


def told(folder: Path) -> Path:
    """Where a process wrote what it said."""
    return folder.parent.with_name(f"{folder.name}.txt")


def steps_of(run: Run) -> int:
    """How many steps are on record, without reading them as a viewer would."""
    try:
        return (run.folder / run_folder.METRICS).read_bytes().count(b'"loss"')
    except OSError:
        return 0


def kill_at(run: Run, words: list[str], moment) -> bool:
    """Train, with a state after every step, and kill at a moment; whether it came to that."""
    known = (run.folder / run_folder.RECIPE).exists()
    given = ["train", "--resume", run.name] if known else [*words, "--name", run.name]
    trainer = process(command, [*given, "--out", str(run.folder.parent)], told(run.folder), {}, 0.0)
    while trainer.is_alive() and not moment():
        time.sleep(0.001)
    trainer.kill()
    trainer.join()
    assert trainer.exitcode in (-9, 0), told(run.folder).read_text()
    return trainer.exitcode == -9


def after(seconds: float, run: Run):
    """Whatever happens then."""
    end, most = time.monotonic() + seconds, steps_of(run) + MOST
    return lambda: time.monotonic() > end or steps_of(run) >= most


def moments(run: Run):
    """Ten of them, each told when it is its turn."""
    drawn = random.Random(5)
    for number in range(KILLS):
        if number % 3 == 0:
            yield after(drawn.uniform(0.1, 1.0), run)
        else:  # a little after a step was done
            step, rest = steps_of(run) + drawn.randint(1, MOST), drawn.uniform(0, 0.02)
            yield lambda step=step, rest=rest: steps_of(run) >= step and (time.sleep(rest) or True)


def assert_good(run: Run, untouched: Run) -> None:
    """What a killed process left behind is told as it is, and is whole."""
    assert run.status().state == INTERRUPTED
    if not run.folder.exists():
        return
    assert json.loads((run.folder / "status.json").read_text())["state"] in LIVE
    if run.model.exists():  # killed in the instant between the last two files
        assert (run.model / "model.safetensors").read_bytes() == (untouched.model / "model.safetensors").read_bytes()
    run.metrics()
    if states.there(run.state):
        assert states.load(run.state).notes["step"] <= STEPS


@pytest.fixture(scope="module")
def words(place) -> list[str]:
    return words_of(recipe(place, "simcse", settings={"steps": STEPS, "evaluate_every": 4}))


@pytest.fixture(scope="module")
def untouched(place, words) -> Run:
    run = Run(place.runs / "untouched")
    assert not kill_at(run, words, lambda: False)
    assert run.status().state == FINISHED
    return run


def test_a_run_that_is_killed_ten_times_comes_to_the_same_to_the_bit(place, words, untouched):
    run = Run(place.runs / "killed")
    reached, resumed = [], 0
    for moment in moments(run):
        assert kill_at(run, words, moment), "it came to its end before it could be killed: give it more steps"
        assert_good(run, untouched)
        kept = states.load(run.state)
        reached.append(kept.notes["step"] if kept else 0)
        resumed += bool(kept)
    assert reached == sorted(reached), "nothing that was kept is lost"
    assert resumed > KILLS / 2
    assert reached[-1] > 20
    kill_at(run, words, lambda: (run.folder / "model.new.part").exists())  # and once while the model is written
    if run.status().state != FINISHED:
        assert_good(run, untouched)
        assert not kill_at(run, words, lambda: False)
    assert run.status().state == FINISHED
    assert (run.model / "model.safetensors").read_bytes() == (untouched.model / "model.safetensors").read_bytes()
    one, other = ([replace(line, time=0.0) for line in of.metrics()] for of in (run, untouched))
    assert one == other
    assert len({(line.step, type(line)) for line in one}) == len(one) == STEPS + STEPS // 4 + 1
    assert run.status().results == untouched.status().results
    kinds = {path.name for path in run.folder.iterdir()}
    assert kinds == {path.name for path in untouched.folder.iterdir()}, "nothing half-written is left"
    config = json.loads((run.model / "config.json").read_text())
    assert config["hidden_dropout_prob"] == 0.1, "otherwise nothing is drawn, and a lost place would not show"


POINTS = {
    "killed": 4, "killed, resumed": 4, "disk full": 1, "disk full, resumed": 1, "read-only": 1,
    "read-only, resumed": 1,
}  # fmt: skip


# some of the calls of one method; `make kill` tries every call of five
def test_a_run_that_is_stopped_at_any_call_resumes_to_the_bit(tmp_path):
    told = tmp_path / "told"
    process(try_points, furnish(tmp_path), "simcse", tmp_path, told, POINTS, 2).join()
    found = {one.way: one for one in outcomes(told)}
    assert {way: one.tried for way, one in found.items()} == POINTS
    assert found["killed"].points > 100, "the premise: calls are counted"
    assert [fault for one in found.values() for fault in one.faults] == []
