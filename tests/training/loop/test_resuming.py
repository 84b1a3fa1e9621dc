"""Test that a stopped or interrupted run resumes as if uninterrupted."""

from dataclasses import replace

import pytest
import torch

from explorer.errors import CannotResume
from explorer.progress import Phase
from explorer.run_folder import RECIPE
from explorer.training.loop import resume_state as states
from explorer.training.record import runs
from explorer.training.record.runs import DISCARD, KEEP
from explorer.training.record.status import FAILED, FINISHED, INTERRUPTED, STOPPED
from tests.training.unbroken import SETTINGS, assert_same, begun, break_off, break_off_at
from tests.trainings import furnish, losses, train, weights

pytestmark = [pytest.mark.device, pytest.mark.usefixtures("small_projection")]


@pytest.fixture(autouse=True)
def scores_of_the_base_are_kept_by_no_other_test(monkeypatch, tmp_path):
    """A run that finds them kept tells less on its way."""
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))


STEPS = SETTINGS["steps"]
LOOK, BEST = Phase.EVALUATING_DEV, Phase.EVALUATING_BEST
# where a run is broken off, in order: number of the seed, steps on record, and the phases of the last tellings
PLACES = {
    "the text is read": (1, 0, Phase.READING_TEXT),
    "a step is tried": (1, 0, Phase.MEASURING_STEP),
    "the base is scored on the first set": (1, 0, Phase.EVALUATING_BASE),
    "the base is scored on the second set": (1, 0, Phase.EVALUATING_BASE, Phase.EVALUATING_BASE),
    "nothing is learned yet": (1, 0, Phase.TRAINING),
    "the first seed is scored": (1, STEPS, BEST),
    "the first seed is done": (1, STEPS, BEST, Phase.TRAINING),
    "the second seed is built": (2, 0, Phase.BUILDING),
    "the last look is taken": (2, STEPS, LOOK),
    "the last seed is done": (2, STEPS, BEST, Phase.TRAINING),
    "the model is to be written": (2, STEPS, Phase.SAVING),
}


# a run is broken off at every third place: what one attempt leaves has to carry the next one a good way
@pytest.mark.parametrize("first", range(3), ids=lambda first: " - ".join(list(PLACES)[first::3]))
def test_a_run_that_was_broken_off_anywhere_ends_as_if_it_never_was(place, whole, first):
    run = begun(place)
    for where in list(PLACES)[first::3]:
        break_off_at(run, *PLACES[where])
        assert not run.model.exists()
        assert "interrupted" in run.log_tail(1)
    train(run)
    assert_same(run, whole[0])


def test_a_run_that_is_broken_off_again_and_again_ends_the_same(place, whole):
    expected, _ = whole
    run, attempts = begun(place), 1
    while break_off(run, 15):
        assert run.status().state == INTERRUPTED
        attempts += 1
    assert attempts > 4
    assert_same(run, expected)


def test_a_run_whose_recipe_was_edited_is_not_resumed(place, whole):
    run = begun(place)
    break_off_at(run, 1, 1, Phase.TRAINING)
    text = (run.folder / RECIPE).read_text()
    for changed, told in (
        (("learning_rate: 0.001", "learning_rate: 0.002"), "learning_rate was 0.001, not 0.002"),
        (("- 1\n- 2\n", "- 1\n- 3\n"), r"seeds was \[1, 2\], not \[1, 3\]"),
    ):
        assert changed[0] in text, "the premise"
        (run.folder / RECIPE).write_text(text.replace(*changed))
        with pytest.raises(CannotResume, match=told):
            train(run)
    (run.folder / RECIPE).write_text(text)
    train(run)
    assert_same(run, whole[0])


def test_to_stop_and_keep_takes_one_step_at_most_and_leaves_a_model_and_a_state(place, whole):
    run = begun(place)
    for step in (1, STEPS - 1):

        def ask(progress, step=step):
            if (progress.stage, progress.done) == ("training", step):
                run.request_stop(KEEP)

        assert train(run, ask) == run
        assert run.status().state == STOPPED
        assert run.stop_requested() == ""
        assert max(losses(run)) <= step + 1
        assert run.model.is_dir()
        state = states.load(run.state)
        assert state.notes["step"] == max(losses(run))
        best = state.under("best/base.model.")
        assert bool(best) == (step > 1), "the first look was not taken yet"
        for name, weight in best.items():
            assert torch.equal(weights(run)[name], weight), name
        assert "stopped; the best checkpoint is saved" in run.log_tail(1)
        runs.restarted(run)
    train(run)
    assert_same(run, whole[0])


def test_to_stop_before_anything_is_learned_leaves_no_model(place, whole):
    run = begun(place)
    train(run, lambda progress: run.request_stop(KEEP))
    assert run.status().state == STOPPED
    assert not run.model.exists()
    assert "stopped before the first update" in run.log_tail(1)
    train(run)
    assert_same(run, whole[0])


def test_to_stop_and_discard_removes_the_folder(place):
    run = begun(place, name="unwanted")
    told = []

    def ask(progress):
        told.append(progress.stage)
        if told.count("training") == 3:
            run.request_stop(DISCARD)

    assert train(run, ask) is None
    assert not run.folder.exists()
    assert "unwanted" not in {path.name.strip(".") for path in run.folder.parent.iterdir()}
    assert told.count("training") <= 4


def test_what_was_estimated_and_scored_at_the_start_is_still_told_afterwards(place):
    run = begun(place)
    train(run, lambda progress: run.request_stop(KEEP) if progress.stage == "training" else None)
    before = run.status().facts
    assert before.estimate.step_seconds > 0
    train(run)
    now = run.status().facts
    assert now.speed.steps > before.speed.steps
    later = {"model_digest": now.model_digest, "ties": now.ties, "speed": now.speed}
    assert now == replace(before, **later), "these are of the saved model, and of all steps"


def test_a_run_is_not_gone_on_with_on_something_else(tmp_path):
    own = furnish(tmp_path)
    run = begun(own)
    train(run, lambda progress: run.request_stop(KEEP) if progress.stage == "training" else None)
    weights = own.model / "model.safetensors"
    for path, told in (
        (own.text, "training text"),
        (own.dev, "dev set"),
        (own.test, "test set"),
        (weights, "base model"),
    ):
        content = path.read_bytes()
        path.write_bytes(content[:-1] + b"\x01" if path == weights else content + b"5,no dog,a dog\n")
        with pytest.raises(CannotResume, match=f"made with another version of the {told} .*Restore that version"):
            train(run)
        assert run.status().state == FAILED, told
        assert f"the {told}" in run.status().error
        path.write_bytes(content)
    train(run)
    assert run.status().state == FINISHED
