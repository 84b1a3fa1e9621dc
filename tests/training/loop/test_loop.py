"""Test the record of a run: steps, best checkpoint, and scores equal to those of the saved model."""

import json
import math
import os
from importlib.metadata import version

import numpy as np
import pytest
import torch
import yaml

from explorer.data.text_sets import GradedPairs
from explorer.evaluating.kinds.scored_pairs import PairJudge
from explorer.measuring.comparing.learned import sure
from explorer.measuring.comparing.verdict_sentence import is_untrained
from explorer.measuring.geometry.vector_geometry import PROBE
from explorer.measuring.scores.verdict import BETTER, CHANCE
from explorer.progress import finish
from explorer.run_folder import Evaluation, TrainingStep
from explorer.training.loop.measured_facts import spread
from explorer.training.loop.processes import World
from explorer.training.record.recorder import probe
from explorer.training.record.status import FINISHED
from tests.exports import by_sentence_transformers, by_strata, by_transformers
from tests.tiny_models import WIDTH
from tests.trainings import learner, looks, losses, new, spearman, texts_of, train, weights

pytestmark = pytest.mark.device

STEPS, EVERY = 20, 2


@pytest.fixture(scope="module")
def run(place):
    """A run of SG-OPT from end to end, under [CLS] as in the paper."""
    return train(new(place, name="sg-opt", settings={"steps": STEPS, "evaluate_every": EVERY, "pooling": "cls"}))


@pytest.fixture(scope="module")
def three(place):
    """A run of SimCSE with three seeds, of which the second is the best."""
    for seeds in ((4, 1, 3), (1, 3, 4), (3, 4, 1)):  # which is the best is for the machine to say
        found = train(new(place, "simcse", seeds=seeds, settings={"steps": 4}))
        best = max(found.status().results, key=lambda result: result.dev)
        if best.seed == seeds[1]:
            break
    return found


def test_a_run_that_is_finished_says_so_and_has_all_its_files(run):
    status = run.status()
    assert (status.state, status.phase, status.error, status.step, status.total) == (FINISHED, None, "", STEPS, STEPS)
    kinds = {path.name for path in run.folder.iterdir() if not path.name.startswith(".")}
    assert kinds == {"recipe.yaml", "status.json", "metrics.jsonl", "train.log", "probe", "items", "model", "README.md"}
    assert (run.folder / "README.md").read_text() == (run.model / "README.md").read_text()
    assert "finished" in run.log_tail(1)
    assert status.seconds > 0
    assert not list(run.folder.rglob("*.part"))


def test_every_step_is_on_record_once_and_looks_are_from_the_first_to_the_last(run):
    assert list(losses(run)) == list(range(1, STEPS + 1))
    assert list(looks(run)) == list(range(0, STEPS + 1, EVERY))
    assert all(math.isfinite(loss) for loss in losses(run).values())
    rates = {line.step: line.rate for line in run.metrics() if isinstance(line, TrainingStep)}
    warm = STEPS // 10  # the share of the steps in which SG's rate climbs
    for step, rate in rates.items():
        assert rate == pytest.approx(1e-3 * min(step / warm, (STEPS - step + 1) / (STEPS - warm))), step


def test_a_run_is_looked_at_ten_times_even_if_the_paper_looks_less_often(place):
    assert learner(place, steps=45, evaluate_every=1000).evaluate_every == 4
    assert learner(place, steps=45, evaluate_every=3).evaluate_every == 3
    assert learner(place, steps=3, evaluate_every=1000).evaluate_every == 1


def test_the_base_is_scored_before_and_the_verdict_is_the_exported_model_less_it_by_sentence_transformers(run, place):
    verdict = run.status().verdict
    for path, found in ((place.dev, verdict.dev), (place.test, verdict.test)):
        first, second, gold = texts_of(path)
        for told, pooling in ((found.before_as_trained, "cls"), (found.before, "mean")):
            one, other = (by_transformers(place.model, pooling, tuple(side)) for side in (first, second))
            assert told == pytest.approx(spearman(one, other, gold), abs=1e-3), "a folder that declares nothing: mean"
    assert looks(run)[0] == verdict.dev.before_as_trained, "SG's head is read like the base before it has learned"
    assert run.status().base == verdict.dev.before
    for path, found in ((place.dev, verdict.dev), (place.test, verdict.test)):
        first, second, gold = texts_of(path)
        base, tuned = (
            spearman(
                by_sentence_transformers(folder, tuple(first)), by_sentence_transformers(folder, tuple(second)), gold
            )
            for folder in (place.model, run.model)
        )
        assert found.before == pytest.approx(base, abs=1e-3)
        assert found.after == pytest.approx(tuned, abs=1e-3)
        assert found.difference == pytest.approx(tuned - base, abs=1e-3)
    assert verdict.test.low <= verdict.test.difference <= verdict.test.high
    part = verdict.test.training
    assert part.difference == pytest.approx(verdict.test.after - verdict.test.before_as_trained, abs=1e-3)
    assert part.low <= part.difference <= part.high


