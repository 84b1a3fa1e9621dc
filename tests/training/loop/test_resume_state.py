"""Test that a restored learner of every method continues exactly, and that every process draws as it did."""

import random
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest
import torch

from explorer import methods
from explorer.errors import CannotResume
from explorer.methods import changing, kept_buffers
from explorer.methods.simcse import SimCSE
from explorer.optimizers import UncorrectedAdamW
from explorer.progress import finish
from explorer.training.loop import resume_state
from explorer.training.loop.estimate import estimate
from explorer.training.loop.learner import Learner
from explorer.training.loop.preparing import Prepared, prepare
from explorer.training.loop.processes import World
from tests.device import DEVICE
from tests.methods.hub import save_generator
from tests.methods.rows import TRAINED
from tests.trainings import recipe

pytestmark = pytest.mark.device


@pytest.fixture(scope="module")
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


SMALL = {"predictors": 1, "predictor_width": 1, "queue_size": 8, "levels": 2, "projection": False, "negatives": 1}


@pytest.fixture(scope="module")
def rows_of(place, tmp_path_factory):
    """A file of each kind of rows, by name, and a generator."""
    folder = tmp_path_factory.mktemp("rows")
    _, *lines = place.triplets.read_text(encoding="utf-8").splitlines()
    columns = [line.split(",") for line in lines]
    written = {
        "sentences": "\n".join(["sentence", *(row[0] for row in columns)]),
        "pairs": "\n".join(["first,second", *(",".join(row[:2]) for row in columns)]),
        "triplets": place.triplets.read_text(encoding="utf-8"),
        "back-translations": "\n".join(["sentence,translated", *(",".join(row[:2]) for row in columns)]),
        "graded pairs": "\n".join(
            ["sentence1,sentence2,score", *(f"{row[0]},{row[1]},{at % 5}" for at, row in enumerate(columns))]
        ),
        "labelled texts": "\n".join(
            ["sentence1,sentence2,label", *(f"{row[0]} {at},{row[1]},{at % 2}" for at, row in enumerate(columns * 5))]
        ),
    }
    single = (f"{row[0]} {at},{at % 2}" for at, row in enumerate(columns * 5))
    written["labelled sentences"] = "\n".join(["sentence,label", *single])
    words = " ".join(row[0] for row in columns).split()
    texts = (" ".join(random.Random(seed).choices(words, k=2100)) for seed in range(16))
    written["documents"] = "\n".join(["document", *texts])
    for kind, text in written.items():
        (folder / f"{kind}.csv").write_text(text + "\n", encoding="utf-8")
    save_generator(folder / "generator")
    return folder


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.usefixtures("small_projection", "words_with_opposites")
def test_every_method_goes_on_to_the_bit(name, place, rows_of, tmp_path):
    goes_on_to_the_bit(prepared_for(name, place, rows_of), tmp_path / "state")


# nothing but the encoder, a frozen copy, a momentum copy, two trained copies, a shared and an own decoder
@pytest.mark.parametrize(
    ("name", "settings"),
    [("simcse", {}), ("sg", {}), ("bsl", {}), ("ct", {}), ("diffcse", {}), ("tsdae", {}), ("tsdae", {"tied": False})],
    ids=str,
)
@pytest.mark.usefixtures("small_projection")
def test_adapters_go_on_to_the_bit_without_the_weights_beside_them(name, settings, place, rows_of, tmp_path):
    prepared = prepared_for(name, place, rows_of, lora_rank=2, lora_targets="all linear", **settings)
    goes_on_to_the_bit(prepared, tmp_path / "state")
    saved = resume_state.load(tmp_path / "state").tensors
    assert not [entry for entry in saved if "word_embeddings" in entry]
    assert [entry for entry in saved if "lora_B" in entry]


def prepared_for(name: str, place, rows_of: Path, **changes) -> Prepared:
    kind = methods.load(name)
    settings = {knob: value for knob, value in SMALL.items() if knob in kind.knobs} | changes
    if "generator" in kind.knobs:
        settings["generator"] = str(rows_of / "generator")
    # rows that are compared with each other have one sentence
    file = "labelled sentences" if issubclass(kind, methods.FittedClasses) else kind.rows
    return finish(prepare(recipe(place, name, data=(str(rows_of / f"{file}.csv"),), settings=settings)))


def goes_on_to_the_bit(prepared: Prepared, folder: Path) -> None:
    """A run that is stopped after two updates and resumed equals one that is not, as does one that is estimated."""
    learned = made(prepared)
    finish(learned.fit())
    before = updated(learned, 2)
    assert len(before) == 2, "the premise: every loss is finite"
    resume_state.save(folder, resume_state.state_of(learned))
    expected, weights = updated(learned, 2), changing(learned.method)
    other = made(prepared)
    resume_state.restore(other, resume_state.load(folder))
    assert str(updated(other, 2)) == str(expected)  # of a NaN, only the text is equal
    for place_of, value in changing(other.method).items():
        assert torch.equal(value, weights[place_of]), place_of
    tried = made(prepared)
    finish(tried.fit())
    estimate(tried, folder.parent)
    assert str(updated(tried, 2)) == str(before), "the steps of the estimate leave no trace"


def test_what_a_loss_leaves_for_the_update_is_of_that_update_alone(place, tmp_path):
    """A list that the loss fills and a buffer that grows: neither has anything of the estimate."""

    class Remembering(SimCSE):
        def build(self):
            super().build()
            self.latest: list[torch.Tensor] = []
            self.register_buffer("bank", torch.zeros(0, self.width))

        def loss(self, *columns):
            if self.training:
                self.latest.append(self.encode(columns[0]).detach())
                self.bank = torch.cat([self.bank, self.latest[-1]])
            return super().loss(*columns)

        def after_update(self):
            self.counts = [len(part) for part in self.latest]
            self.latest.clear()

    learned = made(finish(prepare(recipe(place, "simcse"))))
    learned.method = Remembering(learned.method.base).to(DEVICE)
    learned.method.latest.append(torch.ones(1, 1))
    estimate(learned, tmp_path)
    assert [part.tolist() for part in learned.method.latest] == [[[1.0]]]
    assert not hasattr(learned.method, "counts")
    assert learned.method.bank.shape == (0, learned.method.width)
