"""Test runs of TSDAE, whose decoder shares the weights of the encoder: what is saved, resumed and exported."""

import pytest
import torch
from transformers import AutoModel

from explorer.progress import finish
from explorer.training.loop import resume_state
from explorer.training.loop.learner import Learner
from explorer.training.loop.preparing import prepare
from explorer.training.loop.processes import World
from tests.device import DEVICE
from tests.training.unbroken import assert_goes_on, with_stages
from tests.trainings import recipe, weights

pytestmark = pytest.mark.device
SETTINGS = {"steps": 8, "evaluate_every": 2, "batch_size": 6}


@pytest.fixture(scope="module", params=[True, False], ids=["tied", "apart"])
def settings(request):
    return SETTINGS | {"tied": request.param}


@pytest.fixture(scope="module")
def whole(place, settings):
    return with_stages(place, "tsdae", settings=settings)


@pytest.mark.parametrize("share", [0.3, 0.5, 0.9])
def test_a_run_that_was_broken_off_ends_as_if_it_never_was(whole, share):
    """Also after a pass over the 24 rows, with noise that is drawn anew."""
    assert_goes_on(*whole, share)


def test_the_export_is_the_encoder_alone(place, whole):
    run, _ = whole
    plain = AutoModel.from_pretrained(place.model)
    found = weights(run)
    assert set(found) <= set(plain.state_dict())
    assert not torch.equal(
        found["embeddings.word_embeddings.weight"], plain.state_dict()["embeddings.word_embeddings.weight"]
    )


def test_a_state_has_each_tensor_once_and_a_restored_decoder_still_shares(place, tmp_path):
    prepared = finish(prepare(recipe(place, "tsdae", settings=SETTINGS)))
    learner = Learner(prepared, 1, World("float32", DEVICE))
    learner.update()
    learner.fetch()
    learner.record_score(50.0)
    assert all(name.startswith("base.") for name in learner.kept), "the decoder is not exported"
    resume_state.save(tmp_path / "state", resume_state.state_of(learner))
    expected = [learner.update() or learner.fetch() for _ in range(3)]
    other = Learner(prepared, 1, World("float32", DEVICE))
    resume_state.restore(other, resume_state.load(tmp_path / "state"))
    decoder, encoder = other.method.decoder, other.method.base.model
    assert decoder.get_output_embeddings().weight is encoder.get_input_embeddings().weight
    assert str([other.update() or other.fetch() for _ in range(3)]) == str(expected)  # a NaN is equal as text alone
