"""Test runs that train a cut encoder, or one whose weights TSDAE's decoder shares: compared, resumed and exported."""

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModel

from explorer.encoding.read.head import Head
from explorer.encoding.tune import editing
from explorer.errors import BadChoice
from explorer.progress import Phase, finish
from explorer.training.loop import resume_state
from explorer.training.loop.learner import Learner
from explorer.training.loop.preparing import prepare
from explorer.training.loop.processes import World
from explorer.training.record.status import FAILED
from tests.device import DEVICE
from tests.exports import by_sentence_transformers, by_strata
from tests.spoiling import encoder_of
from tests.training.unbroken import assert_goes_on
from tests.trainings import learner, new, recipe, spearman, texts_of, train, weights

pytestmark = pytest.mark.device
SETTINGS = {"steps": 2, "keep_layers": 1, "keep_steps": True}


@pytest.fixture(scope="module", params=[{}, {"target": "similarities", "lora_rank": 2}], ids=["vectors", "adapters"])
def run(place, request):
    return train(new(place, "distil", seeds=(1, 2), settings=SETTINGS | request.param))


def test_a_run_that_was_broken_off_in_its_second_seed_ends_as_if_it_never_was(run):
    assert_goes_on(run, (2, 1, Phase.TRAINING))


def test_the_export_and_every_step_have_the_layers_that_remain(place, run):
    base, found = load_file(place.model / "model.safetensors"), weights(run)
    removed = {name for name in base if name.startswith("encoder.layer.1.")}
    assert removed
    assert set(found) == set(base) - removed
    for folder in (run.model, *(run.folder / "steps").iterdir()):
        assert encoder_of(folder).model.config.num_hidden_layers == 1
        assert torch.allclose(by_strata(folder), by_sentence_transformers(folder), atol=1e-5)


def test_before_is_the_whole_model_and_same_is_the_cut_one(place, run):
    encoder = encoder_of(place.model)
    cut = editing.cut(encoder, 1)
    status = run.status()
    for path, scores in ((place.dev, status.verdict.dev), (place.test, status.verdict.test)):
        first, second, gold = texts_of(path)
        for one, found in ((encoder, scores.before), (cut, scores.before_as_trained)):
            sides = [one.states(side) for side in (first, second)]
            expected = spearman(*(Head(("mean",))(side.hidden, side.mask) for side in sides), gold)
            assert found == pytest.approx(expected, abs=0.01)
        sides = (by_sentence_transformers(run.model, tuple(side)) for side in (first, second))
        assert scores.after == pytest.approx(spearman(*sides, gold), abs=0.01)


def test_card_and_run_say_what_was_cut(place, run):
    encoder = encoder_of(place.model)
    kept, every = editing.cut(encoder, 1).model.num_parameters(), encoder.model.num_parameters()
    told = f"the first 1 of 2 layers ({kept:,} of {every:,} weights)"
    status = run.status()
    assert status.facts.cut.words == told
    assert status.facts.reading.words == "mean of layer 1"
    cell = status.facts.reading.cell(2)
    assert (cell.row.layers, cell.pooling) == ((1,), "mean"), "Compare finds the base's cell"
    card = (run.folder / "README.md").read_text()
    assert f", cut to {told}, fine-tuned with Strata by the method" in card
    assert "| base, mean of layer 1 |" in card
    assert train(new(place, "simcse", settings={"steps": 1})).status().facts.cut is None


def test_a_state_holds_the_cut_encoder_and_not_the_whole_one(place, tmp_path):
    of = learner(place, "distil", **SETTINGS)
    of.update()
    of.fetch()
    state = resume_state.state_of(of)
    assert not [name for name in state.tensors if "teacher" in name or "layer.1." in name]
    assert {name.split("/")[0] for name in state.tensors} == {"method", "optimizer", "random"}


def test_early_stopping_and_bfloat16_work(place):
    settings = {"steps": 20, "evaluate_every": 1, "keep_layers": 1, "early_stop": "no new best", "endurance": 2}
    status = train(new(place, "distil", precision="bfloat16", settings=settings | {"learning_rate": 1e-2})).status()
    (result,) = status.results
    assert result.steps <= 20
    assert result.test is not None


def test_a_bad_number_of_layers_ends_the_run_before_its_first_step(place):
    run = new(place, "distil", settings={"keep_layers": 2})
    with pytest.raises(BadChoice, match=r"keep_layers cannot be 2: .* has 2 layers, and none would be removed"):
        train(run)
    assert run.status().state == FAILED
    assert not list(run.metrics())


TSDAE = {"steps": 3, "batch_size": 12}


@pytest.fixture(scope="module", params=[True, False], ids=["tied", "apart"])
def with_decoder(place, request):
    return train(new(place, "tsdae", seeds=(1, 2), settings=TSDAE | {"tied": request.param}))


def test_a_run_of_tsdae_that_was_broken_off_twice_ends_as_if_it_never_was(with_decoder):
    """Also after a pass over the 24 rows, with noise that is drawn anew."""
    assert_goes_on(with_decoder, (1, 3, Phase.EVALUATING_BEST), (2, 2, Phase.TRAINING))


def test_the_export_is_the_encoder_alone(place, with_decoder):
    plain = AutoModel.from_pretrained(place.model)
    found = weights(with_decoder)
    assert set(found) <= set(plain.state_dict())
    assert not torch.equal(
        found["embeddings.word_embeddings.weight"], plain.state_dict()["embeddings.word_embeddings.weight"]
    )


def test_a_state_has_each_tensor_once_and_a_restored_decoder_still_shares(place, tmp_path):
    prepared = finish(prepare(recipe(place, "tsdae", settings=TSDAE)))
    learned = Learner(prepared, 1, World("float32", DEVICE))
    learned.update()
    learned.fetch()
    learned.record_score(50.0)
    assert all(name.startswith("base.") for name in learned.kept), "the decoder is not exported"
    resume_state.save(tmp_path / "state", resume_state.state_of(learned))
    expected = [learned.update() or learned.fetch() for _ in range(3)]
    other = Learner(prepared, 1, World("float32", DEVICE))
    resume_state.restore(other, resume_state.load(tmp_path / "state"))
    decoder, encoder = other.method.decoder, other.method.base.model
    assert decoder.get_output_embeddings().weight is encoder.get_input_embeddings().weight
    assert str([other.update() or other.fetch() for _ in range(3)]) == str(expected)  # a NaN is equal as text alone
