"""Which sentences are read together?

Sentences of one length make a batch without padding, which costs nothing and needs no mask; a batch of mixed
lengths is made only where too few sentences of one length are left to keep the machine busy.
"""

from __future__ import annotations

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
