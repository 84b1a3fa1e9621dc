import threading
import time

import pytest

from explorer.errors import BadChoice
from explorer.progress import Progress
from explorer.ui import work


def wait_for(job, *states, seconds=10.0):
    end = time.monotonic() + seconds
    while job.state not in states and time.monotonic() < end:
        time.sleep(0.01)
    assert job.state in states


@pytest.fixture(autouse=True)
def empty_registry():
    yield
    work.stop_all()
    work._jobs.clear()


def counting(to, gate=None):
    for step in range(to):
        if gate:
            gate.wait(10)
        yield Progress("counting", step + 1, to)


def test_whoever_asks_for_the_same_key_follows_the_same_job():
    gate = threading.Event()
    one = work.follow("a", "one", lambda: counting(3, gate))
    assert work.follow("a", "another", lambda: counting(3)) is one
    gate.set()
    wait_for(one, work.DONE)
    assert one.progress == Progress("counting", 3, 3)


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

    job = work.follow("a", "long", long_work)
    assert begun.wait(10)
    job.stop()
    assert job.stopping
    gate.set()
    wait_for(job, work.STOPPED)
    assert steps == [0]
    assert closed == [True]


def test_a_job_that_waits_is_stopped_at_once_and_never_starts():
    gate, started = threading.Event(), []

    def second_work():
        started.append(True)
        yield Progress("counting", 1, 1)

    first = work.follow("a", "first", lambda: counting(1, gate))
    second = work.follow("b", "second", second_work)
    wait_for(first, work.RUNNING)
    assert second.state == work.WAITING
    second.stop()
    assert second.state == work.STOPPED
    gate.set()
    after = work.follow("c", "after", lambda: counting(1))
    wait_for(after, work.DONE)
    assert first.state == work.DONE
    assert started == []


def test_jobs_take_their_turn_in_the_order_they_came():
    gate, order = threading.Event(), []

    def noted(name):
        order.append(name)
        yield Progress("counting", 1, 1)

    jobs = [work.follow("a", "a", lambda: counting(1, gate))]
    jobs += [work.follow(name, name, lambda name=name: noted(name)) for name in "edcb"]
    gate.set()
    for job in jobs:
        wait_for(job, work.DONE)
    assert order == list("edcb")


def test_what_waits_for_the_network_keeps_no_one_waiting():
    gate = threading.Event()
    fetching = work.follow("a", "fetching", lambda: counting(1, gate), lane=work.NETWORK)
    measuring = work.follow("b", "measuring", lambda: counting(1))
    wait_for(measuring, work.DONE)
    assert fetching.live
    gate.set()
    wait_for(fetching, work.DONE)


def test_the_result_stays_with_the_job():
    def work_with_result():
        yield Progress("counting", 1, 1)
        return 42

    job = work.follow("a", "a", work_with_result)
    wait_for(job, work.DONE)
    assert job.result == 42


def test_the_next_job_runs_after_one_that_failed():
    def broken():
        yield Progress("reading", 0, 1)
        raise BadChoice("a wrong number. Choose another.")

    failed = work.follow("a", "broken", broken)
    wait_for(failed, work.FAILED)
    assert failed.error == "a wrong number. Choose another."
    assert failed.details == "", "what a person can mend needs no traceback"
    after = work.follow("b", "after", lambda: counting(1))
    wait_for(after, work.DONE)


def test_an_unforeseen_error_keeps_its_traceback_as_text():
    def broken():
        yield Progress("reading", 0, 1)
        raise ZeroDivisionError("by nothing")

    job = work.follow("a", "broken", broken)
    wait_for(job, work.FAILED)
    assert job.error == "ZeroDivisionError: by nothing"
    assert "in broken" in job.details


def test_what_has_ended_can_be_started_anew_and_what_works_cannot():
    gate = threading.Event()
    job = work.follow("a", "one", lambda: counting(1, gate))
    work.forget("a")
    assert work.find("a") is job
    gate.set()
    wait_for(job, work.DONE)
    work.forget("a")
    assert work.find("a") is None


def test_the_time_left_comes_from_the_pace_of_the_stage(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(work.time, "monotonic", lambda: now[0])
    job = work.Job("a", "a", lambda: counting(1))
    assert job.seconds_left is None
    job._advance(Progress("reading", 0, 40))
    assert job.seconds_left is None
    now[0] += 10
    job._advance(Progress("reading", 10, 40))
    assert job.seconds_left == pytest.approx(30)


def test_what_waits_knows_what_is_in_front():
    gate = threading.Event()
    first = work.follow("a", "first", lambda: counting(1, gate))
    second = work.follow("b", "second", lambda: counting(1))
    wait_for(first, work.RUNNING)
    assert work.in_front(second) is first
    assert work.in_front(first) is None
    gate.set()
    wait_for(second, work.DONE)
    assert work.in_front(second) is None


def test_loading_does_not_wait_for_measuring():
    gate = threading.Event()
    measuring = work.follow("a", "a large set", lambda: counting(3, gate))
    loading = work.follow("b", "an encoder", lambda: counting(1), lane=work.LOADING)
    assert loading.ends_within(10)
    assert loading.state == work.DONE
    assert measuring.live
    assert not measuring.ends_within(0)
    gate.set()
    wait_for(measuring, work.DONE)
