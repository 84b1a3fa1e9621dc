"""Test that the estimate of a plan counts every training that is left, and names what cannot be trained."""

from dataclasses import replace

import pytest

from explorer.errors import RunTooLarge
from explorer.progress import Progress, finish
from explorer.studies.plans import execution, plan_folder
from explorer.studies.plans.execution import estimate
from explorer.studies.plans.plan import PlanBudget
from explorer.training.loop.measured_facts import Estimate


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still, and trials: loading takes 3 s, and the step a number that the row decides."""
    now = [0.0]

    def try_out(recipe):
        yield Progress("reading the text", 0, 0)
        now[0] += 3.0
        yield Progress("measuring one step", 0, 0)
        now[0] += 100.0  # of the trial itself, which the training does not take
        temperature = recipe.every_setting()["temperature"]
        if temperature == 0.5:
            raise RunTooLarge("It does not fit.")
        return Estimate(0.1, 200 * temperature, int(1e9 * temperature), 0, 50, 2, 20)

    monkeypatch.setattr("explorer.training.loop.estimate.try_out", try_out)
    monkeypatch.setattr(execution.time, "monotonic", lambda: now[0])
    return now


def test_every_training_is_counted_with_its_loading(plan, clock):
    found = finish(estimate(plan))
    assert (found.cells, found.measured, found.steps) == (4, 0, 8)
    assert found.seconds == pytest.approx(2 * (3 + 10) + 2 * (3 + 20))
    assert found.memory == int(0.1e9)
    assert found.disk == 50 + 4 * 20, "the state of the run under way, and the models of all"


def test_what_is_trained_already_costs_nothing(plan, clock):
    finish(execution.execute(plan_folder.new(replace(plan, grid={"temperature": (0.05,)}))))
    found = finish(estimate(plan))
    assert (found.cells, found.measured, found.steps) == (4, 2, 4)
    assert found.seconds == pytest.approx(2 * (3 + 20))


def test_a_row_that_cannot_be_trained_is_named(plan, clock):
    found = finish(estimate(replace(plan, grid={"temperature": (0.05, 0.5)})))
    assert found.failures == {"temperature 0.5": "It does not fit."}
    assert found.seconds == pytest.approx(2 * (3 + 10))


def test_a_budget_that_does_not_suffice_is_told(plan, clock):
    assert "does not suffice" in finish(estimate(replace(plan, budget=PlanBudget(minutes=1)))).text
    assert "does not suffice" not in finish(estimate(replace(plan, budget=PlanBudget(minutes=2)))).text
