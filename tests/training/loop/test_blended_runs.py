"""Test runs that blend their best checkpoint with the base: the weights, the share, what is reported, and resuming."""

import pytest
import torch
from sentence_transformers import SentenceTransformer
from transformers import AutoModel

from explorer.errors import BadChoice
from explorer.progress import Phase
from explorer.run_folder import Evaluation
from tests import trainings
from tests.training.unbroken import assert_goes_on

FAST = {"learning_rate": 1e-2, "steps": 3}


@pytest.fixture(scope="module")
def tuned(place):
    """The run that is not blended."""
    run = trainings.new(place, "simcse", "blend-tuned", settings=FAST)
    trainings.train(run)
    return run


def blended(place, name, method="simcse", **settings):
    run = trainings.new(place, method, f"blend-{name}", settings={**FAST, **settings})
    trainings.train(run)
    return run


def base_weights(place):
    return dict(AutoModel.from_pretrained(place.model, add_pooling_layer=False).named_parameters())


def test_the_saved_weights_are_those_of_the_same_run_blended_by_hand(place, tuned):
    run, base = blended(place, "quarter", blend=0.25), base_weights(place)
    found, whole = trainings.weights(run), trainings.weights(tuned)
    for name, weight in base.items():
        by_hand = (0.75 * weight.double() + 0.25 * whole[name].double()).float()
        assert torch.allclose(found[name], by_hand, atol=1e-6), name
    status = run.status()
    assert status.facts.blend == 0.25
    assert [one.blend for one in status.results] == [0.25]
    assert "0.25" in (run.folder / "README.md").read_text(encoding="utf-8")
    assert "blend" not in tuned.status().results[0].as_json()


def test_adapters_are_scaled(place):
    settings = {"lora_rank": 2, "lora_targets": "all linear"}
    half, whole = (trainings.weights(blended(place, f"lora-{at}", blend=at, **settings)) for at in (0.5, 1.0))
    for name, weight in base_weights(place).items():
        assert torch.allclose(half[name] - weight, (whole[name] - weight) / 2, atol=1e-6), name


def test_the_share_that_is_chosen_scores_best_and_the_verdict_is_of_what_is_saved(place):
    slow = {"learning_rate": 3e-3, "steps": 1}
    with trainings.few_shares():
        run = blended(place, "chosen", blend=0, **slow)
    (result,) = run.status().results
    at = {alpha: blended(place, f"at-{alpha}", blend=alpha, **slow) for alpha in trainings.FEW_SHARES}
    scores = {alpha: one.status().results[0].dev for alpha, one in at.items()}
    assert result.dev == scores[result.blend] == max(scores.values())
    assert result.blend == trainings.FEW_SHARES[1], "the premise: neither the first nor the last is the best"
    first, second, gold = trainings.texts_of(place.test)
    library = SentenceTransformer(str(run.model), device="cpu")
    sides = (library.encode(texts, convert_to_tensor=True) for texts in (first, second))
    assert run.status().verdict.test.after == pytest.approx(trainings.spearman(*sides, gold), abs=1e-3)


def test_the_dev_score_of_the_saved_model_and_that_of_the_best_step_are_two_numbers(place):
    run = blended(place, "two-numbers", blend=0.5)
    status, (result,) = run.status(), run.status().results
    best = [line for line in run.metrics() if isinstance(line, Evaluation) and line.best][-1]
    assert result.dev == status.verdict.dev.after
    assert result.dev_at_best_step == status.best == best.dev
    assert result.dev != result.dev_at_best_step, "the premise: a blend scores otherwise"
    (done,) = [line for line in run.log_tail().splitlines() if "seed done" in line]
    assert f"dev {result.dev:.2f}" in done
    assert f"dev_at_best_step {result.dev_at_best_step:.2f}" in done


def test_a_run_that_is_broken_off_while_it_blends_ends_the_same(place):
    # two copies are blended, of which one is saved
    settings = {**FAST, "blend": 0, "steps": 2}
    dev, best = Phase.EVALUATING_DEV, Phase.EVALUATING_BEST
    in_blending = [dev] * 5  # two evaluations of each share
    with trainings.few_shares():
        whole = trainings.train(trainings.new(place, "ct", "blend-whole", seeds=(1, 2), settings=settings))
        assert_goes_on(whole, (1, 2, *in_blending), (1, 2, best, best), (2, 2, Phase.SAVING))


def test_a_model_with_weights_that_the_base_lacks_is_refused_before_it_is_trained(place):
    run = trainings.new(place, "simcse-hard", "blend-refused", data=(str(place.triplets),), settings={"blend": 0.5})
    with pytest.raises(BadChoice, match=r"blend cannot be 0\.5 here: the saved model has weights after the encoder"):
        trainings.train(run)
    assert run.status().step == 0
