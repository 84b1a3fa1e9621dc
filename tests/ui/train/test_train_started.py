"""Test runs that the Train page starts: progress, stop, resume, discard."""

import pytest

from explorer.places import runs_folder
from explorer.training.record import runs
from explorer.training.record import status as statuses
from explorer.ui.access import jobs
from explorer.ui.runs import training_queue
from explorer.ui.train import run_view
from tests import trainings
from tests.train_visits import START, ended, field, say, started
from tests.visits import buttons, cards, error_of, lead, wait_until, words


@pytest.fixture
def stepping(tiny):
    """A run under way on its page."""
    say(tiny, steps=100_000)
    run = started(tiny)
    wait_until(lambda: run.status().step > 2)
    tiny.run()
    return run


def test_start_makes_a_run_that_shows_base_and_best(tiny):
    run = started(tiny)
    assert tiny.query_params["run"] == run.name
    status = ended(run)
    assert status.state == statuses.FINISHED, status.error
    tiny.run()
    shown = cards(tiny)
    for use, found in (("Test", status.verdict.test), ("Dev", status.verdict.dev)):
        assert shown[f"{use}: {run_view.BASE}"] == f"{found.declared_base:.2f}"
        assert shown[f"{use}: {run_view.SAME}"] == f"{found.same_reading_base:.2f}"
        assert shown[f"{use}: {run_view.TUNED}"] == f"{found.exported:.2f}"
    assert len(tiny.get("plotly_chart")) == 2
    assert any(str(run.model) in code.value for code in tiny.code)
    assert "run compare" in buttons(tiny)


def test_a_second_start_of_the_same_recipe_shows_the_run_of_the_first(tiny):
    say(tiny, steps=100_000)
    run = started(tiny)
    del tiny.query_params["run"]
    tiny.run()
    tiny.button(key=START).click().run()
    assert [one.name for one in runs.every()] == [run.name]
    assert tiny.query_params["run"] == run.name


def test_a_run_is_called_what_the_visitor_says(tiny):
    tiny.text_input(key="run name").set_value("mine").run()
    assert started(tiny).name == "mine"


def test_what_is_typed_when_the_click_comes_is_what_is_trained(tiny):
    tiny.text_input(key="run name").set_value("mine")
    field(tiny, "steps").set_value(3)
    run = started(tiny)
    assert (run.name, run.recipe().settings["steps"]) == ("mine", 3)
    del tiny.query_params["run"]
    assert tiny.run().text_input(key="run name").value == "", "the next run has another name"


def test_a_name_that_cannot_be_is_told_and_nothing_starts(tiny):
    tiny.text_input(key="run name").set_value("../mine").run()
    tiny.button(key=START).click().run()
    assert words(tiny.error) == [error_of(lambda: runs.free_name("../mine", runs_folder()))]
    assert runs.every() == []


def test_compare_shows_the_base_and_the_tuned_model_on_the_test_set(tiny, place):
    run = started(tiny)
    ended(run)
    tiny.run()
    tiny.button(key="run compare").click().run()
    tiny.switch_page("pages/compare.py").run()
    assert tiny.selectbox(key="model").value == str(place.model), "what is trained next does not change"
    assert tiny.selectbox(key="beside").value == f"run:{run.name}"
    assert tiny.selectbox(key="sts").value == run.status().facts.test


def test_a_run_that_waits_tells_what_is_in_front_and_stops_at_once(tiny, gate):
    run = started(tiny)
    assert jobs.WAITING_FOR.format("another run") in words(tiny.caption)
    tiny.button(key="run stop").click().run()
    assert run.status().state == statuses.STOPPED
    assert run_view.STOPPED_EARLY in words(tiny.info)
    gate.set()
    tiny.button(key="run resume").click().run()
    assert ended(run).state == statuses.FINISHED


def test_a_run_that_waits_can_be_discarded(tiny, gate):
    started(tiny)
    tiny.button(key="run discard").click().run()
    assert runs.every() == []
    assert START in buttons(tiny)
    assert words(tiny.error) == []
    gate.set()


def test_stop_and_keep_leaves_a_model_and_a_way_to_go_on(tiny, stepping):
    assert any("step" in told for told in [one.proto.text for one in tiny.get("progress")])
    tiny.button(key="run stop").click().run()
    assert ended(stepping).state == statuses.STOPPED
    tiny.run()
    assert stepping.model.is_dir()
    assert "run resume" in buttons(tiny)
    assert any(told.startswith(lead(run_view.STOPPED_AT)) for told in words(tiny.info))


def test_a_run_under_way_is_not_renamed_or_deleted_until_stop_and_discard_deletes_it_and_shows_the_form(tiny, stepping):
    assert not {"run rename", "run delete", "run resume"} & set(buttons(tiny))
    assert "run duplicate" in buttons(tiny)
    assert tiny.query_params["run"] == stepping.name
    tiny.button(key="run discard").click().run()
    wait_until(lambda: not stepping.folder.exists())
    assert START in buttons(tiny.run())
    assert "run" not in tiny.query_params
    assert words(tiny.error) == []


def test_a_stopped_run_is_resumed_where_it_was(tiny):
    say(tiny, steps=60)
    run = started(tiny)
    wait_until(lambda: run.status().step > 2)
    training_queue.stop(run, runs.KEEP)
    assert ended(run).state == statuses.STOPPED
    tiny.run()
    tiny.button(key="run resume").click().run()
    assert ended(run).state == statuses.FINISHED
    assert sorted(trainings.losses(run)) == list(range(1, 61))
