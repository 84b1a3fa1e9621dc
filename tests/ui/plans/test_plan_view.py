"""Test that the table of a plan is made again once a run, a text or a base model is another one."""

import os
from dataclasses import replace

import pytest

from explorer.run_folder import RECIPE, STATUS
from explorer.studies.plans.plan import Plan
from explorer.training.record import status as statuses
from explorer.training.record.status import Status
from explorer.ui.plans import plan_view
from explorer.ui.runs import training_queue
from tests.tiny_models import save_tiny


@pytest.fixture
def plan(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    for name, state in (("a", statuses.FINISHED), ("b", statuses.STOPPED)):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / RECIPE).write_text("")
        statuses.write(tmp_path / "runs" / name, Status(state=state))
        os.utime(tmp_path / "runs" / name / STATUS, (1, 1))
    for name in ("text.txt", "dev.csv"):
        (tmp_path / name).write_text("one\ntwo\n")
    save_tiny("bert", tmp_path / "tiny")
    return Plan(
        "mine", ("simcse",), (str(tmp_path / "tiny"),), ((str(tmp_path / "text.txt"),),), dev=str(tmp_path / "dev.csv")
    )


def swap_runs(home):
    (home / "runs" / "a").rename(home / "runs" / "c")
    (home / "runs" / "b").rename(home / "runs" / "a")
    (home / "runs" / "c").rename(home / "runs" / "b")


def another_text(home):
    (home / "text.txt").write_text("one\nten\n")


def another_dev_set(home):
    (home / "dev.csv").write_text("six\ntwo\n")


def another_base(home):
    save_tiny("bert", home / "tiny", seed=1)


@pytest.mark.parametrize("change", [swap_runs, another_text, another_dev_set, another_base])
def test_a_table_is_made_again(plan, tmp_path, change):
    before = plan_view.table_stamp(plan)
    assert plan_view.table_stamp(plan) == before
    change(tmp_path)
    assert plan_view.table_stamp(plan) != before


@pytest.mark.parametrize("change", [another_text, another_base])
def test_an_estimate_is_that_of_the_text_and_the_models_as_they_are(plan, tmp_path, change):
    before = training_queue.estimate_key(plan)
    assert training_queue.estimate_key(replace(plan, name="another")) == before
    change(tmp_path)
    assert training_queue.estimate_key(plan) != before
