"""ConIsI-o1: a sentence with itself should be told from one with a copy whose words were exchanged.

Sun and Huang 2022, section 3.2: chosen tokens give way to random ones of the vocabulary, four in five of them; the
paper leaves open how many are chosen. At least one token changes: else the same input would be both same and other.
"""

from __future__ import annotations

import torch

from explorer.methods import knob
from explorer.methods._conisi import ConIsI


class ConIsIReplaced(ConIsI):
    """The hardest of the three where little is replaced."""

    chosen: float = knob(
        0.15, low=0.01, high=1.0, front=True, help="Share of tokens chosen to be replaced (not given in the paper)."
    )
    replaced: float = knob(
        0.8, low=0.01, high=1.0, help="Share of the chosen tokens that are replaced (paper, section 3.2: 0.8)."
    )

    def build(self) -> None:
        """The tokens that may stand in for others."""
        super().build()
        self._words = torch.tensor(self.composer.words)

    def others(self, sentences: list[str], pieces: list[list[int]]) -> list[list[int] | None]:
        """Each sentence with some of its tokens replaced."""
        return [self.changed(own) for own in pieces]

    def changed(self, own: list[int]) -> list[int] | None:
        """A copy in which at least one token is another one; None of a sentence without tokens."""
        if not own:
            return None
        drawn = self._words[torch.randint(0, len(self._words), (len(own),))].tolist()
        replace = (torch.rand(len(own)) < self.chosen) & (torch.rand(len(own)) < self.replaced)
        other = [new if here else old for old, new, here in zip(own, drawn, replace.tolist(), strict=True)]
        if other == own:
            place = int(torch.randint(0, len(own), (1,)))
            other[place] = self._another(own[place])
        return other

    def _another(self, token: int) -> int:
        """Any token but this one."""
        others = self._words[self._words != token]
        return int(others[torch.randint(0, len(others), (1,))])
