"""Keep a device at work: tokenise texts ahead of it in a thread, and fetch vectors while it computes the next."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import torch
from torch import Tensor

Given = TypeVar("Given")
Made = TypeVar("Made")
Place = TypeVar("Place")

PARTS = 2  # that are ready, or being made, before they are asked for


def made_ahead(make: Callable[[Given], Made], given: Iterable[Given], by: int = PARTS) -> Iterator[Made]:
    """What `make` gives for each, in order, made in a thread up to `by` ahead of who takes it.

    The thread ends with the iterator, whether it is exhausted, closed or fails.
    """
    waiting: deque[Future[Made]] = deque()
    with ThreadPoolExecutor(1, "ahead") as thread:
        try:
            for one in given:
                waiting.append(thread.submit(make, one))
                if len(waiting) > by:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def fetched(
    batches: Iterator[tuple[Place, tuple[Tensor, ...]]], behind: int
) -> Iterator[tuple[Place, tuple[Tensor, ...]]]:
    """Tensors of each batch on the processor, given out when the device has got so many further batches to compute."""
    coming: deque[tuple[Place, list[Callable[[], Tensor]]]] = deque()
    for place, tensors in batches:
        coming.append((place, [_coming(tensor) for tensor in tensors]))
        if len(coming) > behind:
            place, arrived = coming.popleft()
            yield place, tuple(tensor() for tensor in arrived)
    for place, arrived in coming:
        yield place, tuple(tensor() for tensor in arrived)


def _coming(tensor: Tensor) -> Callable[[], Tensor]:
    """Begin to copy a tensor to the processor; what is returned waits until it is there."""
    if tensor.device.type != "cuda":
        return tensor.cpu
    copied = tensor.to("cpu", non_blocking=True)  # into pinned memory, which torch takes for it
    there = torch.cuda.Event()  # type: ignore[no-untyped-call]
    there.record(torch.cuda.current_stream(tensor.device))

    def arrived() -> Tensor:
        there.synchronize()
        return copied

    return arrived
