import threading

import pytest
from streamlit.testing.v1 import AppTest

from explorer.progress import Progress
from explorer.ui.access import jobs


@pytest.fixture(autouse=True)
def empty_registry():
    yield
    jobs.stop_all()
    jobs._jobs.clear()


def two_jobs():
    from explorer.ui.access import jobs

    for key in ("one", "two"):
        jobs.progress_of(jobs.find(key))


def test_two_jobs_on_a_page_each_have_their_progress_and_the_first_a_figure_that_loads_the_browsers_code():
    gates = {"one": threading.Event(), "two": threading.Event()}

    def waiting(key):
        yield Progress("waiting", 0, 2)
        gates[key].wait(30)
        yield Progress("waiting", 1, 2)

    for key, lane in (("one", jobs.MEASURING), ("two", jobs.LOADING)):
        jobs.follow(key, f"Job {key}", lambda key=key: waiting(key), lane=lane)
    page = AppTest.from_function(two_jobs).run(timeout=30)
    assert not page.exception
    assert [button.label for button in page.button] == ["Stop", "Stop"]
    assert len(page.get("plotly_chart")) == 1
    jobs.find("one").stop()
    gates["one"].set()
    assert jobs.find("one").ends_within(10)
    page.run(timeout=30)
    assert [button.label for button in page.button] == ["Start again", "Stop"]
    assert not page.get("plotly_chart"), "a later wait needs none"
    gates["two"].set()
