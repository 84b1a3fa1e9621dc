"""Test runs of methods without training steps, also on another run's model."""

import json

import pytest
import torch
import yaml

from explorer.encoding.load import loading
from explorer.encoding.locate.model_names import find
from explorer.errors import BadChoice
from explorer.methods import MODEL_DEFAULT
from explorer.run_folder import TrainingStep
from explorer.training.record.runs import KEEP
from explorer.training.record.status import FINISHED, STOPPED
from tests.exports import by_strata
from tests.trainings import new, recipe, spearman, texts_of, train

FLOW = {"batch_size": 8, "steps": 4}


@pytest.mark.parametrize("name", ["whitening", "wk"])
def test_a_run_without_steps_is_finished_scored_and_a_model(place, name):
    run = train(new(place, name))
    status = run.status()
    assert (status.state, status.step, status.total, status.best_step) == (FINISHED, 0, 0, 0)
    (result,) = status.results
    assert result.best_step == 0
    assert result.dev == pytest.approx(status.best)
    assert [line.step for line in run.metrics()] == [0]
    head = loading.load(find(str(run.model)), precision="float32", device="cpu").head
    assert head is not None
    assert head.facts() == status.facts.reading
    first, second, gold = texts_of(place.test)
    sides = by_strata(run.model, tuple(first)), by_strata(run.model, tuple(second))
    assert result.test == pytest.approx(spearman(*sides, gold), abs=0.01)
    assert "batch_size" not in yaml.safe_load((run.folder / "recipe.yaml").read_text())["settings"]
    assert status.facts.estimate is None


def test_a_flow_stacks_on_a_tuned_model_and_whitening_on_the_flow(place):
    tuned = train(new(place, "simcse", settings={"steps": 2}))
    flow = train(new(place, "flow", model=str(tuned.model), settings={**FLOW, "reads": "cls", "levels": 2}))
    assert len([line.loss for line in flow.metrics() if isinstance(line, TrainingStep)]) == 4
    white = train(new(place, "whitening", model=str(flow.model), settings={"reads": MODEL_DEFAULT, "dimensions": 4}))
    vectors = by_strata(white.model)
    assert vectors.shape[1] == 4
    assert torch.allclose(vectors.norm(dim=1), torch.ones(len(vectors)), atol=1e-4)
    assert yaml.safe_load((white.folder / "recipe.yaml").read_text())["model"] == str(flow.model)
    kinds = [line["type"].rsplit(".", 1)[-1] for line in json.loads((white.model / "modules.json").read_text())]
    assert kinds == ["Transformer", "Pooling", "FlowMap", "Dense", "Normalize"]


def test_a_run_that_is_stopped_while_it_is_fitted_has_no_model_and_is_resumed(place):
    run = new(place, "whitening")
    train(run, lambda progress: run.request_stop(KEEP) if progress.stage == "fitting" else None)
    assert run.status().state == STOPPED
    assert not run.model.exists()
    train(run)
    assert run.status().state == FINISHED
    assert torch.equal(by_strata(run.model), by_strata(train(new(place, "whitening")).model))


def test_a_flow_that_is_broken_off_goes_on_as_if_it_had_not_been(place):
    whole = train(new(place, "flow", settings=FLOW))
    broken = new(place, "flow", settings=FLOW)
    train(
        broken,
        lambda progress: broken.request_stop(KEEP) if (progress.stage, progress.done) == ("training", 2) else None,
    )
    assert broken.status().step == 2
    train(broken)
    flows = [next(run.model.glob("*_FlowMap")) / "model.safetensors" for run in (broken, whole)]
    assert flows[0].read_bytes() == flows[1].read_bytes()


@pytest.mark.parametrize(("name", "told"), [("whitening", True), ("simcse", True), ("wk", False)])
def test_what_the_text_knew_of_the_test_pairs_is_told(place, tmp_path, name, told):
    first, second, _ = texts_of(place.test)
    every = len({*first, *second})
    text = tmp_path / "text.txt"
    text.write_text(place.text.read_text().partition("\n")[2] + f"{first[0]}\n{second[3]}\n{first[0]}\n")
    settings = {"steps": 1} if name == "simcse" else {}
    run = train(new(place, name, data=(str(text),), settings=settings))
    seen = run.status().facts.seen
    assert (seen is None) != told
    words = seen.words if seen else ""
    assert words.startswith(f"2 of the {every} test sentences" if told else "")
    assert bool(seen) == run.status().verdict.optimistic == told
    assert (words in (run.folder / "train.log").read_text()) or not told
    assert ("optimistic" in (run.folder / "README.md").read_text().split("---\n")[2]) == told
    assert not train(new(place, name, settings=settings)).status().facts.seen


def test_a_setting_of_training_is_none_of_a_method_that_trains_nothing(place):
    with pytest.raises(BadChoice, match=r"There is no setting 'batch_size'\. There are: reads, dimensions"):
        recipe(place, "whitening", settings={"batch_size": 4})


@pytest.mark.parametrize("name", ["whitening", "wk"])
def test_what_draws_nothing_is_made_once(place, name):
    with pytest.raises(
        BadChoice, match=f"{name} uses no random numbers, so every seed gives the same result. Give one seed."
    ):
        recipe(place, name, seeds=(1, 2))
    assert recipe(place, "flow", seeds=(1, 2)).seeds == (1, 2)
