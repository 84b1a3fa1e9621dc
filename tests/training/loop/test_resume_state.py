"""Test that a restored learner continues exactly, and that every process draws its own dropout."""

from dataclasses import replace
from unittest import mock

import pytest
import torch

from explorer.errors import CannotResume
from explorer.methods.simcse import SimCSE
from explorer.optimizers import UncorrectedAdamW
from explorer.progress import finish
from explorer.training.loop import resume_state
from explorer.training.loop.learner import Learner, changing, kept_buffers
from explorer.training.loop.preparing import prepare
from explorer.training.loop.processes import World
from tests.device import DEVICE
from tests.trainings import recipe

pytestmark = pytest.mark.device


@pytest.fixture
def prepared(place):
    return finish(prepare(recipe(place, "simcse")))


def updated(of: Learner, times: int = 1):
    """What was measured in further updates."""
    for _ in range(times):
        of.update()
    return of.fetch()


def made(prepared) -> Learner:
    return Learner(prepared, 1, World("float32", DEVICE))


@pytest.fixture
def learned(prepared) -> Learner:
    """Three updates in, with a best step behind it and a score that is missing."""
    of = made(prepared)
    for score in (50.0, float("nan"), 60.0, 55.0):
        of.record_score(score)
        updated(of)
    return of


def test_a_norm_that_remembers_is_kept_with_what_it_remembers(place, tmp_path):
    prepared = finish(prepare(recipe(place, "conisi-s")))
    learned = made(prepared)
    updated(learned)
    buffers = {name: value.clone() for name, value in kept_buffers(learned.method).items()}
    assert {"seen", "hidden.1.running_mean", "hidden.1.running_var"} <= buffers.keys()
    assert buffers["seen"].tolist() == [4, 0]
    resume_state.save(tmp_path / "state", resume_state.state_of(learned))
    expected = updated(learned)
    other = made(prepared)
    resume_state.restore(other, resume_state.load(tmp_path / "state"))
    for name, value in kept_buffers(other.method).items():
        assert torch.equal(value, buffers[name]), name
    assert updated(other) == expected


def test_the_released_optimiser_of_the_flow_is_used_and_goes_on_to_the_bit(place, tmp_path):
    settings = {"optimizer": "as released", "levels": 2, "learning_rate": 1e-3, "weight_decay": 0.01, "decay": "none"}
    prepared = finish(prepare(recipe(place, "flow", settings=settings)))
    learned = made(prepared)
    finish(learned.fit())
    assert updated(learned)[0].rate == 1e-3
    assert isinstance(learned.optimizer, UncorrectedAdamW)
    assert [group["weight_decay"] for group in learned.optimizer.param_groups] == [0.01] * 2, "of all weights"
    resume_state.save(tmp_path / "state", resume_state.state_of(learned))
    expected = updated(learned, 2)
    other = made(prepared)
    resume_state.restore(other, resume_state.load(tmp_path / "state"))
    assert str(updated(other, 2)) == str(expected)  # of a NaN, only the text is equal


def test_what_is_restored_is_all_that_was_and_goes_on_to_the_bit(prepared, learned, tmp_path):
    resume_state.save(tmp_path / "state", resume_state.state_of(learned))
    expected = updated(learned, 2)
    other = made(prepared)
    resume_state.restore(other, resume_state.load(tmp_path / "state"))
    assert (other.step, other.best_step, other.best_score, other.evaluated_at) == (4, 2, 60.0, 3)
    assert str(other.scores) == "[50.0, nan, 60.0, 55.0]"
    assert other.kept.keys() == learned.kept.keys()
    assert all(torch.equal(other.kept[name], learned.kept[name]) for name in learned.kept)
    assert str(updated(other, 2)) == str(expected)  # of a NaN, only the text is equal
    for (weight, name), (same, _) in zip(learned.names.items(), other.names.items(), strict=True):
        assert torch.equal(weight, same), name


def test_a_head_that_only_the_loss_sees_is_kept_for_going_on_but_not_among_the_best(learned):
    tensors = resume_state.state_of(learned).tensors
    assert "method/dense.weight" in tensors
    assert "optimizer/exp_avg/dense.weight" in tensors
    assert not [name for name in tensors if name.startswith("best/dense")]
    assert "best/base.model.encoder.layer.0.output.dense.weight" in tensors


def test_the_best_is_a_copy_that_later_updates_leave_alone(learned):
    name = "base.model.encoder.layer.1.output.dense.weight"
    before = learned.kept[name].clone()
    learned.update()
    assert torch.equal(learned.kept[name], before)
    (now,) = (weight for weight, called in learned.names.items() if called == name)
    assert not torch.equal(now, before)
    learned.restore_best()
    assert torch.equal(now, before)


