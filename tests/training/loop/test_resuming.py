"""Test that a stopped or interrupted run resumes as if uninterrupted."""

import pytest
import torch

from explorer.errors import CannotResume
from explorer.progress import Phase
from explorer.run_folder import RECIPE
from explorer.training.loop import resume_state as states
from explorer.training.record import runs
from explorer.training.record.runs import DISCARD, KEEP
from explorer.training.record.status import FAILED, FINISHED, INTERRUPTED, STOPPED
from tests.training.unbroken import assert_same, begun, break_off
from tests.trainings import furnish, losses, train, weights

pytestmark = [pytest.mark.device, pytest.mark.usefixtures("small_projection")]


@pytest.fixture(autouse=True)
def scores_of_the_base_are_kept_by_no_other_test(monkeypatch, tmp_path):
    """A run that finds them kept tells less on its way."""
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))


def places(stages: list[str]) -> dict[str, int]:
    """One telling of each kind, by name: how many there are up to it."""
    last = len(stages) - 1 - stages[::-1].index(Phase.EVALUATING_DEV)
    base = [number for number, stage in enumerate(stages, start=1) if stage == Phase.EVALUATING_BASE]
    return {
        "the text is read": stages.index(Phase.READING_TEXT) + 1,
        "a step is tried": stages.index(Phase.MEASURING_STEP) + 1,
        "the base is scored on the first set": base[0],
        "the base is scored on the second set": base[1],
        "nothing is learned yet": stages.index(Phase.TRAINING) + 1,
        "the first seed is scored": stages.index(Phase.EVALUATING_BEST) + 1,
        "the first seed is done": stages.index(Phase.EVALUATING_BEST) + 3,
        "the second seed is built": len(stages) - stages[::-1].index(Phase.BUILDING),
        "the last look is taken": last + 1,
        "the last seed is done": len(stages) - 1,
        "the model is to be written": len(stages),
    }


STAGES = (Phase.READING_TEXT, Phase.MEASURING_STEP, *[Phase.EVALUATING_BASE] * 2, Phase.TRAINING)
LATER = (Phase.EVALUATING_BEST, Phase.BUILDING, Phase.EVALUATING_DEV)
NAMES = list(places([*STAGES, *LATER]))


@pytest.mark.parametrize("where", NAMES)
def test_a_run_that_was_broken_off_anywhere_ends_as_if_it_never_was(place, whole, where):
    expected, stages = whole
    run = begun(place)
    break_off(run, places(stages)[where])
    assert run.status().state == INTERRUPTED
    assert not run.model.exists()
    assert "interrupted" in run.log_tail(1)
    train(run)
    assert_same(run, expected)


def test_a_run_that_is_broken_off_again_and_again_ends_the_same(place, whole):
    expected, _ = whole
    run, attempts = begun(place), 1
    while break_off(run, 14):
        assert run.status().state == INTERRUPTED
        attempts += 1
    assert attempts > 4
    assert_same(run, expected)


def test_a_run_whose_recipe_was_edited_is_not_resumed(place, whole):
    run = begun(place)
    break_off(run, places(whole[1])["nothing is learned yet"] + 2)
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


@pytest.mark.parametrize("step", [1, 5])
def test_to_stop_and_keep_takes_one_step_at_most_and_leaves_a_model_and_a_state(place, whole, step):
    run = begun(place)

    def ask(progress):
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
    assert bool(best) == (step == 5), "the first look was not taken yet"
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
    assert run.status().facts == before


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
