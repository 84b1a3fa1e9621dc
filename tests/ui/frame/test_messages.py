import string
import threading

import pytest
from streamlit.testing.v1 import AppTest

from explorer.progress import Progress
from explorer.ui.access import jobs
from tests.visits import buttons

NASTY = [
    "<script>alert(1)</script>",
    "![picture](http://example.invalid/x.png)",
    "[link](http://example.invalid)",
    ":red[colour] :material/home: $x^2$ `code`",
    "# heading\n- list\n1. one",
    "größer → “quoted” …",
    "back\\slash *star* _under_ ~~gone~~",
]


def page(text):
    import streamlit as st

    from explorer.ui import messages

    messages.trouble(text)
    st.markdown(messages.plain(text))


@pytest.mark.parametrize("text", NASTY)
def test_every_mark_of_markup_is_escaped(text):
    shown = AppTest.from_function(page, args=(text,)).run().error[0].value
    unescaped = shown.replace("  \n", "\n")
    restored, place = "", 0
    while place < len(unescaped):
        if unescaped[place] == "\\":
            place += 1
        elif unescaped[place] in string.punctuation:
            pytest.fail(f"{unescaped[place]!r} stands unescaped in {shown!r}")
        restored += unescaped[place]
        place += 1
    assert restored == text


def two_that_wait():
    from explorer.ui.access import job_progress, jobs

    for key in ("one", "other"):
        job_progress.progress_of(jobs.find(key))


def test_two_jobs_that_wait_for_the_same_one_can_be_shown_on_a_page():
    gate = threading.Event()

    def long_work():
        gate.wait(30)
        yield Progress("reading", 1, 1)

    first = jobs.follow("first", "what is in front", long_work)
    waiting = [jobs.follow(key, key, long_work) for key in ("one", "other")]
    app = AppTest.from_function(two_that_wait).run()
    assert not app.exception
    assert buttons(app) == ["stop one", "stop before one", "stop other", "stop before other"]
    app.button[3].click().run()
    assert first.stopping
    gate.set()
    for job in (first, *waiting):
        job.stop()
        assert job.ends_within(10)
        jobs.forget(job.key)
