"""Test that a run that is killed, or whose disk is full, read-only or lost, resumes to the bit when it can."""

import json
import random
import re
import resource
import shutil
import subprocess
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from explorer import run_folder
from explorer.errors import NotWritable, RunGone
from explorer.progress import Phase
from explorer.training.loop import loop, stages
from explorer.training.loop import resume_state as states
from explorer.training.record import runs
from explorer.training.record.recorder import Recorder
from explorer.training.record.runs import KEEP, Run
from explorer.training.record.status import FAILED, FINISHED, INTERRUPTED, LIVE
from tests.disk_calls import ReadOnlyDisk, watched
from tests.kill_points import outcomes, try_points
from tests.processes import process
from tests.trainings import command, furnish, new, paced, recipe, train, words_of

KILLS, MOST = 3, 10  # steps of an attempt
STEPS = KILLS * MOST + 18  # so that there are some left


def told(folder: Path) -> Path:
    """Where a process wrote what it said."""
    return folder.parent.with_name(f"{folder.name}.txt")


def steps_of(run: Run) -> int:
    """How many steps are on record, without reading them as a viewer would."""
    try:
        return (run.folder / run_folder.METRICS).read_bytes().count(b'"loss"')
    except OSError:
        return 0


def step_by_step(*given) -> None:
    """A command of which each step leaves the processor to the process that kills it, however busy the machine is."""
    with paced(0.005):
        command(*given)


def kill_at(run: Run, words: list[str], moment) -> bool:
    """Train, with a state after every step, and kill at a moment; whether it came to that."""
    known = (run.folder / run_folder.RECIPE).exists()
    given = ["train", "--resume", run.name] if known else [*words, "--name", run.name]
    trainer = process(step_by_step, [*given, "--out", str(run.folder.parent)], told(run.folder), {}, 0.0)
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
    """Of each kill, told when it is its turn."""
    drawn = random.Random(5)
    for number in range(KILLS):
        if number % 3 == 0:
            yield after(drawn.uniform(0.1, 1.0), run)
        else:  # a little after a step was done
            step, rest = steps_of(run) + drawn.randint(1, MOST), drawn.uniform(0, 0.02)
            yield lambda step=step, rest=rest: steps_of(run) >= step and (time.sleep(rest) or True)


def assert_good(run: Run, never_killed: Run) -> None:
    """What a killed process left behind is told as it is, and is whole."""
    assert run.status().state == INTERRUPTED
    if not run.folder.exists():
        return
    assert json.loads((run.folder / "status.json").read_text())["state"] in LIVE
    if run.model.exists():  # killed in the instant between the last two files
        assert (run.model / "model.safetensors").read_bytes() == (never_killed.model / "model.safetensors").read_bytes()
    run.metrics()
    if states.there(run.state):
        assert states.load(run.state).notes["step"] <= STEPS


@pytest.fixture(scope="module")
def words(place) -> list[str]:
    return words_of(recipe(place, "simcse", settings={"steps": STEPS, "evaluate_every": 4}))


@pytest.fixture(scope="module")
def never_killed(place, words) -> Run:
    run = Run(place.runs / "untouched")
    assert not kill_at(run, words, lambda: False)
    assert run.status().state == FINISHED
    return run


def test_a_run_that_is_killed_again_and_again_comes_to_the_same_to_the_bit(place, words, never_killed):
    run = Run(place.runs / "killed")
    reached, resumed = [], 0
    for moment in moments(run):
        assert kill_at(run, words, moment), "it came to its end before it could be killed: give it more steps"
        assert_good(run, never_killed)
        kept = states.load(run.state)
        reached.append(kept.notes["step"] if kept else 0)
        resumed += bool(kept)
    assert reached == sorted(reached), "nothing that was kept is lost"
    assert resumed > KILLS / 2
    # those of the kills at a step, 15, less the one under way at each; the other may have come to none
    assert reached[-1] >= 13
    kill_at(run, words, lambda: (run.folder / "model.new.part").exists())  # and once while the model is written
    if run.status().state != FINISHED:
        assert_good(run, never_killed)
        assert not kill_at(run, words, lambda: False)
    assert run.status().state == FINISHED
    assert (run.model / "model.safetensors").read_bytes() == (never_killed.model / "model.safetensors").read_bytes()
    one, other = ([replace(line, time=0.0) for line in of.metrics()] for of in (run, never_killed))
    assert one == other
    assert len({(line.step, type(line)) for line in one}) == len(one) == STEPS + STEPS // 4 + 1
    assert run.status().results == never_killed.status().results
    kinds = {path.name for path in run.folder.iterdir()}
    assert kinds == {path.name for path in never_killed.folder.iterdir()}, "nothing half-written is left"
    config = json.loads((run.model / "config.json").read_text())
    assert config["hidden_dropout_prob"] == 0.1, "otherwise nothing is drawn, and a lost place would not show"


