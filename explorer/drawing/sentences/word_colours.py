"""Colour the words of a sentence, in their places, by what each adds to a cosine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from explorer.drawing.parts.style import DIFFERENCE_SCALE, scale_colours, text_colours
from explorer.measuring.sentences.word_pair import WordPair


@dataclass(frozen=True)
class ColouredWord:
    """A word, the text between it and the word before, what it adds, and its colours."""

    before: str
    word: str
    value: float
    background: str
    ink: str


def largest(*pairs: WordPair) -> float:
    """The largest contribution of a word, for a colour scale that sentences and models share."""
    return max((float(np.abs(values).max(initial=0)) for pair in pairs for values in pair.contributions), default=0.0)


def coloured(
    sentence: str, words: Sequence[str], values: NDArray[np.float64], most: float
) -> tuple[tuple[ColouredWord, ...], str]:
    """The words in order, blue where they raise the cosine and brown where they lower it; then the text after them."""
    span = -(most or 1.0), most or 1.0, DIFFERENCE_SCALE
    found, end = [], 0
    for word, value, background, ink in zip(
        words, values, scale_colours(values, *span), text_colours(values, *span), strict=True
    ):
        place = sentence.find(word, end)
        begin = place if place >= 0 else end
        found.append(ColouredWord(sentence[end:begin], word, float(value), background, ink))
        end = begin + len(word) if place >= 0 else end
    return tuple(found), sentence[end:]
