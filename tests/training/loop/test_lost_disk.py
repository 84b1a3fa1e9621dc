"""Test a run whose disk becomes read-only, or whose folder is deleted or moved: one message, and no husk of a run."""

import re
import shutil

import pytest

from explorer.errors import NotWritable, RunGone
from explorer.progress import Phase
from explorer.training import saved_model
from explorer.training.record import runs
from explorer.training.record.recorder import Recorder
from explorer.training.record.runs import KEEP, Run
from explorer.training.record.status import FINISHED, INTERRUPTED
from tests.disk_calls import ReadOnlyDisk, watched
from tests.trainings import new, train


def refuse(*_) -> None:
    raise NotWritable("The disk is full.")


def begins(run) -> None:
    train(run)


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
    ("does", "at"), [(begins, r"open \.lock"), (records, "unlink tmp1.*"),
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
        patch.setattr(saved_model, "export", refuse)
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
