"""Test that the table of a plan, and estimates of plans and recipes, are made again once a file is another one."""

import os
from dataclasses import replace

import pytest

from explorer.run_folder import RECIPE, STATUS
from explorer.studies.plans.plan import Plan
from explorer.training.recipe import Recipe
from explorer.training.record import status as statuses
from explorer.training.record.status import Status
from explorer.ui.plans import plan_view
from explorer.ui.runs import training_queue
from tests.tiny_models import save_tiny

TEXT, DEV, TEST = FILES = ("text.txt", "dev.csv", "test.csv")
MODEL, GENERATOR = MODELS = ("tiny", "generator")
RUNS = "runs"  # two, which exchange their names


@pytest.fixture
def home(tmp_path, monkeypatch):
    """All that a plan and a recipe name, with times that say nothing."""
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / RUNS))
    for name, state in (("a", statuses.FINISHED), ("b", statuses.STOPPED)):
        (tmp_path / RUNS / name).mkdir(parents=True)
        (tmp_path / RUNS / name / RECIPE).write_text("")
        statuses.write(tmp_path / RUNS / name, Status(state=state))
        os.utime(tmp_path / RUNS / name / STATUS, (1, 1))
    for name in FILES:
        (tmp_path / name).write_text("one\ntwo\n")
    for name in MODELS:
        save_tiny("bert", tmp_path / name)
    return tmp_path


def plan(home):
    return Plan("mine", ("simcse",), (str(home / MODEL),), ((str(home / TEXT),),), dev=str(home / DEV))


def recipe(home):
    data, dev, test = (str(home / name) for name in FILES)
    settings = {"generator": str(home / GENERATOR)}
    return Recipe("diffcse", str(home / MODEL), (data,), {}, dev, test, settings=settings)


def change(home, name):
    """Another file, or other weights, of the same name."""
    if name == RUNS:
        for old, new in ("ac", "ba", "cb"):
            (home / RUNS / old).rename(home / RUNS / new)
    elif name in FILES:
        (home / name).write_text("one\nten\n")
    else:
        save_tiny("bert", home / name, seed=1)


@pytest.mark.parametrize(
    ("key", "of", "same", "name"),
    [
        *((plan_view.table_stamp, plan, {}, name) for name in (RUNS, TEXT, DEV, MODEL)),
        *((training_queue.estimate_key, plan, {"name": "another"}, name) for name in (TEXT, MODEL)),
        *((training_queue.trial_key, recipe, {"made_with": {"data_rows": 2}}, name) for name in (*FILES, *MODELS)),
    ],
)
def test_another_file_of_the_same_name_has_another_key(home, key, of, same, name):
    before = key(of(home))
    assert key(replace(of(home), **same)) == before
    change(home, name)
    assert key(of(home)) != before
