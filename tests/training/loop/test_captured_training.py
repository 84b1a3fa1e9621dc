"""Test runs that repeat captured passes: results, stop and resume, what the log says, and captures that fail."""

import gc

import pytest
import torch

from explorer import fair_share
from explorer.encoding.load import hardware
from explorer.encoding.load.hardware import DeviceMemory
from explorer.encoding.tune import captured_passes
from explorer.encoding.tune.cuda_graphs import CudaGraphs
from explorer.errors import RunError
from explorer.methods import self_guided
from explorer.training.loop.learner import Learner
from explorer.training.record.runs import KEEP
from explorer.training.record.status import FAILED, FINISHED
from tests.captured_operators import CapturedOperators
from tests.device import DEVICE
from tests.trainings import learner, losses, new, train, weights

STEPS = {"steps": 16, "evaluate_every": 8}
on_a_processor = pytest.mark.skipif(DEVICE != "cpu", reason="a stand-in fails, not the GPU")
REPEATS = "as CUDA graphs, and those of other sizes from the third on"
WITHOUT = "computes passes of the encoder without CUDA graphs: "


@pytest.fixture(autouse=True)
def captures(monkeypatch):
    monkeypatch.setitem(captured_passes.CAPTURES, "cpu", CapturedOperators)
    monkeypatch.setattr(self_guided, "PROJECTION", 64)


class Failing(CapturedOperators):
    """A capture that ends with an error."""

    error: Exception = RuntimeError("CUDA error: operation not permitted when stream is capturing\nmore")

    def __init__(self, error=None):
        self.error = error or self.error

    def fail(self):
        raise self.error

    def __call__(self, work):
        self.fail()


@pytest.fixture(scope="module")
def runs_without():
    return {}


@pytest.fixture
def plain(place, runs_without, monkeypatch):
    """A run in which nothing is ever captured, trained once."""

    def trained(method, **settings):
        known = method, *settings.items()
        if known not in runs_without:
            with monkeypatch.context() as patch:
                patch.setattr(captured_passes, "SEEN", 10**9)
                runs_without[known] = train(new(place, method, settings=STEPS | settings))
            assert REPEATS not in runs_without[known].log_tail(1000)
        return runs_without[known]

    return trained


def assert_same(run, other):
    """To the bit on a processor, where both compute by the same operators."""
    tolerance = {"atol": 0, "rtol": 0} if DEVICE == "cpu" else {"atol": 1e-5, "rtol": 1e-4}
    assert list(losses(run)) == list(losses(other)) == list(range(1, STEPS["steps"] + 1))
    torch.testing.assert_close([*losses(run).values()], [*losses(other).values()], **tolerance)
    for name, weight in weights(other).items():
        torch.testing.assert_close(weights(run)[name], weight, **tolerance)


@pytest.mark.device
@pytest.mark.parametrize(
    ("method", "settings"),
    [("simcse", {}), ("sg-opt", {}), ("contrast", {"accumulate": 2}), ("simcse", {"lora_rank": 2})],
    ids=["simcse", "sg-opt", "accumulated", "adapters"],
)
def test_a_run_ends_as_without_them_and_says_once_that_it_repeats(method, settings, place, plain):
    before = CapturedOperators.captured
    run = train(new(place, method, settings=STEPS | settings))
    assert run.log_tail(1000).count(REPEATS) == 1
    assert DEVICE != "cpu" or CapturedOperators.captured > before
    assert_same(run, plain(method, **settings))


@pytest.mark.device
def test_fifty_steps_without_dropout_are_those_that_it_makes_without(place, monkeypatch):
    captured, plain = made = [learner(place, "simcse", steps=50) for _ in range(2)]
    for of, seen in zip(made, (2, 10**9), strict=True):
        of.method.eval()
        monkeypatch.setattr(captured_passes, "SEEN", seen)
        for _ in range(50):
            of.update()
    assert REPEATS in "".join(captured.captured.news())
    for one, another in zip(captured.names, plain.names, strict=True):
        torch.testing.assert_close(one, another, atol=1e-5, rtol=1e-5)


@pytest.mark.device
def test_a_run_that_is_stopped_and_resumed_captures_anew_and_ends_the_same(place, plain):
    run = new(place, "simcse", settings=STEPS)
    train(run, lambda progress: run.request_stop(KEEP) if (progress.stage, progress.done) == ("training", 10) else None)
    train(run)
    assert run.status().state == FINISHED
    assert run.log_tail(1000).count(REPEATS) == 2
    assert_same(run, plain("simcse"))


