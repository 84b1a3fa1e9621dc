"""Put sentences of different lengths into batches and passes with little padding, and rows back in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

MB = 2**20
# in training, the numbers of sentences and tokens of a pass are multiples of these: a processor prepares each shape of
# a matrix product once, which takes longer than the product, and caches a thousand shapes
ROWS, COLUMNS = 8, 4


@dataclass(frozen=True)
class Limits:
    """How large batches are on a device, in tokens with their padding, sentences and bytes."""

    busy: int  # tokens from which a batch takes no shorter sentences: below, padding costs less than another batch
    tokens: int  # of a batch
    states: int  # bytes of the states of every layer
    views: int  # bytes of the vectors of a batch under every layer & pooling
    pooled: int  # bytes of states that are pooled together, in float32; at least those of one row of the grid
    vectors: int  # bytes of the vectors of a set that wait for their cosines, under every layer & pooling
    sentences: int  # most of these
    ahead: int  # texts of a part that is tokenised while the device computes; 0: all are tokenised before
    behind: int  # batches that the device computes while the vectors of an earlier one are fetched


LIMITS = {
    # two cores: more of anything is not faster
    "cpu": Limits(1024, 2**12, 96 * MB, 32 * MB, 0, 128 * MB, 1024, 0, 0),
    # NVIDIA H100 80GB, the grid of 4,000 pairs with `busy` 1,024 or 32,768: BERT-base in bfloat16 1.95 or 0.94 s, in
    # float32 1.90 or 1.30 s; MiniLM in bfloat16 0.97 or 0.65 s, in float32 0.70 or 0.49 s. The others are
    # not measured: a set has sentences for such batches, a call that pools fewer bytes takes longer to start than to
    # compute, and a part has several batches.
    "cuda": Limits(2**15, 2**15, 1024 * MB, 256 * MB, 32 * MB, 512 * MB, 4096, 4096, 1),
    # not measured
    "mps": Limits(1024, 2**15, 1024 * MB, 256 * MB, 32 * MB, 128 * MB, 1024, 4096, 0),
}


def limits_of(device: str | torch.device) -> Limits:
    """The limits of a device; an unknown one has those of CUDA."""
    return LIMITS.get(torch.device(device).type, LIMITS["cuda"])


def batches(lengths: Sequence[int], budget: int, most: int, busy: int) -> Iterator[list[int]]:
    """Positions of sentences, longest first, in batches of at most `most` sentences and `budget` tokens, or of one.

    Sentences of one length form a batch without padding or mask; lengths are mixed only if too few sentences of one
    length are left to keep the machine `busy`.
    """
    longest_first = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    batch: list[int] = []
    for place in longest_first:
        if batch:
            width = lengths[batch[0]]
            full = (len(batch) + 1) * width > budget or len(batch) == most
            shorter = lengths[place] < width and len(batch) * width >= min(busy, budget)
            if full or shorter:
                yield batch
                batch = []
        batch.append(place)
    if batch:
        yield batch


def passes(lengths: Sequence[int], price: int, columns: int = COLUMNS) -> list[tuple[list[int], int]]:
    """Positions of sentences in the passes of least total cost, longest first, with the width of each pass.

    A pass costs its padded tokens plus `price` tokens of overhead. Passes have few shapes only, see above; widths are
    multiples of `columns`.
    """
    longest_first = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    cuts = [*range(0, len(lengths), ROWS), len(lengths)]
    widths = [-(-lengths[longest_first[cut]] // columns) * columns for cut in cuts[:-1]]
    # cheapest[n]: the cost of the sentences before the n-th cut, and the cut at which their last pass begins
    cheapest: list[tuple[int, int]] = [(0, 0)]
    for end in range(1, len(cuts)):
        costs = (cheapest[start][0] + (cuts[end] - cuts[start]) * widths[start] + price for start in range(end))
        cheapest.append(min(zip(costs, range(end), strict=True)))
    made, end = [], len(cuts) - 1
    while end:
        start = cheapest[end][1]
        made.append((sorted(longest_first[cuts[start] : cuts[end]]), widths[start]))
        end = start
    return made[::-1]


def in_order(parts: Iterable[tuple[list[int], Tensor]]) -> Tensor:
    """Join rows that were computed in parts, in the order of their places."""
    places, rows = zip(*parts, strict=True)
    back = torch.tensor([place for part in places for place in part]).argsort()
    return torch.cat(rows)[back.to(rows[0].device, non_blocking=True)]
