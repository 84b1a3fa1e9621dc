"""ConIsI-o1: distinguish a sentence paired with itself from one paired with a partly replaced copy.

Sun and Huang 2022, section 3.2: four in five of the chosen tokens are replaced by random ones of the vocabulary; the
paper does not say how many are chosen. At least one token changes: else both inputs would be equal.
"""

from __future__ import annotations

import torch

from explorer.methods import knob
from explorer.methods._conisi import ConIsI


class ConIsIReplaced(ConIsI):
    """The hardest of the three if few words are replaced."""

    when_to_use = "To repeat the paper: the gain of the model default could be chance, and [CLS] got worse."
    chosen: float = knob(
        0.15, low=0.01, high=1.0, front=True, help="Share of tokens chosen to be replaced (not given in the paper)."
    )
    replaced: float = knob(
        0.8, low=0.01, high=1.0, help="Share of the chosen tokens that are replaced (paper, section 3.2: 0.8)."
    )

    def build(self) -> None:
        """Collect the tokens that may replace others."""
        super().build()
        self._words = torch.tensor(self.composer.words)

    def others(self, sentences: list[str], pieces: list[list[int]]) -> list[list[int] | None]:
        """Copies of sentences with some tokens replaced."""
        return [self.changed(own) for own in pieces]

    def changed(self, own: list[int]) -> list[int] | None:
        """A copy with at least one token replaced; None for a sentence without tokens."""
        if not own:
            return None
        drawn = self._words[torch.randint(0, len(self._words), (len(own),))].tolist()
        replace = (torch.rand(len(own)) < self.chosen) & (torch.rand(len(own)) < self.replaced)
        other = [new if here else old for old, new, here in zip(own, drawn, replace.tolist(), strict=True)]
        if other == own:
            place = torch.randint(0, len(own), (1,)).tolist()[0]
            other[place] = self._another(own[place])
        return other

    def _another(self, token: int) -> int:
        """A random token other than this one."""
        words = self._words.numpy()
        others = words[words != token]
        return int(others[torch.randint(0, len(others), (1,)).tolist()[0]])
