"""Test what the Train page shows in a view of a talk: its run, at the address that it was kept with."""

from contextlib import contextmanager

import pytest

from explorer import run_folder, work_folder
from explorer.training.record import status as statuses
from explorer.ui.frame import talk_steps
from explorer.ui.runs import run_status
from explorer.ui.train import run_view
from tests.train_visits import PAGE, START, new, stands
from tests.visits import words


@contextmanager
def under_way(run):
    """The folder of a run as while it trains."""
    with work_folder.holding(run.folder, "held", "not held"):
        stands(run, state=statuses.RUNNING)
        yield
        stands(run, state=statuses.FINISHED)


@pytest.fixture
def talk(visit, monkeypatch):
    """Open a view of a talk, or with "" leave it: what is not in its address is not in the visit's."""

    def at(view):
        monkeypatch.setattr(talk_steps, "place", lambda: view)
        if "run" in visit.query_params:
            del visit.query_params["run"]
        visit.switch_page("pages/plans.py").run()
        return visit.switch_page(PAGE).run()

    del visit.query_params["tab"]
    return at


def shown(app):
    """The run that the page shows; "" for the form."""
    return "" if START in [button.key for button in app.button] else words(app.subheader)[0]


def test_a_view_shows_the_run_under_way_and_again_once_it_has_ended_at_its_own_address(talk, place):
    assert shown(talk("a talk 2")) == ""
    run = new(place)
    with under_way(run):
        app = talk("a talk 2")
        assert (shown(app), "run" in app.query_params) == (run.name, False)
        assert shown(talk("a talk 3")) == run.name
    app = talk("a talk 2")
    assert (shown(app), "run" in app.query_params) == (run.name, False)
    assert shown(talk("another talk 2")) == "", "nothing was shown there"
    assert shown(talk("")) == ""
    app = talk("a talk 2")
    app.button(key="run new").click().run()
    assert shown(app) == ""
    assert shown(talk("a talk 2")) == "", "the visitor has left it for the form"


def test_a_run_that_is_gone_leaves_the_view_its_form(talk, place):
    run = new(place)
    with under_way(run):
        assert shown(talk("a talk 2")) == run.name
    run.delete()
    app = talk("a talk 2")
    assert shown(app) == ""
    assert not app.error


def test_outside_of_a_talk_the_address_names_the_run_under_way(talk, place):
    run = new(place)
    with under_way(run):
        app = talk("")
        assert (shown(app), app.query_params["run"]) == (run.name, run.name)


def test_a_run_whose_job_waits_in_slurms_queue_says_so_on_its_page_and_in_the_list(visit, place):
    run = new(place)
    stands(run, state=statuses.STOPPED)
    (run.folder / run_folder.JOB).write_text("70")
    visit.query_params["run"] = run.name
    app = visit.run()
    assert run_view.IN_QUEUE.format(70, 70) in words(app.info)
    assert run_status._row(run)["State"] == run_status.state(run, run.status()) == run_status.IN_QUEUE
    (run.folder / run_folder.JOB).unlink()
    assert run_view.IN_QUEUE.format(70, 70) not in words(app.run().info)
    assert run_status._row(run)["State"] == statuses.STOPPED
