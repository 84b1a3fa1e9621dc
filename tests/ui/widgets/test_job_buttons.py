"""Test a button in whose place stand the progress and result of its job, and the error of one that failed."""

import threading
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from explorer.errors import BadChoice
from explorer.progress import Progress
from explorer.ui.access import jobs
from tests.visits import words


def _page():
    from functools import partial

    import streamlit as st

    from explorer.ui.access import jobs
    from explorer.ui.widgets import controls, job_buttons

    with controls.page_run():
        start = partial(jobs.follow, "of the button", "Counting", st.session_state["make"])
        anew = st.session_state["anew"]
        job = job_buttons.button(st.container(), "Count", "of the button", start, key="count", anew=anew)
        if job is not None:
            st.success(str(job.result))


@pytest.fixture
def desk():
    """A page with the button, the work behind it, which waits for `go`, and what it raises, if anything."""
    desk = SimpleNamespace(page=AppTest.from_function(_page), go=threading.Event(), error=None, made=0)

    def make():
        yield Progress("counting", 0, 2)
        desk.go.wait(30)
        if desk.error:
            raise desk.error
        yield Progress("counting", 1, 2)
        desk.made += 1
        return desk.made

    desk.page.session_state["make"], desk.page.session_state["anew"] = make, False
    yield desk
    desk.go.set()
    if job := jobs.find("of the button"):
        job.stop()
        job.ends_within(10)
    jobs.forget("of the button")


def labels(page):
    return [button.label for button in page.button]


def click(desk):
    desk.page.run().button(key="count").click().run()
    return jobs.find("of the button")


def test_in_place_of_the_button_stands_the_progress_then_the_result(desk):
    job = click(desk)
    assert labels(desk.page) == ["Stop"]
    desk.go.set()
    assert job.ends_within(10)
    assert words(desk.page.run().success) == ["1"]
    assert labels(desk.page) == []


@pytest.mark.parametrize("error", [BadChoice("Choose fewer."), None], ids=["failed", "stopped"])
def test_what_failed_or_was_stopped_is_started_by_the_same_button(desk, error):
    desk.error, job = error, click(desk)
    if error is None:
        job.stop()
    desk.go.set()
    assert job.ends_within(10)
    for _ in range(2):  # an error stays until the next start
        assert words(desk.page.run().error) == ([str(error)] if error else [])
    assert labels(desk.page) == ["Count"]
    desk.error = None
    assert click(desk).ends_within(10)
    assert words(desk.page.run().success) == ["1"]


def test_a_job_whose_result_is_gone_is_started_anew(desk):
    desk.go.set()
    assert click(desk).ends_within(10)
    desk.page.session_state["anew"] = True
    assert click(desk).ends_within(10)
    assert desk.made == 2
