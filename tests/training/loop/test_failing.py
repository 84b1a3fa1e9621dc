"""Test that a failed run records the error and can be resumed from the last good state."""

import math
from unittest import mock

import pytest
import torch

from explorer import run_folder
from explorer.errors import Diverged, RunError, RunTooLarge
from explorer.methods.self_guided import SG
from explorer.progress import Phase
from explorer.run_folder import TrainingStep
from explorer.training.loop import loop
from explorer.training.loop import resume_state as states
from explorer.training.loop.learner import Learner
from explorer.training.record import runs
from explorer.training.record.runs import Run
from explorer.training.record.status import FAILED, INTERRUPTED
from tests.training.unbroken import SETTINGS, assert_same, begun, break_off
from tests.trainings import losses, train

pytestmark = pytest.mark.usefixtures("small_projection")


def train_failing(run: Run, step: int, do, error: type[BaseException], match: str | None = None) -> None:
    """Train; the update after so many steps of the second seed does something else, which ends the run."""
    update = Learner.update

    def instead(self):
        return do(self, update) if (self.seed, self.step) == (2, step) else update(self)

    with mock.patch.object(Learner, "update", instead), pytest.raises(error, match=match):
        train(run)


def raising(error):
    def do(*_):
        raise error

    return do


def test_a_failure_is_told_in_the_folder_and_the_run_goes_on_from_its_last_state(place, whole, monkeypatch):
    run = begun(place)
    monkeypatch.setattr(loop, "SAVE_EVERY", 0.0)
    told = r"ended with KeyError: 'a fault in the program' .*train\.log\. Resume the"
    train_failing(run, 4, raising(KeyError("a fault in the program")), RunError, told)
    status = run.status()
    assert (status.state, status.step) == (FAILED, 4)
    assert "KeyError: 'a fault in the program'" in status.error
    assert "Traceback" in status.details
    assert "Traceback" not in status.error
    assert "failed: " in run.log_tail(60)
    assert "in instead" in run.log_tail(60), "the log has all the program saw"
    assert not run.model.exists()
    runs.restarted(run)
    train(run)
    assert_same(run, whole[0])
    assert (run.status().error, run.status().details) == ("", "")


@pytest.mark.parametrize(("more", "seed", "step"), [(3, 1, 5), (15, 2, 2)])
def test_what_a_failed_attempt_did_after_the_last_state_is_on_record_once(place, whole, more, seed, step):
    run, stages = begun(place), whole[1]
    break_off(run, stages.index(Phase.EVALUATING_BEST) + more)  # when the first seed is done, or later
    state = states.load(run.state).notes
    assert (state["seed"], state["step"]) == (seed, step)
    train_failing(run, 4, raising(RuntimeError("no luck")), RunError, "no luck")
    assert max(losses(run, 2)) == 4
    assert states.load(run.state).notes == state
    train(run)
    assert_same(run, whole[0])


def test_a_run_that_failed_before_its_first_state_is_on_record_once(place, whole):
    run = begun(place, seeds=(2,))
    train_failing(run, 3, raising(RuntimeError("no luck")), RunError, "no luck")
    with (run.folder / run_folder.METRICS).open("a") as file:
        file.write('{"number": 1, "st')
    assert not run.state.exists()
    train(run)
    assert [line.step for line in run.metrics() if isinstance(line, TrainingStep)] == list(range(1, 6))
    assert losses(run) == losses(whole[0], 2)


@pytest.mark.parametrize("what", ["loss", "gradient"])
def test_a_loss_or_a_gradient_that_is_no_number_ends_the_run_before_it_spoils_the_state(place, monkeypatch, what):
    run = begun(place, seeds=(2,), settings=SETTINGS | {"clip": 0 if what == "loss" else 1})
    monkeypatch.setattr(loop, "SAVE_EVERY", 0.0)

    def spoiled(self, update):
        loss = SG.loss
        term = {"loss": lambda zero: zero / zero, "gradient": torch.sqrt}[what]
        with monkeypatch.context() as patch:
            patch.setattr(SG, "loss", lambda own, *columns: loss(own, *columns) + term(own.regularisation() * 0).sum())
            return update(self)

    train_failing(run, 3, spoiled, Diverged, f"The {what} of step 4 is nan. Lower learning_rate .0.001., raise warmup")
    assert run.status().state == FAILED
    state = states.load(run.state)
    assert (state.notes["seed"], state.notes["step"]) == (2, 3)
    assert all(tensor.isfinite().all() for tensor in state.tensors.values())
    train(run)
    assert all(math.isfinite(loss) for loss in losses(run).values())


@pytest.mark.parametrize(
    "error", [RuntimeError("[enforce fail] DefaultCPUAllocator: not enough memory: you tried 9 bytes"), MemoryError(),
              torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")],
)  # fmt: skip
def test_where_memory_runs_out_a_smaller_batch_is_named(place, error):
    run = begun(place, seeds=(2,))
    told = r"Memory ran out with batches of 4\. Set batch_size to 2 and accumulate to 2"
    train_failing(run, 1, raising(error), RunTooLarge, told)
    assert run.status().state == FAILED
    assert "Set batch_size to 2" in run.status().error


def test_an_interrupt_in_the_middle_of_an_update_keeps_nothing_of_it(place, whole, monkeypatch):
    run = begun(place)
    monkeypatch.setattr(loop, "SAVE_EVERY", 0.0)

    def half(learner, update):
        update(learner)
        learner.step -= 1  # it is not counted yet: where an interrupt may come
        raise KeyboardInterrupt

    train_failing(run, 4, half, KeyboardInterrupt)
    assert states.load(run.state).notes["step"] == 4
    assert run.status().state == INTERRUPTED
    train(run)
    assert_same(run, whole[0])