POINTS = {
    "killed": 2, "killed, resumed": 2, "disk full": 1, "disk full, resumed": 1, "read-only": 1,
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


SETTINGS = {"steps": 7}
ROOM = 6_000_000  # bytes: for two states and a model of the tiny encoder, and as much again


@pytest.fixture
def disk(tmp_path):
    """A small disk of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here, which takes root: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.fixture
def save_often(monkeypatch):
    monkeypatch.setattr(loop, "SAVE_EVERY", 0.0)


@pytest.fixture(scope="module")
def untouched(place) -> Run:
    return train(new(place, "simcse", settings=SETTINGS))


def fill(disk: Path, but: int) -> Path:
    """Fill a disk with a file, but for so many bytes."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        with suppress(OSError):
            while file.write(b"\0" * 4096):
                pass
        assert shutil.disk_usage(disk).free == 0
        file.truncate(max(0, file.tell() - but))
    return filler


def assert_stopped(run: Run) -> None:
    """It is told, what is there is whole, and there is no model yet."""
    assert run.status().state in (FAILED, INTERRUPTED)
    assert not run.model.exists()
    kept = states.load(run.state)
    assert kept.notes["step"] >= 4
    assert all(tensor.isfinite().all() for tensor in kept.tensors.values() if tensor.is_floating_point())
    assert {line.step for line in run.metrics()} <= set(range(SETTINGS["steps"] + 1))
    assert not list(run.folder.glob("state/*.part"))


def assert_same_after_resuming(run: Run, untouched: Run) -> None:
    runs.restarted(run)
    train(run)
    assert run.status().state == FINISHED
    assert (run.model / "model.safetensors").read_bytes() == (untouched.model / "model.safetensors").read_bytes()
    assert len(run.metrics()) == len(untouched.metrics())
    assert not [path for path in run.folder.rglob("*") if path.suffix in (".part", ".new", ".old")]


@pytest.mark.product(1)
@pytest.mark.usefixtures("save_often")
@pytest.mark.parametrize("but", [0, 64_000], ids=["to the last byte", "but for small files"])
@pytest.mark.parametrize("moment", [(Phase.TRAINING, 5), (Phase.SAVING, 0)], ids=lambda moment: moment[0])
def test_a_run_stops_when_its_disk_is_full_and_goes_on_when_there_is_room(place, untouched, disk, but, moment):
    run = runs.new(untouched.recipe(), "full", disk / "runs")
    fillers = []

    def tell(progress):
        if (progress.stage, progress.done) == moment and not fillers:
            fillers.append(fill(disk, but))

    with pytest.raises(NotWritable, match=r"No space left on device.*Make room"):
        train(run, tell)
    assert_stopped(run)
    assert (run.status().state == FAILED) == (but > 0)
    if but:
        assert "No space left on device" in run.status().error
        assert "NotWritable" not in run.status().error, "words, not names of the program"
    fillers[0].unlink()
    assert_same_after_resuming(run, untouched)


def train_until_files_may_not_grow(folder: Path, told: Path) -> None:
    """A run in a process whose files may have so many bytes and no more, from a step on."""
    loop.SAVE_EVERY = 0.0
    torch.set_num_threads(1)  # as in the other run: two add up in another order
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def tell(progress):
        if (progress.stage, progress.done) == ("training", 5):
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))

    try:
        train(Run(folder), tell)
    except NotWritable as error:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        told.write_text(str(error))


