import threading

import psutil
import pytest
import torch
from streamlit.testing.v1 import AppTest

from explorer.errors import BadChoice
from explorer.progress import Progress
from explorer.ui.access import jobs
from tests.visits import buttons, wait_until, words


def wait_for(job, *states):
    wait_until(lambda: job.state in states, 10.0)


def counting(to, gate=None):
    for step in range(to):
        if gate:
            gate.wait(10)
        yield Progress("counting", step + 1, to)
    return 42


def test_whoever_asks_for_the_same_key_follows_the_same_job_and_has_its_result_until_it_is_forgotten_after_its_end():
    gate = threading.Event()
    one = jobs.follow("a", "one", lambda: counting(3, gate))
    assert jobs.follow("a", "another", lambda: counting(3)) is one
    jobs.forget("a")
    assert jobs.find("a") is one, "what works cannot be started anew"
    gate.set()
    wait_for(one, jobs.DONE)
    assert (one.progress, one.result) == (Progress("counting", 3, 3), 42)
    jobs.forget("a")
    assert jobs.find("a") is None


def test_jobs_of_one_group_run_side_by_side_and_others_in_their_turn():
    order, gates = [], {name: threading.Event() for name in "abcxd"}

    def noting(name):
        order.append(name)
        yield Progress("waiting", 0, 0, pause=0.01)
        gates[name].wait(10)
        order.append(name.upper())

    queued = [(name, "" if name == "x" else "a plan") for name in "abxcd"]
    started = {name: jobs.follow(name, name, lambda name=name: noting(name), group=group) for name, group in queued}
    wait_until(lambda: len(order) == 2, 10.0)
    assert (sorted(order), started["x"].state, started["c"].state) == (["a", "b"], jobs.WAITING, jobs.WAITING)
    gates["a"].set()
    wait_for(started["a"], jobs.DONE)
    assert started["x"].state == jobs.WAITING, "it waits for both"
    gates["b"].set()
    wait_until(lambda: order[-1] == "x", 10.0)
    assert order[2:] == ["A", "B", "x"]
    gates["x"].set()
    wait_until(lambda: len(order) == 8, 10.0)
    assert sorted(order[6:]) == ["c", "d"]
    for name in "cd":
        gates[name].set()
        wait_for(started[name], jobs.DONE)


def test_a_job_whose_work_goes_on_elsewhere_waits_between_its_steps_and_stops_at_once():
    steps = []

    def elsewhere():
        while True:
            steps.append(len(steps))
            yield Progress("training", 0, 0, pause=30.0)

    job = jobs.follow("elsewhere", "elsewhere", elsewhere)
    wait_until(lambda: steps == [0], 10.0)
    job.stop()
    wait_for(job, jobs.STOPPED)
    assert steps == [0]


def test_a_job_leaves_no_threads_behind_that_would_make_those_of_the_next_one_sleep():
    counts = []

    def computing():
        before = torch.get_num_threads()
        torch.set_num_threads(3)
        torch.zeros(1_000_000).add_(1)
        torch.set_num_threads(before)
        counts.append(psutil.Process().num_threads())
        yield Progress("computing", 1, 1)

    before = psutil.Process().num_threads()
    for key in "abc":
        wait_for(jobs.follow(key, key, computing), jobs.DONE)
    assert counts[0] >= before + 2, "torch computed with three"
    wait_until(lambda: psutil.Process().num_threads() <= before + 1, 10.0)


def test_long_work_gives_memory_back_between_its_steps(monkeypatch):
    monkeypatch.setattr(jobs, "GIVE_BACK", 0.0)
    given: list[str] = []
    monkeypatch.setattr(jobs.fair_share, "trim", lambda: given.append(threading.current_thread().name))

    def steps():
        for done in range(3):
            yield Progress("stepping", done, 3)

    wait_for(jobs.follow("long", "Long work", steps), jobs.DONE)
    assert given.count("work: Long work") == 3
    jobs.forget("long")


def test_stop_takes_effect_at_the_next_step_and_closes_the_work():
    gate, begun, closed, steps = threading.Event(), threading.Event(), [], []

    def long_work():
        try:
            for step in range(1000):
                steps.append(step)
                begun.set()
                gate.wait(10)
                yield Progress("counting", step, 1000)
        finally:
            closed.append(True)

    job = jobs.follow("a", "long", long_work)
    assert begun.wait(10)
    job.stop()
    assert job.stopping
    gate.set()
    wait_for(job, jobs.STOPPED)
    assert steps == [0]
    assert closed == [True]


def test_a_job_that_waits_is_stopped_at_once_and_never_starts():
    gate, started = threading.Event(), []

    def second_work():
        started.append(True)
        yield Progress("counting", 1, 1)

    first = jobs.follow("a", "first", lambda: counting(1, gate))
    second = jobs.follow("b", "second", second_work)
    wait_for(first, jobs.RUNNING)
    assert second.state == jobs.WAITING
    second.stop()
    assert second.state == jobs.STOPPED
    gate.set()
    wait_for(jobs.follow("c", "after", lambda: counting(1)), jobs.DONE)
    assert first.state == jobs.DONE
    assert started == []


