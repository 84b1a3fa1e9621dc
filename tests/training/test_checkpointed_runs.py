"""Test runs with gradient checkpointing: the same losses and export, an estimate with less memory, and refusals."""

import pytest

from explorer.errors import BadChoice, UnsupportedModel
from explorer.training.loop import estimate
from tests.tiny_models import save_tiny
from tests.trainings import learner, losses, new, train

ON = {"gradient_checkpointing": True}


def test_a_run_has_the_losses_and_the_export_that_it_has_without(place):
    kept, again = (train(new(place, "simcse", settings={"steps": 3} | more)) for more in ({}, ON))
    assert losses(again) == pytest.approx(losses(kept), abs=1e-6)
    assert (again.model / "config.json").read_bytes() == (kept.model / "config.json").read_bytes()
    assert again.recipe().schedule().gradient_checkpointing
    assert "gradient checkpointing" in (again.folder / "README.md").read_text().replace("_", " ")


def test_the_estimate_knows_that_the_activations_of_one_layer_are_held_at_a_time(place):
    kept, again = (learner(place, "simcse", batch_size=8, **more) for more in ({}, ON))
    whole, inputs = (estimate._held_bytes(one, 8) for one in (kept, again))
    found = estimate._activation_bytes(again, 8)
    assert inputs < found < whole == estimate._activation_bytes(kept, 8)
    assert found == pytest.approx(inputs + (whole - inputs) / 2, abs=1), "it has two layers"


def test_what_cannot_compute_its_layers_again_is_refused_before_the_first_step(place, tmp_path):
    model = str(save_tiny("mpnet", tmp_path / "mpnet"))
    with pytest.raises(UnsupportedModel, match="'mpnet' is a mpnet, whose layers transformers cannot compute again"):
        train(new(place, "simcse", model=model, settings=ON))
    with pytest.raises(BadChoice, match="gradient_checkpointing cannot be on where attention heads are dropped"):
        train(new(place, "mirror-bert", settings=ON | {"noise": "drop heads"}))
