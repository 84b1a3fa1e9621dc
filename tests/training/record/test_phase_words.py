"""Test that only readers depend on the words of phases: under other words a run ends with the same numbers."""

import json
import shutil

import pytest

from explorer.__main__ import main
from explorer.commands.parts.output import ProgressLine
from explorer.progress import WORDS, Phase
from explorer.run_folder import STATUS
from explorer.training.loop import resume_state as states
from explorer.training.record.runs import KEEP
from explorer.training.record.status import STOPPED
from tests.training.unbroken import assert_same, begun, break_off
from tests.trainings import losses, train

pytestmark = pytest.mark.usefixtures("small_projection")


def test_every_phase_has_words_of_its_own():
    assert set(WORDS) == set(Phase)
    assert len({phase.text("tiny") for phase in Phase}) == len(Phase)


def test_a_run_ends_with_the_same_numbers_if_every_phase_has_the_words_of_another(place, whole, monkeypatch, tmp_path):
    expected, phases = whole
    run, written = begun(place), set()
    others = [*list(WORDS.values())[1:], WORDS[next(iter(Phase))]]
    for phase, words in zip(list(WORDS), others, strict=True):
        monkeypatch.setitem(WORDS, phase, words)

    def stop_in_training(progress):
        status = json.loads((run.folder / STATUS).read_text())
        written.add((status["phase"], status["about"]))
        if (progress.stage, progress.done) == (Phase.TRAINING, 3):
            run.request_stop(KEEP)

    train(run, stop_in_training)
    assert run.status().state == STOPPED
    assert {("loading", str(place.model)), ("evaluating_base", ""), ("training", "")} <= written
    states.forget(run.state)  # as of a run that was killed before its first state
    train(run, stop_in_training)
    third = shutil.copytree(run.state, tmp_path / "third")
    assert break_off(run, phases.index(Phase.EVALUATING_BEST) // 2)
    assert max(losses(run)) > 4, "the premise: there are steps after that state"
    shutil.rmtree(run.state)
    shutil.move(third, run.state)
    named = []
    monkeypatch.setattr(
        ProgressLine, "say", lambda _, text: named.append((text, run.status().phase, run.status().seed))
    )
    assert main(["train", "--resume", run.name, "--out", str(place.runs)]) == 0
    assert named == [(str(run.folder), Phase.TRAINING, 1)], "when training begins"
    assert_same(run, expected)
    log = run.log_tail(1000)
    assert WORDS[Phase.EVALUATING_DEV] in log
    assert WORDS[Phase.TRAINING] not in log, "its steps are in the metrics"
