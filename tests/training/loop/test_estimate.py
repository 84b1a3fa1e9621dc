"""Test that a run is estimated, and that one that would not fit is refused."""

import re
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch

from explorer import fair_share
from explorer.data.sources import scored_pairs
from explorer.encoding.load import hardware
from explorer.errors import BadChoice, RunTooLarge
from explorer.evaluating.kinds.scored_pairs import PairJudge
from explorer.progress import Phase, Progress, finish
from explorer.training.loop import computed, resume_state
from explorer.training.loop import estimate as estimates
from explorer.training.loop.estimate import estimate, try_out
from explorer.training.loop.learner import Learner
from explorer.training.loop.measured_facts import Estimate
from explorer.training.loop.preparing import prepare
from explorer.training.loop.processes import World
from explorer.training.recipe import Recipe
from explorer.training.record import runs
from explorer.training.record.runs import KEEP
from explorer.training.record.status import FAILED
from tests.device import DEVICE
from tests.tiny_models import save_tiny
from tests.trainings import TIMED, new, recipe, train

pytestmark = pytest.mark.device


def learner(place, method="simcse", seed=1, **settings) -> Learner:
    return Learner(finish(prepare(recipe(place, method, settings=settings))), seed, World("float32", DEVICE))


@pytest.fixture(autouse=True)
def timed_as_for_users(monkeypatch):
    for name, value in TIMED.items():
        monkeypatch.setattr(estimates, name, value)


@pytest.fixture
def free(monkeypatch):
    """Set how much memory is free, for the trial alone: to load a model is another question."""
    return lambda amount: monkeypatch.setattr(
        estimates, "hardware", SimpleNamespace(**vars(hardware) | {"free_memory": lambda device: int(amount)})
    )


def test_room_is_asked_for_every_step_that_is_kept(place):
    few = estimate(learner(place, steps=4, evaluate_every=2), place.folder).disk
    kept = learner(place, steps=4, evaluate_every=2, keep_steps=True)
    model = sum(weight.numel() * 4 for weight in kept.method.base.parameters())
    assert kept.schedule.evaluation_interval(kept.total) == 1
    assert estimate(kept, place.folder, seeds=3).disk == few + 3 * 5 * model


@pytest.mark.parametrize("method", ["simcse", "sg", "conisi-s"])
def test_to_try_a_step_moves_no_weight_and_draws_nothing(place, method):
    tried, untried = learner(place, method), learner(place, method)
    before = resume_state.state_of(tried)
    kept = {name: tensor.clone() for name, tensor in before.tensors.items()}
    estimate(tried, place.folder)
    after = resume_state.state_of(tried)
    assert after.notes == before.notes
    assert after.tensors.keys() == kept.keys()
    for name, tensor in after.tensors.items():
        assert torch.equal(tensor, kept[name]), name
    assert not [name for weight, name in tried.names.items() if weight.grad is not None]
    assert not tried.optimizer.state
    states = [after.tensors["random/cpu"], resume_state.state_of(learner(place, method)).tensors["random/cpu"]]
    assert torch.equal(*states), "the premise: both would draw the same"
    losses = []
    for of in (tried, untried):
        torch.manual_seed(1)  # of a GPU's random numbers, too
        for _ in range(3):
            of.update()
        losses.append([update.loss for update in of.fetch()])
    assert losses[0] == losses[1]


def test_a_step_that_fails_in_the_trial_leaves_what_is_drawn_as_it_was(place, monkeypatch):
    of = learner(place)
    before = torch.get_rng_state()

    def fails(*columns):
        torch.rand(3)
        raise RuntimeError("no luck")

    monkeypatch.setattr(of.method, "loss", fails)
    with pytest.raises(RuntimeError, match="no luck"):
        estimate(of, place.folder)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_batch_that_does_not_fit_is_refused_with_the_largest_that_does(place, free):
    whole = estimate(learner(place, batch_size=16), place.folder)
    fixed = estimates._fixed(learner(place))
    a_row = (whole.memory - fixed) / 16
    assert a_row > 1000
    free(1.1 * (fixed + 11.5 * a_row))
    with pytest.raises(RunTooLarge, match=r"A batch of 16 needs about \S+ MB of memory, but \S+ MB are") as refused:
        estimate(learner(place, batch_size=16), place.folder)
    (fits,) = re.findall(r"Set batch_size to (\d+), or lower max_length", str(refused.value))
    assert "not the negatives" in str(refused.value)
    estimate(learner(place, batch_size=int(fits)), place.folder)
    if DEVICE == "cpu":  # a GPU's peak is measured, and no multiple of a row's
        assert int(fits) == 11
        with pytest.raises(RunTooLarge, match="Set batch_size to 11"):
            estimate(learner(place, batch_size=12), place.folder)


def test_where_not_even_two_rows_fit_a_smaller_model_is_named(place, free):
    free(1.1 * estimates._fixed(learner(place)))
    with pytest.raises(RunTooLarge, match="No batch of this model fits: choose a smaller model"):
        estimate(learner(place), place.folder)