@on_a_processor
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Failing.error, "CUDA error: operation not permitted when stream is capturing"),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), "CUDA out of memory."),
        (torch.AcceleratorError("CUDA error: operation not supported"), "CUDA error: operation not supported"),
    ],
    ids=["a step that cannot be captured", "memory", "a driver without graphs"],
)
def test_a_capture_that_fails_leaves_the_run_as_it_is_without_and_the_log_says_why(
    error, reason, place, plain, monkeypatch
):
    monkeypatch.setattr(Failing, "error", error)
    monkeypatch.setitem(captured_passes.CAPTURES, "cpu", Failing)
    run = train(new(place, "simcse", settings=STEPS))
    log = run.log_tail(1000)
    assert log.count(WITHOUT) == log.count(f"{WITHOUT}{reason}") == 1
    assert_same(run, plain("simcse"))


@on_a_processor
def test_a_capture_that_fails_late_gives_back_what_was_captured(place, plain, monkeypatch):
    """Shapes that were captured before are computed again as all others."""
    made = []

    class Last(CapturedOperators):
        def __call__(self, work):
            made.append(work)
            if len(made) > 4:  # two to prove it, two for the first shape
                raise torch.OutOfMemoryError("CUDA out of memory.")
            return super().__call__(work)

    monkeypatch.setitem(captured_passes.CAPTURES, "cpu", Last)
    run = train(new(place, "simcse", settings=STEPS))
    log = run.log_tail(1000)
    assert len(made) == 5
    assert log.index(REPEATS) < log.index(f"{WITHOUT}CUDA out of memory.")
    assert_same(run, plain("simcse"))


@on_a_processor
@pytest.mark.parametrize("wrong", ["states", "gradients"])
def test_passes_that_are_repeated_wrongly_are_found_before_one_is_used(wrong, place, plain, monkeypatch):
    class Wrong(CapturedOperators):
        """Its forward passes, or its backward passes, do nothing but what they did when they were captured."""

        def __call__(self, work):
            repeat, found = super().__call__(work)
            return (lambda: None) if (wrong == "gradients") == (work.__name__ == "backward") else repeat, found

    monkeypatch.setitem(captured_passes.CAPTURES, "cpu", Wrong)
    run = train(new(place, "simcse", settings=STEPS))
    assert f"{WITHOUT}a captured pass does not give the states and gradients of a plain one" in run.log_tail(1000)
    assert REPEATS not in run.log_tail(1000)
    assert_same(run, plain("simcse"))


@on_a_processor
def test_a_device_that_is_lost_in_a_capture_ends_the_run_with_what_to_do_and_it_can_be_resumed(
    place, plain, monkeypatch
):
    lost = []

    class Lost(CapturedOperators):
        def __call__(self, work):
            lost.append(work)
            raise torch.AcceleratorError("CUDA error: operation failed due to a previous error during capture")

    def gradients(self, *given, **more):
        if lost:
            raise torch.AcceleratorError("CUDA error: operation failed due to a previous error during capture")
        return usual(self, *given, **more)

    usual = Learner.gradients
    with monkeypatch.context() as patch:
        patch.setitem(captured_passes.CAPTURES, "cpu", Lost)
        patch.setattr(Learner, "gradients", gradients)
        run = new(place, "simcse", settings=STEPS)
        with pytest.raises(
            RunError,
            match=r"ended with AcceleratorError: CUDA error: operation failed .* Set STRATA_CUDA_GRAPHS to off, start "
            r"Strata again, and resume the run\.",
        ):
            train(run)
    assert run.status().state == FAILED
    train(run)
    assert_same(run, plain("simcse"))


@on_a_processor
@pytest.mark.parametrize(("free", "peak", "captured"), [(24, 0, False), (26, 0, True), (50, 26, False), (54, 26, True)])
def test_nothing_is_captured_where_little_memory_is_free(free, peak, captured, place, monkeypatch):
    """Less than a quarter, or less than twice of what was needed so far above what is held."""
    monkeypatch.setattr(hardware, "memory_in_use", lambda device: DeviceMemory(100 - free, 100))
    monkeypatch.setattr(hardware, "peak_memory", lambda device: 7 + peak)
    monkeypatch.setattr(hardware, "held_memory", lambda device: 7)
    of = learner(place, "simcse")
    for _ in range(6):
        of.update()
    (said,) = of.captured.news()
    assert (said == f"{WITHOUT}too little of the GPU's memory is free", REPEATS in said) == (not captured, captured)


