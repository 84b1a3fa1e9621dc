"""Gather vectors from every training process, with gradients, so that each batch uses all of them as negatives.

`all_gather` alone carries no gradient: each process would train on its own rows only.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


def gathered(rows: Tensor) -> Tensor:
    """The rows of every process, in order of rank; alone, the rows themselves."""
    if processes() == 1:
        return rows
    joined: Tensor = _Gather.apply(rows)  # type: ignore[no-untyped-call]
    return joined


def processes() -> int:
    """The number of processes that train together."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def own_share(rows: Tensor) -> Tensor:
    """The rows of this process among those of all."""
    if processes() == 1:
        return rows
    return rows.chunk(processes())[dist.get_rank()]


def mean_of_all(sums: list[Tensor], counts: Sequence[int]) -> Tensor:
    """The mean over the tokens of all processes, from sums over some of them: it is not the mean of means."""
    number = sums[0].new_full((), sum(counts))
    return gathered(torch.stack(sums).sum()[None]).sum() / gathered(number[None]).sum().clamp(min=1)


def of_all(flags: Sequence[bool]) -> list[bool]:
    """The flags of every process, in order of rank; alone, nothing is sent to the device."""
    if processes() == 1:
        return list(flags)
    found: list[list[bool] | None] = [None] * processes()
    dist.all_gather_object(found, list(flags))
    return [flag for own in found for flag in own or ()]


def text_keys(texts: Sequence[str], device: torch.device | str) -> Tensor:
    """A whole number for each text of every process, in order of rank; equal texts have equal numbers."""
    digests = (hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts)
    keys = [int.from_bytes(digest, "little", signed=True) for digest in digests]
    # given a device, torch.tensor waits for it
    return gathered(torch.tensor(keys, dtype=torch.long).to(device, non_blocking=True))


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, rows: Tensor) -> Tensor:
        # every process holds the same number of rows: other batch sizes are refused before training
        parts = [torch.empty_like(rows) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, rows.contiguous())
        return torch.cat(parts)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> Tensor:
        # each process computed the whole loss, so each has a gradient for everyone's rows
        whole = gradients[0].clone(memory_format=torch.contiguous_format)  # the tensor may be shared
        dist.all_reduce(whole)
        return whole.chunk(dist.get_world_size())[dist.get_rank()]