def test_a_disk_that_is_too_small_is_told_before_an_hour_of_work(place, monkeypatch):
    needed = estimate(learner(place), place.folder).disk
    monkeypatch.setattr(estimates.shutil, "disk_usage", lambda folder: SimpleNamespace(free=needed))
    with pytest.raises(RunTooLarge, match=r"The run needs \S+ [KM]B in .*Make room, or set STRATA_RUNS"):
        estimate(learner(place), place.folder)
    monkeypatch.setattr(estimates.shutil, "disk_usage", lambda folder: SimpleNamespace(free=1.11 * needed))
    assert estimate(learner(place), place.folder).disk == needed


def test_what_is_estimated_covers_what_a_run_then_takes(place):
    of = learner(place, "sg", batch_size=4)
    told = estimate(of, place.folder)
    of.update()
    of.record_score(1.0)
    assert not [weight.grad for weight in of.names if weight.grad is not None], "they are let go after each update"
    moments = sum(one.nbytes for state in of.optimizer.state.values() for key, one in state.items() if key != "step")
    gradients = sum(weight.nbytes for weight in of.names)
    assert moments == 2 * gradients
    assert moments + gradients + sum(weight.nbytes for weight in of.kept.values()) <= estimates._fixed(of) < told.memory
    run = new(place, "sg")
    train(run, lambda progress: run.request_stop(KEEP) if progress.stage == "training" and progress.done == 5 else None)
    states = sum(path.stat().st_size for path in run.state.rglob("*"))
    model = sum(path.stat().st_size for path in run.model.rglob("*") if path.suffix == ".safetensors")
    assert min(states, model) > 50_000
    assert 2 * states + model <= told.disk + 20_000  # names and notes


def test_the_time_is_that_of_all_steps_of_all_seeds(place, monkeypatch):
    of, clock, gradients = learner(place, steps=7, accumulate=2), [0.0], Learner.gradients

    def slowly(of, batch):
        clock[0] += 2.0
        return gradients(of, batch)

    monkeypatch.setattr(Learner, "gradients", slowly)
    monkeypatch.setattr(estimates.time, "monotonic", lambda: clock[0])
    told = estimate(of, place.folder, seeds=3)
    assert told.step_seconds == 2.0 * 2, "two batches in an update"
    assert told.seconds == told.step_seconds * 7 * 3, "evaluations take no time by this clock"
    words = Estimate(0.214, 200, 1_200_000_000, 18_300_000_000, 400_000_000).words
    assert words == "0.21 s per step, about 3 min in all; 1.2 GB of memory (18.3 GB free), 400 MB on disk"
    assert "about 89 s in all" in Estimate(1, 89, 0, 0, 0).words


def test_a_disturbance_of_one_try_is_not_in_the_time(place, monkeypatch):
    of, clock, gradients = learner(place, steps=60), [0.0], Learner.gradients
    tried = []

    def disturbed(of, batch):
        tried.append(batch)
        clock[0] += 1.5 if len(tried) == estimates.TIMES else 0.5  # of the first batches, once
        return gradients(of, batch)

    monkeypatch.setattr(estimates, "_activation_bytes", lambda *_: 1)
    monkeypatch.setattr(of.feed, "longest", of.feed.batch)
    monkeypatch.setattr(Learner, "gradients", disturbed)
    monkeypatch.setattr(estimates.time, "monotonic", lambda: clock[0])
    assert estimate(of, place.folder).step_seconds == 0.5
    assert len(tried) == estimates.BATCHES * estimates.TIMES
    assert len({tuple(map(tuple, batch)) for batch in tried}) > 1, "batches of one length say little of the others"


def test_steps_that_take_long_are_tried_once(place, monkeypatch):
    of, clock, tried = learner(place, steps=60), [0.0], []

    def slowly(batch, share=1.0):
        tried.append(batch)
        clock[0] += 2 * estimates.PATIENCE
        return torch.zeros(())

    monkeypatch.setattr(of, "gradients", slowly)
    monkeypatch.setattr(estimates.time, "monotonic", lambda: clock[0])
    assert estimates._step_seconds(of) == 2 * estimates.PATIENCE
    assert len(tried) == 1


@pytest.mark.parametrize("made_with", [{}, {computed.THREADS: 3}])
def test_a_step_is_tried_with_as_many_threads_as_the_run_has(place, monkeypatch, made_with):
    """Other work has fewer while others compute, such as the browser that draws the form: times would double."""
    given, seen, gradients = recipe(place, made_with=made_with), [], Learner.gradients

    def seen_with(of, *batch, **how):
        seen.append(torch.get_num_threads())
        return gradients(of, *batch, **how)

    monkeypatch.setattr(Learner, "gradients", seen_with)
    monkeypatch.setattr(fair_share, "at_start", lambda: 2)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        finish(try_out(given))
        tried, seen[:] = {*seen}, []
        assert torch.get_num_threads() == 1
        train(runs.new(given, "", place.runs))
    finally:
        torch.set_num_threads(threads)
    assert tried == {*seen} == {made_with.get(computed.THREADS, 2)}


