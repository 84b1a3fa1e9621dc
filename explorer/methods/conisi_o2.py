"""ConIsI-o2: a sentence with itself should be told from one with its opposite.

Sun and Huang 2022, section 3.2: chosen words give way to their antonyms in WordNet; the paper leaves open how many are
chosen. A sentence in which no word has an antonym takes no part in the interaction; how many those are is reported.
"""

from __future__ import annotations

import re

import torch

from explorer.data.wordnet import WORDNET, antonym
from explorer.methods import knob
from explorer.methods._conisi import ConIsI

_WORD = re.compile(r"[^\W\d_]+")


class ConIsIAntonyms(ConIsI):
    """Needs WordNet, and sentences in English."""

    needs = (WORDNET,)

    chosen: float = knob(
        0.15,
        low=0.01,
        high=1.0,
        front=True,
        help="Share of the words with an antonym that are replaced, one at least (not given in the paper).",
    )

    def others(self, sentences: list[str], pieces: list[list[int]]) -> list[list[int] | None]:
        """Each sentence with some of its words turned into their opposites."""
        cuts = self.composer.read_to(sentences, self.base.max_length)
        opposites = [opposite(one, cut, self.chosen) for one, cut in zip(sentences, cuts, strict=True)]
        turned = self.composer.pieces([one or "" for one in opposites], self.base.max_length)
        # an antonym that the tokenizer writes as it does the word would be no other sentence
        return [
            other if one and other != own else None for one, own, other in zip(opposites, pieces, turned, strict=True)
        ]


def opposite(sentence: str, cut: int, share: float) -> str | None:
    """A sentence with at least one antonym among its first `cut` characters; None where no word there has one."""
    words = [word for word in _WORD.finditer(sentence) if word.end() <= cut]
    found = [(word, other) for word in words if (other := antonym(word.group()))]
    if not found:
        return None
    drawn = (torch.rand(len(found)) < share).tolist()
    if not any(drawn):
        drawn[int(torch.randint(0, len(found), (1,)))] = True
    for (word, other), here in reversed(list(zip(found, drawn, strict=True))):
        if here:
            written = other.capitalize() if word.group()[0].isupper() else other
            sentence = sentence[: word.start()] + written + sentence[word.end() :]
    return sentence
