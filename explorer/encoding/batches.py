"""Which sentences are read together?

Sentences of one length make a batch without padding, which costs nothing and needs no mask; a batch of mixed
lengths is made only where too few sentences of one length are left to keep the machine busy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

# tokens from which a batch is worth its own pass: below it, mixing lengths costs less than another pass
BUSY = 1024


def batches(lengths: Sequence[int], budget: int, most: int) -> Iterator[list[int]]:
    """Positions of sentences, longest first: to a batch at most `most`, and as many as `budget` tokens hold, or one."""
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


def passes(lengths: Sequence[int], price: int) -> list[list[int]]:
    """Positions of sentences in the passes that cost least together, longest first.

    A pass costs the tokens it is padded to, and `price` tokens for being one more: few lengths in a pass mean little
    padding, and many passes mean much that is done for each.
    """
    counts = sorted(Counter(lengths).items(), reverse=True)
    # cheapest[n]: what the n greatest lengths cost, and where their last pass begins
    cheapest: list[tuple[int, int]] = [(0, 0)]
    for end in range(1, len(counts) + 1):
        rows, options = 0, []
        for start in range(end - 1, -1, -1):
            rows += counts[start][1]
            options.append((cheapest[start][0] + rows * counts[start][0] + price, start))
        cheapest.append(min(options))
    widths, end = [], len(counts)
    while end:
        widths.append({length for length, _ in counts[cheapest[end][1] : end]})
        end = cheapest[end][1]
    return [[place for place, length in enumerate(lengths) if length in width] for width in reversed(widths)]
