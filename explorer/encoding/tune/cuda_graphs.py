"""Capture work of a GPU as CUDA graphs."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

import torch

from explorer import fair_share

Found = TypeVar("Found")
Repeat = Callable[[], None]


class Capture(Protocol):
    """Captures work of a device. What is captured by one shares memory: of its passes, one is in use at a time."""

    def __call__(self, work: Callable[[], Found]) -> tuple[Repeat, Found]:
        """What repeats the work, which is not done yet, and where its results will be."""


class CudaGraphs:
    """Captures work of an NVIDIA GPU as CUDA graphs."""

    def __init__(self) -> None:
        self._pool = torch.cuda.graph_pool_handle()

    def __call__(self, work: Callable[[], Found]) -> tuple[Repeat, Found]:
        """The replay of a graph, and the tensors that it fills."""
        graph, drawn = torch.cuda.CUDAGraph(), torch.get_rng_state()
        with fair_share.capturing, _alone():
            try:
                # other threads use the GPU meanwhile, for pages: what only they do spoils no graph
                with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
                    found = work()
            except RuntimeError:
                self._forget(graph)
                raise
        if not torch.equal(drawn, torch.get_rng_state()):
            raise RuntimeError("the encoder draws random numbers on the processor, which would be the same each time")
        return graph.replay, found

    def _forget(self, graph: torch.cuda.CUDAGraph) -> None:
        """Give back the memory of a capture that did not end, which torch 2.13 would keep."""
        try:
            graph.pool()  # an error if the capture did not end
        except RuntimeError:
            torch._C._cuda_releasePool(torch.cuda.current_device(), self._pool)
            self._pool = torch.cuda.graph_pool_handle()


@contextmanager
def _alone() -> Iterator[None]:
    """Keep what surrounds a capture out of it, and the other way round.

    The memory in which cuBLAS computes would be that of the graph captured first, whichever is repeated. A collection
    of garbage may destroy a graph, which a capture does not allow. A capture that fails leaves its stream in place.
    """
    stream, collects = torch.cuda.current_stream(), gc.isenabled()
    gc.disable()
    torch._C._cuda_clearCublasWorkspaces()
    try:
        yield
    finally:
        torch.cuda.set_stream(stream)
        torch._C._cuda_clearCublasWorkspaces()
        if collects:
            gc.enable()


# by type of device; AMD's GPUs have the same one, and are not tried
CAPTURES: dict[str, Callable[[], Capture]] = {} if torch.version.hip else {"cuda": CudaGraphs}
