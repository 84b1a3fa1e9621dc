"""Test that a run on a full, read-only or lost disk stops with one message, and resumes when there is room."""

import re
import resource
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from explorer.errors import NotWritable, RunGone
from explorer.progress import Phase
from explorer.training import saved_model
from explorer.training.loop import loop
from explorer.training.loop import resume_state as states
from explorer.training.record import runs
from explorer.training.record.recorder import Recorder
from explorer.training.record.runs import KEEP, Run
from explorer.training.record.status import FAILED, FINISHED, INTERRUPTED
from tests.disk_calls import ReadOnlyDisk, watched
from tests.processes import process
from tests.trainings import new, train

SETTINGS = {"steps": 10, "evaluate_every": 1}
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
    assert {line.step for line in run.metrics()} <= set(range(11))
    assert not list(run.folder.glob("state/*.part"))


def assert_same_after_resuming(run: Run, untouched: Run) -> None:
    runs.restarted(run)
    train(run)
    assert run.status().state == FINISHED
    assert (run.model / "model.safetensors").read_bytes() == (untouched.model / "model.safetensors").read_bytes()
    assert len(run.metrics()) == len(untouched.metrics())
    assert not [path for path in run.folder.rglob("*") if path.suffix in (".part", ".new", ".old")]


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
        patch.setattr(saved_model, "export", Mock(side_effect=NotWritable("The disk is full.")))
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


@pytest.mark.parametrize("stage", [Phase.TRAINING, Phase.EVALUATING_DEV, Phase.SAVING])
@pytest.mark.parametrize("happens", [delete, move, replaced])
def test_a_run_whose_folder_is_gone_stops_and_says_so(place, happens, stage):
    run, told = new(place, "simcse", settings={"steps": 40}), []

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
