"""Test runs that train every layer: the mean of the dev scores after each chooses the checkpoint."""

from statistics import fmean

import pytest

from explorer.encoding.read.head import Head
from explorer.run_folder import Evaluation
from tests.spoiling import encoder_of
from tests.trainings import new, spearman, texts_of, train

SETTINGS = {
    "steps": 4,
    "learning_rate": 0.01,
    "adaptive_layers": True,
    "keep_steps": True,
    "keep_base": False,
    "blend": 1,
}


@pytest.fixture(scope="module")
def run(calm):
    return train(new(calm, "contrast", precision="float32", settings=SETTINGS))


def test_the_checkpoint_is_the_one_with_the_highest_mean_over_encoders_that_are_cut_after_each_layer(calm, run):
    first, second, gold = texts_of(calm.dev)
    lines = [line for line in run.metrics() if isinstance(line, Evaluation)]
    assert [line.step for line in lines] == [0, 1, 2, 3, 4]
    for line in lines:
        encoder = encoder_of(run.folder / "steps" / f"step-{line.step}" if line.step else calm.model)
        sides = [encoder.states(side) for side in (first, second)]
        scores = [
            spearman(*(Head(("mean",))([side.hidden[layer]], side.mask) for side in sides), gold)
            for layer in range(len(sides[0].hidden))
        ]
        assert line.dev == pytest.approx(scores[-1], abs=0.01)
        assert line.every_layer == line.criterion == pytest.approx(fmean(scores), abs=0.01)
    (found,) = run.status().results
    best = max(lines[1:], key=lambda line: line.every_layer)  # the base is left out
    assert (found.best_step, found.criterion, found.dev_at_best_step) == (best.step, best.every_layer, best.dev)


def test_page_and_card_say_by_what_it_was_chosen(run):
    status = run.status()
    assert status.facts.chosen_by == "mean of the dev scores after each of 3 layers"
    assert "chosen on the dev set, by the mean of the scores after each of 3 layers." in (
        run.folder / "README.md"
    ).read_text(encoding="utf-8")