def test_evaluations_take_the_time_of_their_sentences(place, monkeypatch):
    of, clock = learner(place, steps=20, evaluate_every=2), [0.0]

    def vectors(sentences, *_):
        clock[0] += 2.0 * len(sentences)
        yield Progress("encoding sentences", len(sentences), len(sentences))

    of.method.vectors = vectors
    monkeypatch.setattr(estimates.time, "monotonic", lambda: clock[0])
    dev, test = (scored_pairs(str(path))[0] for path in (place.dev, place.test))
    training = estimate(of, place.folder, 3).seconds
    every_evaluation = 11 * 3 * len(dev.sentences)  # at steps 0, 2, … 20 of three seeds
    base_and_best = (1 + 3) * (len(dev.sentences) + len(test.sentences))
    assert training == 2 * every_evaluation, "steps take no time by this clock"
    judges = {"dev": PairJudge(dev), "elsewhere 1": PairJudge(test)}
    judged = estimate(of, place.folder, 3, judges)
    assert judged.seconds == 2 * (every_evaluation + base_and_best)
    known = estimate(of, place.folder, 3, judges, known={"elsewhere 1"}, elsewhere={"elsewhere 1"})
    assert judged.seconds - known.seconds == 2 * len(test.sentences), "the base is not scored again"
    assert known.elsewhere == 2 * 3 * len(test.sentences)
    assert "in all (3 min of it elsewhere);" in replace(known, elsewhere=180.0).words


def test_a_run_that_does_not_fit_fails_in_words_and_can_be_started_smaller(place, free):
    free(1000)
    run = new(place, "simcse")
    with pytest.raises(RunTooLarge, match="No batch of this model fits"):
        train(run)
    assert run.status().state == FAILED
    assert "choose a smaller model" in run.status().error
    assert run.status().details == "", "a trace of the program would help nobody"
    assert not run.model.exists()


def test_a_recipe_is_tried_without_leaving_a_trace(place, monkeypatch):
    folder = place.folder / "none" / "yet"
    monkeypatch.setenv("STRATA_RUNS", str(folder))
    stages = []
    told = finish(try_out(recipe(place, seeds=(1, 2))), lambda progress: stages.append(progress.stage))
    assert stages[-1] == Phase.MEASURING_STEP
    assert told.seconds > told.step_seconds * 6 * 2, "evaluations take time too"
    assert not folder.parent.exists()
    with pytest.raises(BadChoice, match="Did you mean 'steps'"):
        finish(try_out(Recipe("sg", settings={"stepps": 1})))


def test_a_decoder_is_not_trained_on_its_first_token(place, tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path))
    model = str(save_tiny("gpt2", tmp_path / "decoder"))
    with pytest.raises(BadChoice, match=r"reads from left to right.*Set pooling to mean"):
        finish(try_out(recipe(place, "simcse", model=model, settings={"pooling": "cls"})))
    finish(try_out(recipe(place, "simcse", model=model)))


def test_memory_that_runs_out_in_a_trial_is_an_error_with_a_smaller_batch(place, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(place.folder / "runs"))
    error = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
    monkeypatch.setattr(Learner, "gradients", Mock(side_effect=error))
    with pytest.raises(RunTooLarge, match=r"with batches of 4\. Set batch_size to 2 and accumulate to 2"):
        finish(try_out(recipe(place)))
    monkeypatch.setattr(Learner, "gradients", Mock(side_effect=RuntimeError("another one")))
    with pytest.raises(RuntimeError, match="another one"):
        finish(try_out(recipe(place)))


def test_a_peak_that_was_measured_counts_with_the_moments_and_the_copy_that_come_later(place, monkeypatch, free):
    monkeypatch.setattr(estimates, "_peak_of", lambda learner, rows: 10**9)
    of = learner(place)
    needed = 10**9 + estimates._fixed(of) * 3 // 4
    free(2 * needed)
    assert estimate(of, place.folder).memory == needed
    free(needed)
    with pytest.raises(RunTooLarge, match=r"A batch of 4 needs about 1\.1 GB .* Set batch_size to 3"):
        estimate(of, place.folder)


def test_a_batch_that_only_the_temporaries_of_a_backward_pass_make_too_large_is_not_tried(place, monkeypatch, free):
    tried = []

    def peak(learner, rows):
        tried.append(rows)
        return 5 * 10**9 + rows * 10**8

    of = learner(place, batch_size=16)
    monkeypatch.setattr(estimates, "_peak_of", peak)
    free(10**9)
    with pytest.raises(RunTooLarge, match=r"A batch of 16 needs about 1\.76 GB of memory.* Set batch_size to 9"):
        estimate(of, place.folder)
    assert max(tried) == 8
