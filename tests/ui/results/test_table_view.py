"""Test that a run's own scores are left out exactly where its model was evaluated, whatever it is called."""

from dataclasses import replace

import pytest

from explorer.evaluating.results import result_files
from explorer.evaluating.results.result_files import ScoredModel
from explorer.training.record import run_results
from explorer.ui.results import table_view
from tests.evaluating.results_by_hand import result


@pytest.fixture(autouse=True)
def saved(tmp_path, monkeypatch):
    """The evaluation of a run that was called run:a, with one recipe."""
    monkeypatch.setenv("STRATA_RESULTS", str(tmp_path))
    found = result("run:a", "pairs", 80, recipe="one", seed=1)
    result_files.write(found)
    return found


def of_run(saved, name, recipe="one"):
    """The own score of a finished run on the same data; it has no digest of its model."""
    model = ScoredModel(name, "run's test set", "", replace(saved.model.origin, recipe=recipe))
    return replace(saved, model=model)


@pytest.mark.parametrize(
    ("name", "recipe", "is_shown"), [("run:a", "one", False), ("run:renamed", "one", False), ("run:a", "another", True)]
)
def test_the_score_of_a_run_is_shown_unless_its_model_was_evaluated(saved, monkeypatch, name, recipe, is_shown):
    own = of_run(saved, name, recipe)
    monkeypatch.setattr(run_results, "of_runs", lambda: [own])
    assert (own in table_view.every_result()) == is_shown
