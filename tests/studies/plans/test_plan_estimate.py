"""Test that as many trainings of a plan run at once on GPUs as fit there and save time."""

from dataclasses import replace

import pytest

from explorer.progress import finish
from explorer.studies.plans import plan_estimate
from explorer.studies.plans.plan_estimate import PlanEstimate, number_at_once, that_fit

GB = 2**30
EIGHT = PlanEstimate(8, 0, 120.0, 0.0, 2 * GB, 0, 800, {}, 0, None)


@pytest.mark.parametrize(
    ("changes", "free", "cores", "number"),
    [
        ({}, [80 * GB], 16, 8),
        ({}, [80 * GB], 8, 4),  # two cores for each
        ({"measured": 5}, [80 * GB], 16, 3),  # no more than are left
        ({}, [12 * GB], 16, 3),  # of 3 GB and what a process holds
        ({"loaded": GB, "seconds": 160.0}, [12 * GB], 16, 2),
        ({}, [12 * GB, 80 * GB], 16, 6),  # each GPU takes as many as the fullest
        ({}, [1 * GB], 16, 1),
        ({"seconds": 16.0}, [80 * GB], 16, 1),  # processes of their own take longer to begin
        ({"seconds": 18.0}, [80 * GB], 16, 8),
    ],
)
def test_as_many_as_fit_in_memory_cores_and_time(changes, free, cores, number):
    assert that_fit(replace(EIGHT, **changes), free, cores) == number


def test_only_a_plan_whose_trainings_are_all_on_gpus_is_estimated(plan, monkeypatch):
    estimated = []

    def estimate(plan):
        estimated.append(plan)
        yield from ()
        return EIGHT

    assert finish(number_at_once(plan, estimate)) == 1
    assert finish(number_at_once(replace(plan, device="mps"), estimate)) == 1, "each training says that there is none"
    assert not estimated
    monkeypatch.setattr(plan_estimate.hardware, "device", lambda requested: "cuda")
    monkeypatch.setattr(plan_estimate.hardware, "free_on_each_gpu", lambda: [80 * GB])
    monkeypatch.setattr(plan_estimate.fair_share, "at_start", lambda: 16)
    assert finish(number_at_once(plan, estimate)) == 8