@pytest.mark.usefixtures("save_often")
def test_a_run_stops_when_it_may_write_no_more_and_goes_on_when_it_may(place, untouched, tmp_path):
    run = runs.new(untouched.recipe(), "limited", tmp_path)
    process(train_until_files_may_not_grow, run.folder, tmp_path / "told").join()
    told = (tmp_path / "told").read_text()
    assert "cannot be saved" in told
    assert "File too large" in told
    assert "The last good state is still there. Make room on that disk, then resume." in told
    assert_stopped(run)
    assert run.status().error == told
    assert_same_after_resuming(run, untouched)


def records(run) -> None:
    (run.folder / "tmp1.part").write_text("half-written")
    Recorder(run)


def takes_a_request_back(run) -> None:
    run.request_stop(KEEP)
    run.clear_stop_request()


def renames_its_model(run) -> None:
    run.model.mkdir()
    (run.model / "old").write_text("")
    train(run)


@pytest.mark.parametrize(
    ("does", "at"), [(train, r"open \.lock"), (records, "unlink tmp1.*"),
                     (takes_a_request_back, "unlink stop-request"), (renames_its_model, "rename model")],
)  # fmt: skip
def test_a_run_says_in_one_line_that_its_disk_is_read_only(place, does, at):
    run = new(place, "simcse", settings={"steps": 2})

    class From(ReadOnlyDisk):
        def call(self, kind, path, handle=-1):
            if re.fullmatch(at, f"{kind} {path.relative_to(self.folder)}"):
                self.at = self.counted
            super().call(kind, path, handle)

    with (
        watched(From(run.folder)),
        pytest.raises(NotWritable, match="cannot be written to: Read-only file system") as told,
    ):
        does(run)
    assert "\n" not in str(told.value)


def test_a_model_that_was_put_aside_by_a_killed_process_outlives_a_failed_resume(place, monkeypatch):
    run = new(place, "simcse", settings={"steps": 4})
    train(run, lambda progress: run.request_stop(KEEP) if (progress.stage, progress.done) == ("training", 2) else None)
    weights = (run.model / "model.safetensors").read_bytes()
    run.model.rename(run.folder / "model.old")  # as a process leaves it that is killed between two renames
    runs.restarted(run)
    with monkeypatch.context() as patch:
        patch.setattr(stages, "export", Mock(side_effect=NotWritable("The disk is full.")))
        with pytest.raises(NotWritable):
            train(run)
    assert (run.model / "model.safetensors").read_bytes() == weights
    runs.restarted(run)
    train(run)
    assert run.status().state == FINISHED
    assert not (run.folder / "model.old").exists()


def delete(run: Run) -> None:
    shutil.rmtree(run.folder)


def move(run: Run) -> None:
    run.folder.rename(run.folder.with_name("moved"))


def replaced(run: Run) -> None:
    run.folder.rename(run.folder.with_name("earlier"))
    run.folder.mkdir()


@pytest.mark.product(1)
@pytest.mark.parametrize("stage", [Phase.TRAINING, Phase.EVALUATING_DEV, Phase.SAVING])
@pytest.mark.parametrize("happens", [delete, move, replaced])
def test_a_run_whose_folder_is_gone_stops_and_says_so(place, happens, stage):
    run, told = new(place, "simcse", settings={"steps": 5}), []

    def watch(progress):
        if progress.stage == stage and not told:
            happens(run)
        told.extend([progress.stage] if told or progress.stage == stage else [])

    with pytest.raises(RunGone, match="moved or deleted while it was trained"):
        train(run, watch)
    assert told.count("training") <= 2, "within one step"
    assert not run.folder.exists() or list(run.folder.iterdir()) == [], "nothing is made anew"
    for moved in (run.folder.with_name("moved"), run.folder.with_name("earlier")):
        if moved.exists():
            assert Run(moved).status().state == INTERRUPTED
            shutil.rmtree(moved)
