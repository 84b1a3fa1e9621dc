"""ConIsI-s: distinguish a sentence paired with itself from one paired with another sentence.

Sun and Huang 2022, section 3.2: the other sentence is drawn uniformly from the mini-batch.
"""

from __future__ import annotations

import torch

from explorer.methods._conisi import ConIsI


class ConIsISampled(ConIsI):
    """The easiest of the three: the two sentences are usually unrelated."""

    when_to_use = "Only sentences, and [CLS] must be the vector; SimCSE gained more in less time."

    def others(self, sentences: list[str], pieces: list[list[int]]) -> list[list[int] | None]:
        """A random other row of the batch for each sentence."""
        return [pieces[place] for place in neighbours(len(pieces))]


def neighbours(count: int) -> list[int]:
    """A random other row for each row."""
    steps = torch.randint(1, count, (count,)).tolist()
    return [(place + step) % count for place, step in enumerate(steps)]
