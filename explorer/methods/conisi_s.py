"""ConIsI-s: a sentence with itself should be told from one with another sentence of the batch.

Sun and Huang 2022, section 3.2: the other sentence is drawn from the mini-batch, each as likely as the next.
"""

from __future__ import annotations

import torch

from explorer.methods._conisi import ConIsI


class ConIsISampled(ConIsI):
    """The easiest of the three: the two sentences have as a rule little to do with each other."""

    def others(self, sentences: list[str], pieces: list[list[int]]) -> list[list[int] | None]:
        """Another row of the batch for each."""
        return [pieces[place] for place in neighbours(len(pieces))]


def neighbours(count: int) -> list[int]:
    """For each of so many rows another one, drawn."""
    steps = torch.randint(1, count, (count,)).tolist()
    return [(place + step) % count for place, step in enumerate(steps)]