def test_what_is_not_captured_is_known_before_the_first_step_and_said_once(place, monkeypatch):
    def said(method, **settings):
        of = learner(place, method, **settings)
        for _ in range(4):
            of.update()
        return of.captured.news()

    again = [f"{WITHOUT}layers are computed again in the backward pass"]
    assert said("simcse", gradient_checkpointing=True) == again
    assert said("contrast", chunk=4) == again
    assert said("contrast", chunk=7) == again, "of 8 texts"
    monkeypatch.setenv("STRATA_CUDA_GRAPHS", "Off")
    assert said("simcse") == [f"{WITHOUT}STRATA_CUDA_GRAPHS is off"]
    monkeypatch.setenv("STRATA_CUDA_GRAPHS", "on")
    assert WITHOUT not in "".join(said("simcse"))
    of = learner(place, "simcse")
    of.world.size = 2
    assert of.world.capturing(of.method, of.schedule).news() == [f"{WITHOUT}several processes train"]


@on_a_processor
def test_a_processor_captures_nothing_and_says_nothing(place, monkeypatch):
    monkeypatch.delitem(captured_passes.CAPTURES, "cpu")
    of = learner(place, "simcse", gradient_checkpointing=True)
    of.update()
    assert (of.captured.news(), of.captured.seen_before) == ([], 0)


class Driver:
    """What torch does around a capture that a GPU refuses: it says so at the end, and leaves its stream in place."""

    def __init__(self, monkeypatch, refused):
        self.stream, self.refused, self.pools = "usual", refused, 0
        self.released, self.cleared, self.captures = [], 0, []
        driver = self

        class Graph:
            replay = len

            def __init__(self):
                self.ended = False

            def pool(self):
                if not self.ended:
                    raise RuntimeError("Called CUDAGraph::pool() without a preceding successful capture.")

        class Capturing:
            def __init__(self, graph, pool, capture_error_mode):
                self.graph = graph
                assert capture_error_mode == "thread_local"

            def __enter__(self):
                driver.stream = "capturing"
                driver.captures.append((fair_share.capturing.locked(), gc.isenabled(), driver.cleared % 2))

            def __exit__(self, *why):
                if len(driver.captures) in driver.refused:
                    raise torch.AcceleratorError("CUDA error: operation failed due to a previous error during capture")
                driver.stream, self.graph.ended = "usual", True

        for name, value in {
            "CUDAGraph": Graph,
            "graph": Capturing,
            "current_stream": lambda: self.stream,
            "set_stream": lambda stream: setattr(self, "stream", stream),
            "current_device": lambda: 3,
            "graph_pool_handle": self.pool,
        }.items():
            monkeypatch.setattr(torch.cuda, name, value)
        monkeypatch.setattr(torch._C, "_cuda_releasePool", lambda *which: self.released.append(which), raising=False)
        monkeypatch.setattr(torch._C, "_cuda_clearCublasWorkspaces", self.clear, raising=False)

    def pool(self):
        self.pools += 1
        return self.pools

    def clear(self):
        self.cleared += 1


@on_a_processor
def test_a_capture_is_alone_and_what_a_refused_one_leaves_in_torch_is_undone(monkeypatch):
    driver = Driver(monkeypatch, refused={2})
    capture = CudaGraphs()
    _, found = capture(lambda: 7)
    assert found == 7
    with pytest.raises(torch.AcceleratorError, match="previous error during capture"):
        capture(lambda: 7)
    assert driver.stream == "usual"
    assert driver.released == [(3, 1)]
    with pytest.raises(torch.OutOfMemoryError):
        capture(Failing(torch.OutOfMemoryError("CUDA out of memory.")).fail)
    assert driver.released == [(3, 1)], "its capture ended"
    assert driver.captures == [(True, False, 1)] * 3, "locked, without collections, after the workspaces were cleared"
    assert driver.cleared == 6
    assert gc.isenabled()
    assert not fair_share.capturing.locked()


@on_a_processor
def test_an_encoder_that_draws_on_the_processor_is_not_captured(monkeypatch):
    Driver(monkeypatch, refused=())
    with pytest.raises(RuntimeError, match="draws random numbers on the processor"):
        CudaGraphs()(lambda: torch.rand([]))


@on_a_processor
def test_the_log_names_the_first_error_and_not_that_of_the_end_of_a_capture(place, monkeypatch):
    class Ended(CapturedOperators):
        def __call__(self, work):
            try:
                raise ValueError("position_buckets")
            finally:
                raise torch.AcceleratorError("CUDA error: operation failed due to a previous error during capture")

    monkeypatch.setitem(captured_passes.CAPTURES, "cpu", Ended)
    run = train(new(place, "simcse", settings=STEPS))
    assert f"{WITHOUT}position_buckets" in run.log_tail(1000)
