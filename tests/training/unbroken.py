"""Train a run without interruption, and interrupt another one at a given point."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from explorer.measuring.scores.similarity import FILE
from explorer.progress import Phase
from explorer.run_folder import MetricLine
from explorer.training import running
from explorer.training.record import runs
from explorer.training.record.runs import Run
from explorer.training.record.status import FINISHED, INTERRUPTED
from tests.trainings import Place, new, train

SETTINGS = {"steps": 5, "evaluate_every": 1, "projection": True}
_END = object()


def begun(place: Place, **changes) -> Run:
    """A run of two seeds, waiting."""
    return new(place, "sg", **({"seeds": (1, 2), "settings": SETTINGS} | changes))


def untimed(run: Run) -> list[MetricLine]:
    return [replace(line, time=0.0) for line in run.metrics()]


def assert_same(run: Run, other: Run) -> None:
    """Two runs that came to the same, to the bit."""
    assert run.status().state == FINISHED
    assert not run.state.exists()
    assert (run.model / "model.safetensors").read_bytes() == (other.model / "model.safetensors").read_bytes()
    assert meaning(run) == meaning(other)
    assert untimed(run) == untimed(other)
    for name in ("results", "best", "best_step", "base", "verdict", "step", "seed", "seed_number"):
        assert getattr(run.status(), name) == getattr(other.status(), name), name


def meaning(run: Run) -> dict[str, object]:
    """What the cosines of its model mean, but for the name of the run."""
    content: dict[str, object] = json.loads((run.model / FILE).read_bytes())
    return content | {"model": ""}


def break_off(run: Run, telling: int) -> bool:
    """Take so many steps and no further; whether there would have been more."""
    work = running.train(run)
    for _ in range(telling):
        if next(work, _END) is _END:
            return False
    work.close()
    return True


def break_off_at(run: Run, seed: int, step: int, *phases: Phase) -> None:
    """Take steps until so many are on record of the seed of this number and the last tellings are of these phases."""
    work, told = running.train(run), []
    while tuple(told[-len(phases) :]) != phases or (run.status().seed_number, run.status().step) != (seed, step):
        told.append(next(work).stage)
    work.close()
    assert run.status().state == INTERRUPTED


def assert_goes_on(whole: Run, *places: tuple[Any, ...]) -> Run:
    """A run of the same recipe, broken off at one place after the other and resumed each time, comes to the same."""
    run = runs.new(replace(whole.recipe(), made_with={}), "", whole.folder.parent)
    for place in places:
        break_off_at(run, *place)
    train(run)
    assert_same(run, whole)
    return run


def break_off_in_training(run: Run) -> None:
    """Take steps until it has trained one, and no further."""
    work = running.train(run)
    while next(work).stage != "training" or not run.status().step:
        pass
    work.close()
