"""Which sentences are read together?

Sentences of one length make a batch without padding, which costs nothing and needs no mask; a batch of mixed
lengths is made only where too few sentences of one length are left to keep the machine busy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

# tokens from which a batch is worth its own pass: below it, mixing lengths costs less than another pass
BUSY = 1024
# a pass of training has as many sentences and as many tokens as are multiples of these: a processor prepares each
# shape of a matrix product once, which takes longer than the product, and remembers a thousand of them
ROWS, COLUMNS = 8, 4


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


def passes(lengths: Sequence[int], price: int) -> list[tuple[list[int], int]]:
    """Positions of sentences in the passes that cost least together, longest first, with the width of each pass.

    A pass costs the tokens it is padded to, and `price` tokens for being one more: few lengths in a pass mean little
    padding, and many passes mean much that is done for each. Passes come in few shapes only, see above.
    """
    longest_first = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    cuts = [*range(0, len(lengths), ROWS), len(lengths)]
    widths = [-(-lengths[longest_first[cut]] // COLUMNS) * COLUMNS for cut in cuts[:-1]]
    # cheapest[n]: what the sentences before the n-th cut cost, and at which cut their last pass begins
    cheapest: list[tuple[int, int]] = [(0, 0)]
    for end in range(1, len(cuts)):
        cheapest.append(
            min((cheapest[start][0] + (cuts[end] - cuts[start]) * widths[start] + price, start) for start in range(end))
        )
    made, end = [], len(cuts) - 1
    while end:
        start = cheapest[end][1]
        made.append((sorted(longest_first[cuts[start] : cuts[end]]), widths[start]))
        end = start
    return made[::-1]
