"""Tests of how the soak judges its samples."""

from __future__ import annotations

import random
from argparse import Namespace
from pathlib import Path

import numpy as np
import psutil
import pytest

from tests.processes import process
from tests.soak import MOST_RESIDENT, OF_A_SESSION, Sample, Soak, highest, most_kept, report, table

HOUR = 3600


def verdicts(kept: int = 0, **grown: float) -> set[str]:
    """What grew too much, when the named numbers grow by so much an hour and all others stay."""
    start = {"memory": 500.0, "threads": 15, "files": 40, "sockets": 21, "descriptors": 100}
    samples = []
    for second in range(0, HOUR, 10):
        now = {name: value + grown.get(name, 0) * second / HOUR for name, value in start.items()}
        samples.append(Sample(float(second), **now))
    return {name for name, *_, too_much in table(samples, kept) if too_much}


def test_a_descriptor_lost_with_every_session_is_found_whatever_streamlit_keeps():
    sessions = 116  # left in an hour, 9 of them within two minutes
    assert verdicts(kept=9, descriptors=OF_A_SESSION * sessions) == {"descriptors"}
    assert verdicts(kept=9, descriptors=sessions) == {"descriptors"}


def test_event_loops_of_sessions_that_are_still_kept_are_no_growth():
    grown = 2 * OF_A_SESSION * 4  # about half of it between the two samples
    assert verdicts(kept=4, descriptors=grown) == set()
    assert verdicts(kept=0, descriptors=grown) == {"descriptors"}


def test_files_sockets_threads_and_memory_may_not_grow_with_sessions():
    assert verdicts() == set(), "all stayed"
    for name in ("memory", "threads", "files", "sockets"):
        assert verdicts(kept=9, **{name: 50}) == {name}


def test_the_most_sessions_kept_are_those_left_within_two_minutes():
    assert most_kept([]) == 0
    assert most_kept([0.0, 60.0, 119.0, 121.0, 500.0]) == 3


def holding(told: Path, megabytes: int) -> None:
    """Have so much in memory for a moment, and note the most and what there was before."""
    own = psutil.Process()
    before = own.memory_info().rss / 1e6
    np.ones(megabytes * 1_000_000, dtype=np.uint8)
    told.write_text(f"{before} {highest(own)}")


def test_the_highest_memory_is_that_of_any_moment_and_is_a_fault_above_the_most(tmp_path, capsys):
    process(holding, tmp_path / "told", 400).join()
    before, most = map(float, (tmp_path / "told").read_text().split())
    assert most == pytest.approx(before + 400, abs=60)
    samples = [Sample(float(second), 500.0, 15, 40, 21, 100) for second in range(0, HOUR, 10)]
    options = Namespace(sessions=1, minutes=60.0)
    for found, code in ((MOST_RESIDENT, 0), (MOST_RESIDENT + 1, 1)):
        work = Soak("", None, psutil.Process(), random.Random(0), samples, highest=float(found))
        assert report(work, options, "") == code
        assert f"At most in memory at any moment: {found} MB" in capsys.readouterr().out
