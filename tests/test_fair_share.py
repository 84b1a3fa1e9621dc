"""Test how many threads are used beside other programs."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import torch

from explorer import fair_share
from explorer.fair_share import ThreadShare
from explorer.progress import Progress, finish
from explorer.ui.access import jobs
from tests.live import ROOT
from tests.processes import process


class Machine(ThreadShare):
    """A share of so many processors, of which others use as many as is said."""

    def __init__(self, processors: int) -> None:
        self.passed, self.others, self.own = 0.0, 0.0, 0.0
        super().__init__()
        self.most = self.threads = processors

    def _measured(self, at: float) -> tuple[float, float, float]:
        return at, self.others + self.own, self.own

    def after(self, seconds: float, others: float, own: float = 1.0) -> int:
        """What is decided after so long, in which others used so many processors."""
        self.passed += seconds
        self.others += seconds * others
        self.own += seconds * own
        return self.decide()


@pytest.fixture
def machine(monkeypatch):
    def of(processors: int, load: float = 0.0) -> Machine:
        monkeypatch.setattr(fair_share.time, "monotonic", lambda: 0.0)
        found = Machine(processors)
        monkeypatch.setattr(fair_share.time, "monotonic", lambda: found.passed)
        monkeypatch.setattr(fair_share, "_load", lambda: load)
        return found

    return of


def test_threads_make_room_for_others_up_to_a_half_and_come_back(machine):
    two = machine(2)
    assert two.after(0, 0) == 2
    assert two.after(1, 0.1, own=1.9) == 2
    assert two.after(1, 0.9) == 1
    assert two.after(1, 0.4) == 1, "in between, nothing changes"
    assert two.after(1, 0.1) == 2
    assert two.after(1, 0.4) == 2
    many = machine(16)
    many.after(0, 0)
    assert many.after(1, 2.4, own=13) == 14
    assert many.after(1, 15) == 8
    assert many.after(1, 4) == 12


def test_a_second_passes_between_two_looks(machine):
    two = machine(2)
    two.after(0, 0)
    assert two.after(0.5, 2) == 2
    assert two.after(0.6, 2) == 1


@pytest.mark.parametrize(("load", "threads"), [(0.3, 2), (4.0, 1)])
def test_after_a_pause_the_load_decides(machine, load, threads):
    assert machine(2, load).after(3600, 0.0) == threads


def test_the_first_decision_is_by_what_others_did_since_the_start(machine):
    """A load that is left of the program before is none of theirs."""
    assert machine(2, load=4.0).after(5, 0.1) == 2
    assert machine(2).after(5, 1.5) == 1


def test_a_real_measurement_counts_what_this_process_works():
    share = ThreadShare()
    _, by_all_before, own_before = share._measured(0.0)
    while share._measured(0.0)[2] < own_before + 0.2:
        sum(range(100_000))
    assert share._measured(1.0)[1] - by_all_before > 0.1


@pytest.mark.parametrize(("given", "used"), [("3", 2), (None, 1)])
def test_a_number_of_threads_that_is_set_stays(monkeypatch, given, used):
    """Every piece of work asks; here torch has two threads, and one would be decided."""
    using = [2]
    monkeypatch.setattr("torch.get_num_threads", lambda: using[-1])
    monkeypatch.setattr("torch.set_num_threads", using.append)
    monkeypatch.setattr(fair_share, "_share", SimpleNamespace(decide=lambda: 1, shared=False))
    monkeypatch.setenv("OMP_NUM_THREADS", given) if given else monkeypatch.delenv("OMP_NUM_THREADS")
    finish(iter([Progress("one", 1, 2)]))
    assert using[-1] == used
    assert jobs.follow("shares", "shares", lambda: iter([Progress("one", 1, 2)])).ends_within(10)
    jobs.forget("shares")
    assert using[-1] == used


def test_a_torch_that_another_thread_is_importing_is_left_alone(monkeypatch):
    using = []
    parts = {"get_num_threads": lambda: 2, "set_num_threads": using.append}
    monkeypatch.setattr(fair_share, "_share", SimpleNamespace(decide=lambda: 1, shared=False))
    monkeypatch.delenv("OMP_NUM_THREADS")
    for ready in ({}, {"get_num_threads": parts["get_num_threads"]}, parts):
        torch = ModuleType("torch")
        vars(torch).update(ready)
        monkeypatch.setitem(sys.modules, "torch", torch)
        fair_share.adapt()
        assert using == [1] * (ready is parts)


def test_work_has_its_number_of_threads_in_each_part_and_nothing_else_has(monkeypatch):
    """Neither the parts of other work that it makes, nor what comes between two parts, nor another thread."""
    monkeypatch.setattr(fair_share, "_share", SimpleNamespace(decide=lambda: 1, shared=False))
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    found, others = [], []

    def work():
        try:
            for part in range(3):
                finish(iter([Progress("within", 1, 2)]))
                found.append(torch.get_num_threads())
                yield Progress("parts", part, 3)
        finally:
            found.append(torch.get_num_threads())

    def other() -> None:
        torch.set_num_threads(2)
        others.append(torch.get_num_threads())
        torch.set_num_threads(before)

    before = torch.get_num_threads()
    stopped = fair_share.with_threads(3, work())
    assert next(stopped).done == 0
    assert torch.get_num_threads() == before
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert next(stopped).done == 1
    stopped.close()
    assert found == [3, 3, 3]
    assert others == [2]
    finish(fair_share.with_threads(3, work()))
    assert found == [3] * 7
    assert torch.get_num_threads() == 1, "what follows makes room for others again"


@pytest.mark.parametrize(("stated", "threads"), [("3", 3), ("5,1", 5), ("", 2), ("many", 2), (None, 7)])
def test_what_begins_takes_the_stated_number_of_threads_or_that_of_the_processors(monkeypatch, stated, threads):
    monkeypatch.setattr(fair_share, "_share", SimpleNamespace(most=7))
    monkeypatch.setattr("torch.get_num_threads", lambda: 2)
    monkeypatch.delenv("OMP_NUM_THREADS") if stated is None else monkeypatch.setenv("OMP_NUM_THREADS", stated)
    assert fair_share.at_start() == threads


def spun(rounds: int = 30) -> float:
    """The seconds that processors work for two threads that mostly wait."""

    def compute() -> None:
        torch.set_num_threads(2)
        one = torch.zeros(100_000)
        started = time.process_time()
        for _ in range(rounds):
            one.add_(1)
            time.sleep(0.02)
        found.append(time.process_time() - started)
        torch.set_num_threads(before)

    found: list[float] = []
    before = torch.get_num_threads()
    thread = threading.Thread(target=compute)
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.skipif(sys.platform != "linux" or "libgomp" not in Path("/proc/self/maps").read_text(), reason="GNU's")
def test_threads_that_wait_sleep_while_other_programs_compute(tmp_path):
    # a process of its own: one that has more threads than processors, as tests leave them, spins less of itself
    alone = process(_spin, found := tmp_path / "found.json")
    alone.join()
    spinning, *working = json.loads(found.read_text())
    for seconds, shared in zip(working, (True, False), strict=True):
        assert (seconds < spinning / 3) == shared, (spinning, working)


def _spin(found: Path) -> None:
    seconds = [spun()]
    for shared in (True, False):
        fair_share._share = SimpleNamespace(decide=lambda: 2, shared=shared)
        with fair_share._with_threads(2):
            seconds.append(spun())
    found.write_text(json.dumps(seconds))


ARENAS = """
import ctypes, os, re, sys, threading
from explorer import fair_share

