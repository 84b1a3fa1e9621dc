"""Test how often training waits for its device, and that nothing depends on it."""

import math

import pytest
import torch

from explorer.errors import Diverged
from explorer.training.loop import learner as learners
from explorer.training.loop import loop
from explorer.training.loop import resume_state as states
from explorer.training.loop.learner import Learner
from explorer.training.record.runs import KEEP
from explorer.training.record.status import FAILED
from tests.trainings import learner, losses, new, train, weights
from tests.waits import Waits

pytestmark = pytest.mark.device

EVERY = 4


class FarAway(Learner):
    """A learner that fetches as from a GPU."""

    def __init__(self, *arguments) -> None:
        super().__init__(*arguments)
        self.fetch_every = EVERY


def test_an_update_fetches_nothing_and_twenty_are_fetched_at_once(place):
    of = learner(place, steps=80)
    for _ in range(3):
        with Waits() as waits:
            of.update()
        assert waits.found == []
    with Waits() as waits:
        assert [update.step for update in of.fetch()] == [1, 2, 3]
    assert len(waits.found) <= 1
    assert learners.FETCH_EVERY == 20


def test_what_is_learned_and_recorded_does_not_depend_on_when_it_is_fetched(place, monkeypatch):
    near = train(new(place, "simcse", settings={"steps": 10, "evaluate_every": 5}))
    monkeypatch.setattr(loop, "Learner", FarAway)
    far = train(new(place, "simcse", settings={"steps": 10, "evaluate_every": 5}))
    assert list(losses(far)) == list(range(1, 11))
    assert losses(far) == losses(near)
    for name, weight in weights(near).items():
        assert torch.equal(weights(far)[name], weight), name


def test_a_loss_that_is_not_finite_is_found_before_anything_is_kept(place, monkeypatch):
    """It arises between two fetches: the steps before it are on record, the last good state is the one before."""
    update = FarAway.update

    def spoiled(self):
        if self.step == 5:
            with torch.no_grad():
                next(iter(self.names)).fill_(math.nan)
        update(self)

    monkeypatch.setattr(FarAway, "update", spoiled)
    monkeypatch.setattr(loop, "Learner", FarAway)
    monkeypatch.setattr(loop, "SAVE_EVERY", 0.0)
    run = new(place, "simcse", settings={"steps": 80, "evaluate_every": 80})
    with pytest.raises(Diverged, match=r"The loss of step 6 is nan"):
        train(run)
    assert run.status().state == FAILED
    assert list(losses(run)) == [1, 2, 3, 4, 5]
    state = states.load(run.state)
    assert state.notes["step"] == 4
    assert all(tensor.isfinite().all() for tensor in state.tensors.values())


def test_a_stop_between_two_fetches_loses_no_step(place, monkeypatch):
    monkeypatch.setattr(loop, "Learner", FarAway)
    run = new(place, "simcse", settings={"steps": 80, "evaluate_every": 80})
    train(run, lambda progress: run.request_stop(KEEP) if (progress.stage, progress.done) == ("training", 6) else None)
    reached = states.load(run.state).notes["step"]
    assert reached % EVERY, "the premise"
    assert list(losses(run)) == list(range(1, reached + 1))
