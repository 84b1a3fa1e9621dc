"""Test what a plan says about its best row, and how long it still takes."""

from dataclasses import replace

import pytest

from explorer.measuring.scores.verdict import BETTER, CHANCE, WORSE, RunVerdict, Verdict
from explorer.studies.plans.plan import Plan, cells
from explorer.studies.plans.plan_report import scored, verdict
from explorer.studies.plans.plan_table import PlanRow, PlanTable, seconds_left
from explorer.training.record.runs import Run
from explorer.training.record.status import FINISHED, RUNNING, Status

PLAN = Plan("some", ("simcse",), settings={"steps": 2}, grid={"temperature": (0.1, 0.2, 0.3)}, seeds=(1, 2))
BASE = 70.0


def done(gap, half, seconds=10.0, *, optimistic=False):
    """A finished training with this difference to the base, and half the width of its interval."""
    test = Verdict(BASE, BASE, BASE + gap, gap, gap - half, gap + half)
    return Status(FINISHED, verdict=RunVerdict(test, test, optimistic), seconds=seconds)


def found(tmp_path, *rows, plan=PLAN):
    """A table with the statuses of each row's seeds."""
    by_row = {}
    for cell in cells(plan):
        by_row.setdefault(cell.row, []).append(cell)
    made = [
        PlanRow(
            label,
            tuple(replace(cell, run=Run(tmp_path), status=status) for cell, status in zip(own, given, strict=True)),
            {},
        )
        for (label, own), given in zip(by_row.items(), rows, strict=False)
    ]
    return PlanTable(plan, {}, tuple(made), {}, ())


def test_a_row_that_no_interval_reaches_is_best(tmp_path):
    table = found(tmp_path, (done(1, 0.5),) * 2, (done(5, 1), done(6, 1)), (done(0, 1),) * 2)
    told = verdict(table)
    assert told.kind == BETTER
    assert told.text == (
        "Better: temperature 0.2 has the highest score on Sample pairs, test half: 75.50 ± 0.71, +5.50 over the base "
        "(95 % CI +4.00 to +7.00). Its interval does not overlap with any of the 2 other rows."
    )
    assert [row.label for row, _ in scored(table)] == ["temperature 0.2", "temperature 0.1", "temperature 0.3"]


def test_no_row_is_called_best_where_intervals_overlap(tmp_path):
    table = found(tmp_path, (done(5, 1),) * 2, (done(5.5, 1),) * 2, (done(0, 1),) * 2)
    told = verdict(table)
    assert told.kind == BETTER, "than the base"
    assert "overlaps with that of temperature 0.1: which of them is best may be chance" in told.text
    assert "temperature 0.3" not in told.text


@pytest.mark.parametrize(("gap", "kind", "includes"), [(1, CHANCE, True), (-5, WORSE, False)])
def test_a_best_row_is_better_than_the_base_only_if_the_interval_excludes_0(tmp_path, gap, kind, includes):
    told = verdict(found(tmp_path, (done(gap, 2),) * 2))
    assert told.kind == kind
    assert ("includes 0" in told.text) is includes


def test_a_row_that_lacks_a_seed_is_not_compared(tmp_path):
    table = found(tmp_path, (done(1, 0.5),) * 2, (done(9, 1), Status(RUNNING)))
    assert (
        "temperature 0.1 is the first row with a score on Sample pairs, test half, so far (3 of 4 trainings)"
        in verdict(table).text
    )
    assert verdict(found(tmp_path, (done(9, 1), Status(RUNNING)))) is None


def test_rows_of_another_base_are_no_rivals(tmp_path):
    two = replace(PLAN, grid={}, models=("all-MiniLM-L6-v2", "/x/other"))
    told = verdict(found(tmp_path, (done(5, 1),) * 2, (done(4.9, 1),) * 2, plan=two))
    assert "overlap" not in told.text


def test_text_with_sentences_of_the_test_set_makes_the_verdict_optimistic(tmp_path):
    assert "optimistic" in verdict(found(tmp_path, (done(5, 1), done(5, 1, optimistic=True)))).text
    assert "optimistic" not in verdict(found(tmp_path, (done(5, 1),) * 2)).text


def test_what_is_left_takes_as_long_as_the_other_seeds_of_a_row_did(tmp_path):
    waiting, under_way = Status(RUNNING), Status(RUNNING, seconds=4.0)
    table = found(tmp_path, (done(1, 1, 10), under_way), (done(1, 1, 30), waiting), (waiting, waiting))
    assert seconds_left(table) == pytest.approx((10 - 4) + 30 + 20 + 20)
    assert seconds_left(table, left_out=2) == pytest.approx(6 + 20)
    assert seconds_left(found(tmp_path, (waiting, waiting))) is None
