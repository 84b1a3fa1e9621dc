"""Test that several works are worked on in turn, at most so many at once, and ended together."""

import pytest

from explorer import progress
from explorer.errors import RunError
from explorer.progress import Phase, Progress, finish, side_by_side


@pytest.fixture
def clock(monkeypatch):
    """A clock that moves when somebody sleeps."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    return now


class Works:
    """Works of some steps, and what became of them in order."""

    def __init__(self):
        self.events, self.under_way, self.most = [], 0, 0

    def work(self, name, steps, pause=0.0, *, fails=False):
        self.events.append(f"{name} begins")
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            for step in range(steps):
                self.events.append(f"{name} {step}")
                yield Progress(Phase.TRAINING, step, steps, about=name, note=f"note of {name}", pause=pause)
            if fails:
                raise RunError(f"{name} fails.")
            self.events.append(f"{name} ends")
        finally:
            self.under_way -= 1
            self.events.append(f"{name} is over")


def test_one_at_a_time_is_one_after_the_other_with_the_same_progress():
    alone, together = Works(), Works()
    shown = []
    for name, steps in (("a", 2), ("b", 0), ("c", 1)):
        finish(alone.work(name, steps), shown.append)
    found = list(side_by_side((together.work(name, steps) for name, steps in (("a", 2), ("b", 0), ("c", 1))), 1))
    assert (found, together.events) == (shown, alone.events)


@pytest.mark.parametrize("most", [2, 3, 9])
def test_at_most_so_many_are_under_way_and_the_next_one_begins_when_one_has_ended(most):
    works = Works()
    every = [("a", 3), ("b", 1), ("c", 2), ("d", 1), ("e", 4)]
    finish(side_by_side((works.work(name, steps) for name, steps in every), most))
    assert works.most == min(most, 5)
    assert [one for one in works.events if "begins" in one] == [f"{name} begins" for name, _ in every]
    assert sorted(one for one in works.events if "ends" in one) == [f"{name} ends" for name, _ in every]
    if most == 2:
        took_turns = ["a begins", "a 0", "b begins", "b 0", "a 1", "b ends", "b is over", "c begins", "c 0", "a 2"]
        assert works.events[:10] == took_turns


def test_what_goes_on_elsewhere_is_asked_after_its_pause_and_keeps_nothing_here_waiting(clock):
    works = Works()
    finish(side_by_side([works.work("there", 3, pause=1.0), works.work("here", 4)], 2))
    assert [one for one in works.events if one[-1].isdigit()] == [
        "there 0", "here 0", "here 1", "here 2", "here 3", "there 1", "there 2"
    ]  # fmt: skip
    assert clock[0] == pytest.approx(3.0)


def test_the_oldest_is_shown_with_how_many_others_there_are_and_every_note():
    works = Works()
    found = list(side_by_side([works.work("a", 2, pause=1e-9), works.work("b", 3, pause=1e-9)], 2))
    assert [one.note for one in found].count("note of b") == 3
    assert all(one.pause == 0 for one in found), "the pauses are over"
    assert (found[1].stage, found[1].done, found[1].total) == ("training (and 1 more at once)", 0, 2)
    assert found[-1].stage is Phase.TRAINING


def test_if_it_is_closed_or_one_fails_all_that_are_under_way_are_closed():
    works = Works()
    work = side_by_side([works.work("a", 9), works.work("b", 9), works.work("c", 9)], 2)
    for _ in range(3):
        next(work)
    work.close()
    assert works.events[-2:] == ["b is over", "a is over"]
    assert "c begins" not in works.events
    failing = Works()
    with pytest.raises(RunError, match="b fails"):
        finish(side_by_side([failing.work("a", 9), failing.work("b", 1, fails=True)], 2))
    assert failing.events[-2:] == ["b is over", "a is over"]
    assert failing.under_way == 0