@pytest.fixture(scope="module")
def untrained(place):
    """Runs that hardly move their base, which declares no pooling: under its default and under [CLS]."""
    still = {"steps": 1, "learning_rate": 1e-7, "weight_decay": 0.0}
    return {
        pooling: train(new(place, "simcse", f"untrained {pooling}".replace(" ", "-"), settings={**still, **settings}))
        for pooling, settings in (("model default", {}), ("cls", {"pooling": "cls"}))
    }


def test_a_base_without_a_pooling_and_a_model_with_its_weights_have_the_same_vectors_and_scores(untrained, place):
    run = untrained["model default"]
    first, second, _ = texts_of(place.test)
    for texts in (tuple(first), tuple(second)):
        before, after = (by_sentence_transformers(folder, texts) for folder in (place.model, run.model))
        assert torch.allclose(before, after, atol=1e-4)
    for found in run.status().verdict.by_use.values():
        assert found.after == pytest.approx(found.before, abs=1e-3)
    assert run.status().verdict.test.kind == CHANCE
    assert run.status().verdict.test.training is None, "all of the difference is due to training"


def test_what_another_pooling_changes_is_not_called_learned_and_training_is_said_to_have_changed_nothing(untrained):
    status = untrained["cls"].status()
    found = status.verdict.test
    assert abs(found.difference) > 1, "the premise: [CLS] scores otherwise than the mean"
    assert found.before_as_trained == pytest.approx(found.after, abs=1e-3)
    assert is_untrained(found)
    assert found.kind != BETTER
    assert all(one.training is not None for one in status.verdict.packs)
    assert not any((status.learned.learned, status.learned.lost, status.learned.closer))
    assert status.facts.poolings == "cls of the last layer in place of mean of the last layer"
    assert f"({status.facts.poolings})" in sure(status.learned)
    assert "training changed nothing" in sure(status.learned)
    assert "training changed nothing" in (untrained["cls"].folder / "README.md").read_text(encoding="utf-8")


def test_the_best_step_is_the_one_with_the_highest_score_after_the_first(run):
    after = {step: score for step, score in looks(run).items() if step}
    best = max(after, key=after.get)
    (result,) = run.status().results
    assert (result.seed, result.steps, result.best_step, result.dev) == (1, STEPS, best, after[best])
    assert (run.status().best, run.status().best_step) == (after[best], best)
    marked = [line.step for line in run.metrics() if isinstance(line, Evaluation) and line.best]
    assert marked == [step for step in after if after[step] > max([0, *(after[s] for s in after if s < step)])]
    assert len(set(after.values())) > 2, "otherwise there is nothing to choose"


@pytest.mark.parametrize("read", [by_strata, by_sentence_transformers])
def test_the_model_in_the_folder_scores_what_the_run_says(run, place, read):
    (result,) = run.status().results
    for path, told in ((place.dev, result.dev), (place.test, result.test)):
        first, second, gold = texts_of(path)
        assert spearman(read(run.model, tuple(first)), read(run.model, tuple(second)), gold) == pytest.approx(
            told, abs=1e-3
        )
    assert result.test != run.status().verdict.test.before


def test_the_recipe_in_the_folder_says_what_was_found(run, place):
    found = yaml.safe_load((run.folder / "recipe.yaml").read_text())["made_with"]
    assert found["data_rows"] == run.status().facts.rows == 24
    assert {len(found[f"{what}_digest"]) for what in ("model", "data", "dev", "test")} == {64}
    assert found["versions"]["torch"] == version("torch")
    assert run.recipe().made_with == found


@pytest.mark.parametrize(("keep", "rows", "steps"), [(True, 48, 12), (False, 24, 6)])
def test_a_sentence_is_trained_on_as_often_as_it_is_in_the_text_unless_duplicates_are_removed(place, keep, rows, steps):
    settings = {"steps": 0, "epochs": 1, "batch_size": 4, "keep_duplicates": keep}
    done = train(new(place, "simcse", data=(str(place.text), str(place.text)), settings=settings))
    assert done.status().facts.rows == rows
    assert done.status().results[0].steps == steps
    assert f"{rows} rows" in (done.folder / "README.md").read_text()