def test_jobs_take_their_turn_in_the_order_they_came():
    gate, order = threading.Event(), []

    def noted(name):
        order.append(name)
        yield Progress("counting", 1, 1)

    queued = [jobs.follow("a", "a", lambda: counting(1, gate))]
    queued += [jobs.follow(name, name, lambda name=name: noted(name)) for name in "edcb"]
    gate.set()
    for job in queued:
        wait_for(job, jobs.DONE)
    assert order == list("edcb")


@pytest.mark.parametrize(
    ("error", "told", "unforeseen"),
    [
        (BadChoice("a wrong number. Choose another."), "a wrong number. Choose another.", False),
        (ZeroDivisionError("by nothing"), "ZeroDivisionError: by nothing", True),
    ],
)
def test_the_next_job_runs_after_one_that_failed_and_an_unforeseen_error_has_its_traceback(error, told, unforeseen):
    def broken():
        yield Progress("reading", 0, 1)
        raise error

    failed = jobs.follow("a", "broken", broken)
    wait_for(failed, jobs.FAILED)
    assert failed.error == told
    assert ("in broken" in failed.details) == bool(failed.details) == unforeseen, "what a person can mend needs none"
    wait_for(jobs.follow("b", "after", lambda: counting(1)), jobs.DONE)


def test_the_time_left_comes_from_the_pace_of_the_stage(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(jobs.time, "monotonic", lambda: now[0])
    left = []

    def reading():
        for done in (0, 10):
            yield Progress("reading", done, 40)
            left.append(job.seconds_left)
            now[0] += 10

    job = jobs.Job("a", "a", reading)
    assert job.seconds_left is None
    now[0] += 7  # in the queue, which is no part of the stage
    job._run()
    assert left == [None, pytest.approx(30)]


def test_what_waits_knows_what_is_in_front():
    gate = threading.Event()
    first = jobs.follow("a", "first", lambda: counting(1, gate))
    second = jobs.follow("b", "second", lambda: counting(1))
    wait_for(first, jobs.RUNNING)
    assert jobs.in_front(second) is first
    assert jobs.in_front(first) is None
    gate.set()
    wait_for(second, jobs.DONE)
    assert jobs.in_front(second) is None


@pytest.mark.parametrize(("lane", "quick_lane"), [({}, {"lane": jobs.LOADING}), ({"lane": jobs.NETWORK}, {})])
def test_loading_does_not_wait_for_measuring_nor_measuring_for_the_network(lane, quick_lane):
    gate = threading.Event()
    long = jobs.follow("a", "a large set", lambda: counting(3, gate), **lane)
    quick = jobs.follow("b", "an encoder", lambda: counting(1), **quick_lane)
    assert quick.ends_within(10)
    assert quick.state == jobs.DONE
    assert long.live
    assert not long.ends_within(0)
    gate.set()
    wait_for(long, jobs.DONE)


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
    assert [button.label for button in page.button] == ["Stop", "Stop"]
    assert len(page.get("plotly_chart")) == 1
    jobs.find("one").stop()
    gates["one"].set()
    assert jobs.find("one").ends_within(10)
    page.run(timeout=30)
    assert [button.label for button in page.button] == ["Start again", "Stop"]
    assert not page.get("plotly_chart"), "a later wait needs none"
    gates["two"].set()


def one_job_for_two_sides():
    from explorer.ui.access import jobs

    for _ in range(2):
        jobs.progress_of(jobs.find("shared"))


def test_two_sides_of_a_page_that_wait_for_one_job_have_one_button():
    gate = threading.Event()

    def waiting():
        yield Progress("waiting", 0, 2)
        gate.wait(30)
        yield Progress("waiting", 1, 2)

    job = jobs.follow("shared", "Shared work", waiting)
    wait_until(lambda: job.state == jobs.RUNNING)
    page = AppTest.from_function(one_job_for_two_sides).run(timeout=30)
    assert not page.exception
    assert [button.label for button in page.button] == ["Stop"]
    job.stop()
    gate.set()
    assert job.ends_within(10)
    page.run(timeout=30)
    assert not page.exception
    assert [button.label for button in page.button] == ["Start again"]


def asks_too_early():
    import streamlit as st

    from explorer.ui.access import jobs

    job = jobs.find("ended")
    if st.session_state.setdefault("asked before", False):
        st.write(f"its result is {job.result}")
    else:
        st.session_state["asked before"] = True
        jobs.progress_of(job)


def test_work_that_ends_while_a_page_asks_for_it_is_shown():
    def short_work():
        yield Progress("reading", 1, 1)
        return 42

    assert jobs.follow("ended", "short work", short_work).ends_within(10)
    assert words(AppTest.from_function(asks_too_early).run().markdown) == ["its result is 42"]


def test_two_jobs_that_wait_for_the_same_one_can_be_shown_on_a_page():
    gate = threading.Event()

    def long_work():
        gate.wait(30)
        yield Progress("reading", 1, 1)

    first = jobs.follow("first", "what is in front", long_work)
    for key in ("one", "two"):
        jobs.follow(key, key, long_work)
    try:
        wait_until(lambda: first.state == jobs.RUNNING)
        app = AppTest.from_function(two_jobs).run()
        assert buttons(app) == ["stop one", "stop before one", "stop two", "stop before two"]
        app.button[3].click().run()
        assert first.stopping
    finally:
        gate.set()  # else the next test's work would wait behind this one
