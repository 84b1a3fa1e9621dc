"""Test a run whose folder is deleted or moved while it is trained: it stops within a step and leaves no husk."""

import shutil

import pytest

from explorer.errors import RunGone
from explorer.progress import Phase
from explorer.training.record.runs import Run
from explorer.training.record.status import INTERRUPTED
from tests.trainings import new, train


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
