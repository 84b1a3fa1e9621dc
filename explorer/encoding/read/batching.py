"""Put sentences of different lengths into batches and passes with little padding, and rows back in order."""

from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import Tensor

# fewest tokens of a pass: below it, mixing lengths costs less than another pass
BUSY = 1024
# in training, the numbers of sentences and tokens of a pass are multiples of these: a processor prepares each shape of
# a matrix product once, which takes longer than the product, and caches a thousand shapes
ROWS, COLUMNS = 8, 4


def batches(lengths: Sequence[int], budget: int, most: int) -> Iterator[list[int]]:
    """Positions of sentences, longest first, in batches of at most `most` sentences and `budget` tokens, or of one.

    Sentences of one length form a batch without padding or mask; lengths are mixed only if too few sentences of one
    length are left to use the machine fully.
    """
    longest_first = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    batch: list[int] = []
    for place in longest_first:
        if batch:
            width = lengths[batch[0]]
            full = (len(batch) + 1) * width > budget or len(batch) == most
            shorter = lengths[place] < width and len(batch) * width >= min(BUSY, budget)
            if full or shorter:
                yield batch
                batch = []
        batch.append(place)
    if batch:
        yield batch


def passes(lengths: Sequence[int], price: int) -> list[tuple[list[int], int]]:
    """Positions of sentences in the passes of least total cost, longest first, with the width of each pass.

    A pass costs its padded tokens plus `price` tokens of overhead. Passes have few shapes only, see above.
    """
    longest_first = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    cuts = [*range(0, len(lengths), ROWS), len(lengths)]
    widths = [-(-lengths[longest_first[cut]] // COLUMNS) * COLUMNS for cut in cuts[:-1]]
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
