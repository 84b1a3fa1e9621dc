"""Test that evaluations do not move training: as many as steps, or one at the end, give the same weights to the bit."""

import random

import pytest
import torch

from explorer import methods
from explorer.data.text_sets import BACK_TRANSLATIONS, PAIRS, SCORED_PAIRS, SENTENCES, TRIPLETS
from explorer.measuring.geometry import vector_geometry
from explorer.training.loop import learner
from explorer.training.loop.learner import Learner
from explorer.training.loop.loop import Training
from tests import trainings

STEPS = 6
# of each family that draws numbers, the method that draws the most
ONE_OF_EACH = ("bt-sg-opt", "simcse-hard", "conisi-o1", "layer-attention-diffcse", "flow")
# every source of random numbers that is off by default
DRAWING = {
    "sg": {"guide_dropout": True},
    "sg-opt": {"guide_dropout": True, "objective": "opt1"},
    "bt": {"guide_dropout": True, "guided": True},
    "bt-sg-opt": {"guide_dropout": True},
    "diffcse": {"generator_dropout": True},
    "layer-attention-diffcse": {"generator_dropout": True},
    "flow": {"dropout": True, "levels": 2},
}
ON_TRIPLETS = {"select_by": "both"}  # an evaluation of the held-out triplets too


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return trainings.furnish(tmp_path_factory.mktemp("place"))


@pytest.fixture(scope="module")
def texts(place):
    """A file for each kind of rows."""
    drawn = random.Random(3)
    pairs = zip(trainings._phrases(drawn, 24), trainings._phrases(drawn, 24), strict=True)
    triplets = zip(*(trainings._phrases(drawn, 120) for _ in range(3)), strict=True)
    files = {
        TRIPLETS: ["anchor,positive,negative", *map(",".join, triplets)],
        BACK_TRANSLATIONS: ["sentence,back_translation", *map(",".join, pairs)],
        SCORED_PAIRS: ["score,sentence1,sentence2", *trainings._graded(drawn, 24)],
    }
    for kind, lines in files.items():
        (place.folder / f"{kind}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {kind: place.folder / f"{kind}.csv" for kind in files} | {SENTENCES: place.text, PAIRS: place.triplets}


def trained(place, texts, name, tmp_path, monkeypatch, every):
    """Losses and weights after the last step, the random state, and how many evaluations there were."""
    kind = methods.load(name)
    settings = {"steps": STEPS, **DRAWING.get(name, {}), **(ON_TRIPLETS if kind.rows == TRIPLETS else {})}
    recipe = trainings.recipe(place, name, data=(str(texts[kind.rows]),), settings=settings)
    monkeypatch.setattr(Learner, "evaluate_every", every)
    work, found, looked = Training(recipe, tmp_path), [], 0
    with trainings.in_no_time():
        for step in work.steps():
            looked += step.checkup is not None
            found += [torch.tensor(update.loss) for update in step.updates]
            if step.updates and step.step == STEPS:
                found += [value.clone() for value in work.learner.method.state_dict().values()]
                found.append(torch.get_rng_state())
    return found, looked


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_run_that_is_evaluated_at_every_step_has_the_weights_of_one_that_is_not(
    place, texts, name, tmp_path, monkeypatch
):
    often, looks = trained(place, texts, name, tmp_path, monkeypatch, every=1)
    seldom, few = trained(place, texts, name, tmp_path, monkeypatch, every=STEPS)
    assert (looks, few) == (STEPS + 1, 2), "step 0 and the last step"
    assert same(often, seldom)


def test_an_evaluation_that_drew_a_number_would_be_seen(place, texts, tmp_path, monkeypatch):
    def drawing(*seen):
        torch.rand(1)
        return vector_geometry.checkup(*seen)

    monkeypatch.setattr(learner, "checkup", drawing)
    often, _ = trained(place, texts, "simcse", tmp_path, monkeypatch, every=1)
    seldom, _ = trained(place, texts, "simcse", tmp_path, monkeypatch, every=STEPS)
    assert not same(often, seldom)
