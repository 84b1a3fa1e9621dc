"""Test what a run states of its device: its name, the speed of the steps, and of a GPU memory and how busy it was."""

import json
from types import SimpleNamespace

import pytest
import torch

from explorer import run_folder
from explorer.encoding.load import hardware
from explorer.encoding.load.hardware import DeviceMemory
from explorer.places import examples_folder
from explorer.training import running
from explorer.training.loop import computed
from explorer.training.loop.computed import Busy, Computed, DeviceMeter, PeakMemory, Speed
from explorer.training.record import run_results, runs
from explorer.training.record.run_facts import CARD, PAGE, REPORT, RunFacts
from explorer.training.record.runs import Run
from explorer.training.record.status import FINISHED, INTERRUPTED
from tests.device import DEVICE
from tests.trainings import new, train

STEPS = {"steps": 6, "batch_size": 8, "accumulate": 2, "evaluate_every": 3}
ROWS = 6 * 8 * 2
on_a_processor = pytest.mark.skipif(DEVICE != "cpu", reason="a GPU has figures of its own")


class Gpu:
    """What torch says of a GPU: of tensors that hold 100 bytes, and 200 more in a step; a driver that says 80 %."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.held, self.peak, self.asked, self.busy = 100, 10**6, 0, 80
        monkeypatch.setattr(hardware, "COUNTED", ("cpu",))
        calls = {
            "memory_allocated": lambda: self.held,
            "max_memory_allocated": lambda: self.peak,
            "reset_peak_memory_stats": lambda: self.reset(),
            "mem_get_info": lambda: (3 * 10**9, 8 * 10**9),
            "utilization": self.utilization,
        }
        for name, call in calls.items():
            monkeypatch.setattr(torch.cuda, name, call)

    def reset(self) -> None:
        self.peak = self.held

    def utilization(self) -> int:
        self.asked += 1
        if self.busy is None:
            raise ModuleNotFoundError("nvidia-ml-py does not seem to be installed or it can't be imported.")
        return self.busy


@pytest.fixture
def gpu(monkeypatch) -> Gpu:
    return Gpu(monkeypatch)


def interrupted(run: Run) -> None:
    """Train it until its fourth step is on record, and no further."""
    work = running.train(run)
    while (progress := next(work)).stage != "training" or progress.done < 4:
        pass
    work.close()
    assert run.status().state == INTERRUPTED


@pytest.mark.device
def test_a_run_states_its_device_and_the_speed_of_all_its_steps_where_people_read_it(place):
    run, memory = new(place, "simcse", settings=STEPS), []
    train(run, lambda progress: memory.append(run.status().device_memory))
    facts, name = run.status().facts, hardware.device_name(DEVICE)
    assert facts.computed.where == f"{name}, float32" + ", 1 thread" * (DEVICE == "cpu")
    assert (facts.speed.steps, facts.speed.rows) == (6, ROWS)
    assert 0 < facts.speed.seconds < run.status().seconds
    for where in (CARD, PAGE, REPORT):
        assert facts.speed.words in facts.listed(where).values()
    assert f"| Speed | {facts.speed.words} |" in (run.folder / run_folder.MODEL / "README.md").read_text("utf-8")
    first, *_, last = run.log_tail(1000).splitlines()
    assert f"computes on {facts.computed.words}" in first
    assert last.endswith(f"finished: {facts.ran}")
    assert facts.ran.startswith(f"{facts.computed.where} · {facts.speed.words}")
    (result,) = run_results.of_one(run, run.status())
    assert result.measured.setting["training device"] == name
    assert result.measured.setting["training steps a second"] == pytest.approx(6 / facts.speed.seconds, abs=1e-3)
    assert result.task.settings["device"] == DEVICE, "what decides whether scores compare stays"
    if DEVICE == "cuda":
        assert 0 < facts.peak_memory.bytes < max(one.total for one in memory if one)
        assert facts.busy is None or 0 < facts.busy.share <= 1


@on_a_processor
def test_a_processor_states_no_peak_and_no_busy_share(place):
    run = train(new(place, "simcse", settings=STEPS))
    content = json.loads((run.folder / run_folder.STATUS).read_bytes())
    assert {"peak_memory", "busy"}.isdisjoint(content["facts"])
    assert "device_memory" not in content
    assert set(run.status().facts.ran_as_json) == {
        "device", "precision", "threads", "steps_a_second", "rows_a_second"
    }  # fmt: skip


@on_a_processor
def test_a_run_on_a_gpu_states_its_own_peak_and_how_busy_the_gpu_was(place, gpu):
    run, seen = new(place, "simcse", settings=STEPS), []

    def step(progress):
        if progress.stage == "training":
            gpu.peak = max(gpu.peak, gpu.held + 200)
            seen.append(run.status().device_memory)

    train(run, step)
    facts = run.status().facts
    assert facts.peak_memory == PeakMemory(200), "above what pages held, and nothing that was before the first step"
    assert facts.busy == Busy(0.8, gpu.asked)
    assert gpu.asked == 1, "at most once a second"
    assert DeviceMemory(5 * 10**9, 8 * 10**9) in seen
    assert run.status().device_memory is None, "a run that is over uses nothing"
    assert "peak memory 200 bytes · GPU busy 80 % of the time" in facts.ran
    assert {"peak_memory": 200, "busy": 0.8}.items() <= facts.ran_as_json.items()


@pytest.mark.parametrize("says", [None, 0])
def test_a_driver_that_does_not_say_how_busy_it_is_leaves_that_out(gpu, says):
    gpu.busy, meter = says, DeviceMeter("cpu")
    meter.begin()
    meter.fetched(1, 8)
    assert gpu.asked == 1
    assert meter.busy is None


@on_a_processor
def test_a_resumed_run_states_the_largest_peak_and_the_speed_of_all_sessions(place, gpu):
    run = new(place, "simcse", settings=STEPS)
    gpu.reset = lambda: setattr(gpu, "peak", 700)
    interrupted(run)
    first = run.status().facts
    assert (first.speed.steps, first.peak_memory) == (4, PeakMemory(600))
    gpu.reset = lambda: setattr(gpu, "peak", 500)
    gpu.busy = 40
    runs.restarted(run)
    train(run)
    facts = run.status().facts
    assert run.status().state == FINISHED
    assert facts.peak_memory == PeakMemory(600)
    assert (facts.speed.steps, facts.speed.rows) == (6, ROWS)
    assert facts.speed.seconds > first.speed.seconds
    assert facts.busy == Busy(pytest.approx(0.6), 2)


def test_evaluations_take_no_time_of_the_steps_and_what_is_not_yet_fetched_does(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(computed, "time", SimpleNamespace(monotonic=lambda: now[0]))
    meter = DeviceMeter("cpu")
    assert meter.speed is None
    for at, fetched in ((0.0, 0), (1.0, 0), (2.0, 3), (50.0, 0), (51.0, 2)):
        now[0] = at
        meter.begin()
        now[0] = at + 1.0
        meter.fetched(fetched, 10 * fetched)
    assert meter.speed == Speed(5, 50, 5.0)
    assert meter.speed.words == "1 steps and 10 rows a second"


def test_runs_of_earlier_versions_state_what_is_known_of_them():
    facts = Run(examples_folder() / "example").status().facts
    assert (facts.computed, facts.speed, facts.peak_memory, facts.busy) == (None,) * 4
    assert facts.ran == f"a processor, {facts.precision}"
    assert facts.ran_as_json == {}
    assert RunFacts().ran == ""
    older = Computed(2, "AMD EPYC (AVX512)", "cpu", "float32")
    assert RunFacts(computed=older).ran == "AMD EPYC (AVX512), float32, 2 threads"
