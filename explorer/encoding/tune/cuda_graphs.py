"""Capture work of a GPU as CUDA graphs, and undo what a failed capture leaves."""

from collections.abc import Callable
from contextlib import suppress
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
        try:
            return self._captured(work)
        except RuntimeError:
            self._clean_up()
            raise

    def _captured(self, work: Callable[[], Found]) -> tuple[Repeat, Found]:
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.current_stream()
        try:
            # other threads use the GPU meanwhile, for pages: what only they do spoils no graph
            with (
                fair_share.capturing,
                torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"),
            ):
                found = work()
        finally:
            torch.cuda.set_stream(stream)  # a failed capture would leave its own
        return graph.replay, found

    def _clean_up(self) -> None:
        """Undo what torch 2.13 leaves after a failed capture.

        Its memory stays in use by the capture, and its random numbers refuse all other work until a capture has ended
        well: next to nothing is captured for that.
        """
        with suppress(RuntimeError):  # it was in use no longer
            torch._C._cuda_endAllocateToPool(torch.cuda.current_device(), self._pool)
        number = torch.zeros(1, device=torch.cuda.current_device())
        self._pool = torch.cuda.graph_pool_handle()
        self._captured(lambda: number.add_(1))


CAPTURES: dict[str, Callable[[], Capture]] = {"cuda": CudaGraphs}  # by type of device
