"""Estimate how long a plan still takes, from the trainings that are done."""

from __future__ import annotations

from statistics import fmean

from explorer.studies.plans.plan_table import PlanTable
from explorer.training.record.status import Status


def seconds_left(found: PlanTable, left_out: int = 0) -> float | None:
    """The seconds that the other trainings take, each as long as its row's, or as all rows' mean; None before one."""
    by_row = {row.label: row.seconds for row in found.rows if row.seconds is not None}
    if not by_row:
        return None
    mean = fmean(by_row.values())
    left = [
        max(0.0, by_row.get(row.label, mean) - _spent(one.status))
        for row in found.rows
        for one in row.cells
        if one.done is None
    ]
    left = sorted(left)[: max(0, len(left) - left_out)]
    return sum(left)


def _spent(status: Status | None) -> float:
    """The seconds of a training that is under way or was stopped."""
    return status.seconds if status is not None else 0.0
