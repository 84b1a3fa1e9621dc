"""Test the actions on a run on the Train page: rename, delete, duplicate, open from the list."""

import shlex
import time

import pytest

from explorer.training.example import NAME, POOLER
from explorer.training.record import runs
from explorer.training.record import status as statuses
from explorer.ui.frame import page_frame
from explorer.ui.runs import training_queue
from tests import trainings
from tests.train_visits import START, ended, new, say, show, stands, started, the_run, well
from tests.visits import buttons, wait_until, words


def test_a_run_is_deleted_when_the_question_is_answered(app, place):
    run = new(place)
    stands(run, state=statuses.FINISHED)
    show(app, run)
    assert run.folder.is_dir()
    app.button(key="run delete").click().run()
    assert not run.folder.exists()
    well(app)
    assert START in buttons(app)


def test_a_run_is_renamed_and_stays_in_view(app, place):
    run = new(place)
    stands(run, state=statuses.FINISHED)
    show(app, run).text_input(key=f"name for {run.name}").set_value("better")
    app.button(key="run rename").click().run()
    well(app)
    assert the_run().name == "better"
    assert app.query_params["run"] == "better"


@pytest.mark.parametrize("name", ["", "a b", "../x", "<b>"])
def test_a_name_that_cannot_be_leaves_the_run_as_it_is(app, place, name):
    run = new(place)
    stands(run, state=statuses.FINISHED)
    show(app, run).text_input(key=f"name for {run.name}").set_value(name)
    app.button(key="run rename").click().run()
    well(app)
    assert app.error
    assert the_run().name == run.name


def test_duplicate_fills_the_form_with_the_whole_recipe(visit, place):
    made = trainings.recipe(place, "simcse", seeds=(3, 4), precision="bfloat16", settings={"temperature": 0.2})
    run = runs.new(made)
    stands(run, state=statuses.FINISHED)
    show(visit, run)
    visit.button(key="run duplicate").click().run()
    well(visit)
    assert words(visit.error) == []
    assert sorted(shlex.split(visit.code[0].value)) == sorted(shlex.split(made.command()))
    assert "run" not in visit.query_params


def test_the_list_tells_every_run_newest_first(app, place):
    for name in ("one", "two"):
        run = runs.new(trainings.recipe(place), name)
        stands(run, state=statuses.FINISHED, base=60.0, best=61.0)
        time.sleep(0.02)
    well(app.run())
    table = app.dataframe[0].value
    assert list(table["Run"]) == ["two", "one", "example", "layer-attention-example"], "the examples come last"
    assert list(table["Dev, best"])[:2] == [61.0, 61.0]


def test_the_sidebar_of_every_page_leads_to_the_run_under_way(tiny):
    say(tiny, steps=100_000)
    run = started(tiny)
    wait_until(lambda: run.status().step > 0)
    tiny.switch_page("pages/start.py").run()
    (link,) = tiny.sidebar.get("page_link")
    assert link.proto.label.replace("\\", "").startswith(page_frame.TRAINING.format("step"))
    assert run.name in link.proto.query_string
    training_queue.stop(run, runs.KEEP)
    ended(run)
    tiny.run()
    assert not tiny.sidebar.get("page_link")


@pytest.mark.parametrize(("name", "trusts"), [(NAME, False), (POOLER, True)])
def test_an_example_whose_model_is_an_adapter_says_how_to_export_and_load_it(app, name, trusts):
    app.query_params["run"] = name
    well(app.run())
    export, load = (one.value for one in app.code[:2])
    assert export == f"python -m explorer export {name} {name}-model"
    assert f"SentenceTransformer('{name}-model'" in load
    assert ("trust_remote_code=True" in load) == trusts
