"""Test runs that train adapters: what is saved, exported and told."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from explorer.encoding.export.exporting import export
from explorer.encoding.tune.adapters import ALL_LINEAR
from explorer.progress import Phase, finish
from explorer.training.loop import estimate as estimates
from explorer.training.loop.estimate import estimate
from explorer.training.loop.learner import Learner
from explorer.training.loop.measured_facts import Estimate
from tests.exports import by_sentence_transformers, by_transformers
from tests.spoiling import encoder_of
from tests.tiny_models import SENTENCES
from tests.training.unbroken import assert_goes_on
from tests.trainings import learner, new, train, weights

ADAPTED = {"lora_rank": 2, "lora_alpha": 8.0}
SETTINGS = {"steps": 3, "keep_steps": True, "pooling": "cls", **ADAPTED}
TOLD = "LoRA (rank 2, alpha 8, targets attention): 512 weights, beside "


@pytest.fixture(scope="module")
def run(place):
    return train(new(place, "simcse", seeds=(1, 2), settings=SETTINGS))


def base_of(place) -> dict[str, torch.Tensor]:
    return load_file(place.model / "model.safetensors")


def test_the_export_differs_from_the_base_in_query_and_value_alone_and_opens_without_peft_as_every_step_does(
    place, run
):
    base, tuned = base_of(place), weights(run)
    assert set(tuned) == set(base)
    assert {name for name, weight in tuned.items() if not torch.equal(weight, base[name])} == {
        f"encoder.layer.{layer}.attention.self.{part}.weight" for layer in range(2) for part in ("query", "value")
    }
    assert not list(run.model.glob("adapter_*"))
    steps = sorted((run.folder / "steps").iterdir())
    assert len(steps) == 2 * 4
    for folder in (run.model, steps[-1]):
        own = encoder_of(folder).states(list(SENTENCES)).hidden[-1][:, 0]
        assert torch.allclose(by_transformers(folder, "cls", SENTENCES), own, atol=1e-5)
        assert torch.allclose(by_sentence_transformers(folder, SENTENCES), own, atol=1e-5)


def test_the_export_encodes_as_the_trained_model_did(place):
    of = learner_of(place)
    for _ in range(3):
        of.update()
    found = finish(of.method.vectors(list(SENTENCES)))
    folder = Path(place.folder) / "exported by hand"
    export(of.method.exported, of.method.head(), folder, "card", place.model)
    assert torch.allclose(by_sentence_transformers(folder, SENTENCES), found, atol=1e-5)


def test_card_and_run_say_what_was_trained(place, run):
    beside = sum(weight.numel() for name, weight in base_of(place).items() if not name.startswith("pooler."))
    told = f"{TOLD}{beside:,} that do not change"
    assert run.status().facts.adapters.words == told
    card = (run.folder / "README.md").read_text()
    assert f"| Trained weights | {told}; added to the weights of the base |" in card
    assert "| lora\\_rank | **2** | 0 |" in card
    full = train(new(place, "simcse", settings={"steps": 1}))
    assert full.status().facts.adapters is None
    assert "Trained weights" not in (full.folder / "README.md").read_text()


def test_a_run_that_was_broken_off_in_its_second_seed_ends_as_if_it_never_was(run):
    assert_goes_on(run, (2, 1, Phase.TRAINING))


def learner_of(place, method: str = "simcse", **settings) -> Learner:
    return learner(place, method, **{**ADAPTED, **settings})


def test_gradients_moments_and_the_best_weights_are_those_of_the_adapters(place):
    of = learner_of(place, "contrast")
    told = estimate(of, place.folder)
    every = sum(weight.numel() for weight in of.method.base.encoder.model.parameters())
    assert (told.trained, told.weights) == (512, every)
    assert estimates._fixed(of) == 512 * 16
    assert told.kept == every * 4
    full = estimate(learner_of(place, "contrast", lora_rank=0), place.folder)
    assert (full.trained, full.weights) == (every, every)
    assert told.disk < full.disk - 2 * 3 * 4 * every, "two states of weights, moments and the best weights"
    of.record_score(1.0)  # of the base
    of.update()
    of.record_score(1.0)
    assert sum(weight.numel() for weight in of.kept.values()) == 512


def test_the_estimate_tells_how_many_weights_are_trained():
    known = Estimate(1, 89, 0, 0, 0)
    assert "weights" not in known.words
    told = replace(known, trained=147_456, weights=22_713_216).words
    assert told == known.words + "; 147,456 weights are trained (the encoder has 22,713,216)"


def test_the_estimate_tells_apart_the_weights_of_the_encoder_and_those_of_the_method_s_head(place):
    found = estimate(learner_of(place, "simcse", lora_rank=0), place.folder)
    width = 32
    assert found.added == width * width + width, "one dense layer"
    assert found.trained == found.weights + found.added
    assert (
        f"({found.weights:,} of the encoder's {found.weights:,}, and {found.added:,} in the method's head)"
        in found.words
    )
    copies = estimate(learner_of(place, "ct-in-batch", lora_rank=0), place.folder)
    assert copies.added == 1, "the scale; the other copy is an encoder too"


def test_weight_regularisation_is_of_the_whole_weight(place):
    of = learner_of(place, "sg", lora_targets=ALL_LINEAR, pull=1.0)
    assert of.method.regularisation().item() == 0.0, "new adapters change nothing"
    for _ in range(2):
        of.update()
    base = dict(of.method.base.encoder.model.named_parameters())
    own = dict(of.method.base.plain().named_parameters())
    slow = sum(float((own[name].double() - base[name].double()).square().sum()) for name in base)
    assert of.method.regularisation().item() == pytest.approx(slow, rel=1e-3)
    assert slow > 0
