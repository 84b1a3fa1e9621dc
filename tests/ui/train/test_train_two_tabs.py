"""Test one run in two tabs: what one deletes, renames, resumes or stops, the other shows, or refuses with a message."""

import pytest
from streamlit.testing.v1 import AppTest

from explorer.training.record import runs
from explorer.training.record import status as statuses
from explorer.ui.runs import training_form, training_queue
from tests import trainings
from tests.live import ROOT
from tests.train_visits import PAGE, START, ended, show, stands
from tests.visits import buttons, words

NAME = "run"


@pytest.fixture(scope="module")
def both():
    """Two tabs of the Train page."""
    tabs = [AppTest.from_file(str(ROOT / "app.py"), default_timeout=60) for _ in range(2)]
    for tab in tabs:
        tab.switch_page(PAGE)
        tab.query_params["method"], tab.query_params["data"] = "sg-opt", "sample"
    return tabs


def in_both(both, run):
    """Both tabs show a run."""
    for tab in both:
        show(tab, run)


def press(tab, key):
    """Press a button of the page as it was when it was drawn last."""
    return tab.button(key=key).click().run()


def stopped(place):
    """A run that can be resumed."""
    run = runs.new(trainings.recipe(place), NAME)
    stands(run, state=statuses.STOPPED)
    return run


def delete(tab, run):
    press(tab, "run delete")


def rename(tab, run):
    tab.text_input(key=f"name for {run.name}").set_value("renamed")
    press(tab, "run rename")


def folders(run):
    return [path.name for path in run.folder.parent.iterdir()]


@pytest.mark.parametrize("happens", [delete, rename])
def test_a_run_that_another_tab_deleted_or_renamed_is_said_to_be_gone(both, place, happens):
    run = stopped(place)
    in_both(both, run)
    happens(both[0], run)
    both[1].run()
    assert words(both[1].toast) == [training_form.GONE.format(NAME)]
    assert START in buttons(both[1])


@pytest.mark.parametrize("happens", [delete, rename])
@pytest.mark.parametrize("key", ["run resume", "run rename", "run delete", "run duplicate"])
def test_a_click_on_a_run_that_is_gone_is_refused_and_leaves_no_folder(both, place, happens, key):
    run = stopped(place)
    in_both(both, run)
    if key == "run rename":
        both[1].text_input(key=f"name for {NAME}").set_value("another")
    happens(both[0], run)
    press(both[1], key)
    assert len(words(both[1].error)) == 1
    assert START in buttons(both[1])
    assert folders(run) == ([] if happens is delete else ["renamed"])
    assert training_queue.job_of(run) is None


def test_a_run_that_is_resumed_in_both_tabs_is_trained_once(both, place, gate):
    run = stopped(place)
    in_both(both, run)
    press(both[0], "run resume")
    press(both[1], "run resume")
    assert len(words(both[1].error)) == 1, "the second click is refused"
    assert all("run stop" in buttons(tab) for tab in both)
    gate.set()
    assert ended(run).state == statuses.FINISHED
    assert sorted(trainings.losses(run)) == list(range(1, trainings.SETTINGS["steps"] + 1))
    assert run.log_tail().count("finished") == 1


@pytest.mark.parametrize("key", ["run delete", "run rename"])
def test_a_run_that_waits_since_another_tab_resumed_it_is_neither_deleted_nor_renamed(both, place, gate, key):
    run = stopped(place)
    in_both(both, run)
    press(both[0], "run resume")
    if key == "run rename":
        both[1].text_input(key=f"name for {NAME}").set_value("another")
    press(both[1], key)
    assert len(words(both[1].error)) == 1
    assert "run stop" in buttons(both[1]), "it waits, and both tabs show it"
    assert folders(run) == [NAME]
    assert run.status().state == statuses.WAITING


@pytest.mark.parametrize("key", ["run stop", "run discard"])
def test_a_run_that_waits_and_is_discarded_in_one_tab_is_gone_in_the_other(both, place, gate, key):
    run = stopped(place)
    training_queue.resume(run)
    in_both(both, run)
    press(both[0], "run discard")
    press(both[1], key)
    assert START in buttons(both[1])
    assert folders(run) == []


def test_a_run_that_waits_and_is_stopped_in_both_tabs_is_stopped(both, place, gate):
    run = stopped(place)
    training_queue.resume(run)
    in_both(both, run)
    press(both[0], "run stop")
    press(both[1], "run stop")
    assert run.status().state == statuses.STOPPED
    assert words(both[1].error) == []
    press(both[1], "run resume")
    assert run.status().state == statuses.WAITING
    assert run.stop_requested() == "", "the second click does not stop it later"