def test_a_score_that_is_missing_never_makes_a_best_and_never_hides_one(prepared):
    of = made(prepared)
    marked = []
    for score in (90.0, float("nan"), 60.0, float("nan"), 55.0, 61.0):
        marked.append(of.record_score(score))
        of.step += 1
    assert marked == [False, False, True, False, False, True]
    assert (of.best_step, of.best_score) == (5, 61.0)


class Following(SimCSE):
    """A momentum copy, a queue, RMSprop with a rate in steps, and two candidates."""

    def build(self):
        super().build()
        self.target = self.base.frozen()
        self.register_buffer("queue", torch.zeros(4, self.width))

    def make_optimizer(self, groups, schedule):
        return torch.optim.RMSprop(groups, lr=schedule.learning_rate, alpha=0.9, eps=1e-7)

    def rate(self, step, total, schedule):
        return schedule.learning_rate * (1 if step < 4 else 0.5)

    def candidates(self):
        return {"target": self.target, "online": self.base}

    def loss(self, *columns):
        with torch.no_grad():
            states = [self.head()(states.hidden, states.mask) for _, states in self.target.grouped(columns[0])]
            self.keys = torch.cat(states)
        return super().loss(*columns) + (self.queue.sum() - 1) * self.encode(columns[0]).mean()

    def after_update(self):
        with torch.no_grad():
            for own, follows in zip(self.base.model.parameters(), self.target.model.parameters(), strict=True):
                follows.lerp_(own, 0.1)
            self.queue.copy_(torch.cat([self.queue, self.keys])[-4:])


def following(prepared) -> Learner:
    recipe = type("Of", (type(prepared.recipe),), {"kind": Following})(**vars(prepared.recipe))
    return made(replace(prepared, recipe=recipe))


def test_a_momentum_copy_a_queue_and_another_optimiser_go_on_to_the_bit(prepared, tmp_path):
    learned = following(prepared)
    start = {name: value.clone() for name, value in changing(learned.method).items()}
    before = updated(learned, 3)
    resume_state.save(tmp_path / "state", resume_state.state_of(learned))
    saved = {name: value.clone() for name, value in changing(learned.method).items()}
    for part in ("target.model.encoder.layer.1.output.dense.weight", "queue"):
        assert not torch.equal(saved[part], start[part]), "the premise: it follows"
    expected = updated(learned, 3)
    other = following(prepared)
    resume_state.restore(other, resume_state.load(tmp_path / "state"))
    for name, value in changing(other.method).items():
        assert torch.equal(value, saved[name]), name
    assert updated(other, 3) == expected
    assert [one.rate for one in (*before, *expected)] == [before[0].rate] * 4 + [before[0].rate / 2] * 2


def test_a_state_without_a_part_of_the_method_is_refused(prepared):
    state = resume_state.state_of(made(prepared))
    with pytest.raises(CannotResume, match="lacks 'queue'"):
        resume_state.restore(following(prepared), state)


def test_the_best_of_several_copies_is_kept_and_read(prepared, tmp_path):
    learned = following(prepared)
    learned.record_score(0.0)
    updated(learned)
    with torch.no_grad():
        learned.method.base.model.embeddings.word_embeddings.weight.zero_()
    copies, scores = learned.method.candidates(), {}
    for name, copy in copies.items():  # each as if it were the only one
        with mock.patch.object(learned.method, "candidates", lambda name=name, copy=copy: {name: copy}):
            scores[name] = finish(learned.evaluate(prepared.dev)).score
    assert set(scores) == {"target", "online"}
    best = max(scores, key=scores.__getitem__)
    assert finish(learned.evaluate(prepared.dev)).score == scores[best]
    assert learned.method.exported is learned.method.candidates()[best]
    assert learned.record_score(scores[best])
    learned.method.candidate = "online" if best == "target" else "target"
    resume_state.save(tmp_path / "state", resume_state.state_of(learned))
    other = following(prepared)
    resume_state.restore(other, resume_state.load(tmp_path / "state"))
    assert other.method.candidate == learned.method.candidate != best
    other.restore_best()
    assert other.method.candidate == best


def test_a_process_beside_the_first_draws_dropout_of_its_own_after_a_state_was_restored(prepared, learned):
    state = resume_state.state_of(learned)
    draws = []
    for rank in (0, 1, 2):
        other = made(prepared)
        other.world.rank = rank
        resume_state.restore(other, state)
        draws.append(torch.rand(3).tolist())
    torch.set_rng_state(state.tensors["random/cpu"])
    assert torch.rand(3).tolist() == draws[0]
    assert draws[0] != draws[1] != draws[2] != draws[0]
