"""The cosine of two sentences as an exact sum over their words, and what of it changed from one model to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.encoding.read.readings import PAD, Reading
from explorer.progress import Work

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

Floats = NDArray[np.float64]
Cut = tuple[int, int]  # the first so many tokens of a sentence took part, of so many


@dataclass(frozen=True, eq=False)
class WordPair:
    """The words of two sentences, and a matrix whose sum is the cosine.

    A cell is what a word of the first sentence (row) and one of the second (column) add together; the last row and the
    last column are of the references, the sentences without their words. The sum misses the cosine by `missed`.
    """

    words: tuple[tuple[str, ...], tuple[str, ...]]
    matrix: Floats
    cosine: float
    points: tuple[int, int]  # on the paths from the references
    cuts: tuple[Cut | None, Cut | None] = (None, None)  # None: the whole sentence took part

    @property
    def contributions(self) -> tuple[Floats, Floats]:
        """What each word of either sentence adds to the cosine: the sums of the rows, and those of the columns."""
        return self.matrix.sum(axis=1)[:-1], self.matrix.sum(axis=0)[:-1]

    @property
    def rests(self) -> tuple[float, float]:
        """What either sentence adds without its words."""
        return float(self.matrix[-1].sum()), float(self.matrix[:, -1].sum())

    @property
    def missed(self) -> float:
        """How far the sum is from the cosine."""
        return abs(float(self.matrix.sum()) - self.cosine)


@dataclass(frozen=True)
class WordChange:
    """What a word adds to the cosine under two models."""

    sentence: int  # 1 or 2
    place: int  # among its words, from 1
    word: str
    before: float
    after: float

    @property
    def gap(self) -> float:
        """After minus before."""
        return self.after - self.before


def word_pair(
    encoder: Encoder,
    first: str,
    second: str,
    reading: Reading,
    reference: str = PAD,
    max_length: int | None = None,
) -> Work[WordPair]:
    """Split the vectors of both sentences, and multiply their parts."""
    from explorer.encoding.read.word_parts import word_parts

    one = yield from word_parts(encoder, first, reading, reference, max_length)
    other = one if first == second else (yield from word_parts(encoder, second, reading, reference, max_length))
    rows, columns = (np.vstack([side.parts, side.reference[None]]) for side in (one, other))
    cosine = float(one.vector @ other.vector)
    points, cuts = (one.points, other.points), (one.cut, other.cut)
    return WordPair((one.words, other.words), rows @ columns.T, cosine, points, cuts)


def changes(before: WordPair, after: WordPair) -> tuple[WordChange, ...]:
    """The change of every word, largest first; none if the models split the sentences into other words."""
    if before.words != after.words:
        return ()
    found = [
        WordChange(sentence, place, word, float(old), float(new))
        for sentence, (words, olds, news) in enumerate(
            zip(before.words, before.contributions, after.contributions, strict=True), start=1
        )
        for place, (word, old, new) in enumerate(zip(words, olds, news, strict=True), start=1)
    ]
    return tuple(sorted(found, key=lambda change: -abs(change.gap)))
