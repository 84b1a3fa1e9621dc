"""ConIsI-o2: distinguish a sentence paired with itself from one paired with its antonym version.

Sun and Huang 2022, section 3.2: chosen words are replaced by their antonyms in WordNet; the paper does not say how
many are chosen. Sentences without an antonym are left out of the interaction loss; their number is reported.
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

    when_to_use = "English sentences and the model default: a small gain; [CLS] gained less than by SimCSE."
    needs = (WORDNET,)

    chosen: float = knob(
        0.15,
        low=0.01,
        high=1.0,
        front=True,
        help="Share of the words with an antonym that are replaced, at least one (not given in the paper).",
    )

    def others(self, sentences: list[str], pieces: list[list[int]]) -> list[list[int] | None]:
        """Copies of sentences with some words replaced by antonyms."""
        cuts = self.composer.read_to(sentences, self.base.max_length)
        opposites = [opposite(one, cut, self.chosen) for one, cut in zip(sentences, cuts, strict=True)]
        turned = self.composer.pieces([one or "" for one in opposites], self.base.max_length)
        # skip an antonym that has the same tokens as the word
        return [
            other if one and other != own else None for one, own, other in zip(opposites, pieces, turned, strict=True)
        ]


def opposite(sentence: str, cut: int, share: float) -> str | None:
    """The sentence with at least one antonym among its first `cut` characters; None if no word there has one."""
    words = [word for word in _WORD.finditer(sentence) if word.end() <= cut]
    found = [(word, other) for word in words if (other := antonym(word.group()))]
    if not found:
        return None
    drawn = (torch.rand(len(found)) < share).tolist()
    if not any(drawn):
        drawn[torch.randint(0, len(found), (1,)).tolist()[0]] = True
    for (word, other), here in reversed(list(zip(found, drawn, strict=True))):
        if here:
            written = other.capitalize() if word.group()[0].isupper() else other
            sentence = sentence[: word.start()] + written + sentence[word.end() :]
    return sentence
