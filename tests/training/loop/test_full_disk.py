"""Test that a run stops with an error on a full disk, and resumes when there is room."""

import resource
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
import torch

from explorer.errors import NotWritable
from explorer.progress import Phase
from explorer.training.loop import loop
from explorer.training.loop import resume_state as states
from explorer.training.record import runs
from explorer.training.record.runs import Run
from explorer.training.record.status import FAILED, FINISHED, INTERRUPTED
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


@pytest.fixture(autouse=True)
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


def assert_stopped(run: Run, untouched: Run) -> None:
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
    assert_stopped(run, untouched)
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


def test_a_run_stops_when_it_may_write_no_more_and_goes_on_when_it_may(place, untouched, tmp_path):
    run = runs.new(untouched.recipe(), "limited", tmp_path)
    trainer = process(train_until_files_may_not_grow, run.folder, tmp_path / "told")
    trainer.join()
    told = (tmp_path / "told").read_text()
    assert "cannot be saved" in told
    assert "File too large" in told
    assert "The last good state is still there. Make room on that disk, then resume." in told
    assert_stopped(run, untouched)
    assert run.status().error == told
    assert_same_after_resuming(run, untouched)