def arenas():
    libc = ctypes.CDLL(None)
    libc.fopen.restype = ctypes.c_void_p
    file = ctypes.c_void_p(libc.fopen(sys.argv[1].encode(), b"w"))
    libc.malloc_info(0, file)
    libc.fclose(file)
    return len(re.findall("<heap nr=", open(sys.argv[1]).read()))

def allocate():
    go.wait()
    held = [ctypes.create_string_buffer(50_000) for _ in range(200)]
    go.wait()

def with_threads():
    before, threads = arenas(), [threading.Thread(target=allocate) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return arenas() - before

go = threading.Barrier(4)
if sys.argv[2] == "shared":
    fair_share.one_arena()
print(with_threads())
"""


def test_memory_is_not_given_back_while_a_training_keeps_it(monkeypatch):
    trimmed: list[int] = []
    glibc = SimpleNamespace(mallopt=lambda name, value: 1, malloc_trim=trimmed.append)
    monkeypatch.setattr(fair_share, "_glibc", lambda: glibc)
    fair_share.trim()
    assert trimmed == [0]
    with fair_share.kept_while_training():
        fair_share.trim()
        assert trimmed == [0]
    assert trimmed == [0, 0], "what the training has freed"


@pytest.mark.skipif(fair_share._glibc() is None, reason="the C library is not glibc")
@pytest.mark.parametrize("shared", [True, False])
def test_threads_share_the_main_arena_where_they_are_told_to(tmp_path, shared):
    asked = [sys.executable, "-c", ARENAS, str(tmp_path / "told"), "shared" if shared else "each its own"]
    told = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    made = int(subprocess.run(asked, cwd=ROOT, env=told, capture_output=True, text=True, check=True).stdout)
    assert (made == 0) == shared, made