def test_a_probe_of_each_look_is_kept_in_half_precision_of_three_hundred_sentences_at_most(run, place):
    first, second, _ = texts_of(place.dev)
    sentences = json.loads((run.folder / "probe" / "sentences.json").read_text())
    assert set(sentences) == {*first, *second}
    assert len(list((run.folder / "probe").glob("*.npy"))) == len(looks(run))
    for step in looks(run):
        kept = probe(run, 1, step)
        assert (kept.dtype, kept.shape) == (np.float16, (len(sentences), WIDTH))
        assert np.linalg.norm(kept.astype(float), axis=1) == pytest.approx(1, abs=1e-2)
    best = torch.nn.functional.normalize(by_strata(run.model, tuple(sentences))).numpy()
    assert probe(run, 1, run.status().best_step).astype(float) == pytest.approx(best, abs=2e-3)
    assert probe(run, 1, STEPS + 1) is None
    assert probe(run, 2, 0) is None
    texts = tuple(f"the dog runs {' '.join('a' * (number % 9))} {number}" for number in range(400))
    pairs = GradedPairs("many", texts[:200], texts[200:], tuple(float(n % 5) for n in range(200)), ("",) * 200)
    assert finish(learner(place).evaluate(PairJudge(pairs))).probe.shape == (PROBE, WIDTH) == (300, WIDTH)


def test_every_seed_is_trained_and_the_model_is_that_of_the_best(three, place):
    results = three.status().results
    assert [result.seed for result in results] == list(three.recipe().seeds)
    best = max(results, key=lambda result: result.dev)
    assert best is results[1], "the premise: neither the first nor the last"
    first, second, gold = texts_of(place.dev)
    found = spearman(by_strata(three.model, tuple(first)), by_strata(three.model, tuple(second)), gold)
    assert found == pytest.approx(best.dev, abs=1e-3)
    assert len({tuple(losses(three, number).values()) for number in (1, 2, 3)}) == 3
    assert three.status().best == best.dev
    assert three.status().best_step == best.best_step
    for number, result in enumerate(results, start=1):
        assert result.dev == max(score for step, score in looks(three, number).items() if step)


def test_a_seed_among_others_learns_what_it_learns_alone_to_the_bit(three, place):
    alone = train(new(place, "simcse", seeds=three.recipe().seeds[1:2], settings={"steps": 4}))
    assert losses(alone) == losses(three, 2)
    assert looks(alone) == looks(three, 2)
    assert (alone.model / "model.safetensors").read_bytes() == (three.model / "model.safetensors").read_bytes()


@pytest.mark.parametrize("method", ["sg-opt", "simcse-hard"])
def test_a_seed_says_all_there_is_to_say(place, method):
    settings = {"pooling": "mean", "steps": 3}
    one, again, other = (train(new(place, method, seeds=(seed,), settings=settings)) for seed in (5, 5, 6))
    assert losses(one) == losses(again) != losses(other)
    assert weights(one).keys() == weights(other).keys()
    assert (one.model / "model.safetensors").read_bytes() == (again.model / "model.safetensors").read_bytes()
    assert (one.model / "model.safetensors").read_bytes() != (other.model / "model.safetensors").read_bytes()


def test_accumulated_batches_have_the_mean_of_their_gradients(calm, monkeypatch):
    of = learner(calm, accumulate=2, clip=0, pull=0.1)
    for _ in range(2):
        of.update()
    assert float(of.method.regularisation().detach()) > 0, "the pull is the same in both batches and must count once"
    expected = {}
    for number in (4, 5):
        of.optimizer.zero_grad()
        of.method(*of.feed.batch(number)).backward()
        for weight, name in of.names.items():
            expected[name] = expected.get(name, 0) + weight.grad.clone() / 2
    of.optimizer.zero_grad()
    found = {}
    monkeypatch.setattr(
        of.optimizer, "step", lambda: found.update({name: weight.grad.clone() for weight, name in of.names.items()})
    )
    of.update()
    assert found.keys() == expected.keys()
    size = max(gradient.abs().max() for gradient in expected.values())
    for name, gradient in expected.items():
        torch.testing.assert_close(found[name], gradient, atol=1e-6 * float(size), rtol=1e-5)


def test_a_mean_over_seeds_is_told_only_where_every_seed_has_the_number():
    assert spread([70.0, 72.0, 77.0]) == (73.0, pytest.approx(math.sqrt((9 + 1 + 16) / 2)))
    assert spread([1.0, None, 3.0]) is None
    assert spread([70.0]) == (70.0, 0.0)
    assert spread([]) is None


def test_no_thread_ever_finds_the_environment_empty(monkeypatch):
    removed, remove = [], type(os.environ).__delitem__
    monkeypatch.setattr(type(os.environ), "__delitem__", lambda self, name: (removed.append(name), remove(self, name)))
    World("float32", "cpu")
    assert "STRATA_CACHE" in os.environ, "the premise"
    assert removed == []
