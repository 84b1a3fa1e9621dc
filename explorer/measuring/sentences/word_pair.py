"""The cosine of two sentences as an exact sum over their words, and what of it changed from one model to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.encoding.read.readings import PAD, WORD_TOKENS, Reading
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

Floats = NDArray[np.float64]
Cut = tuple[int, int]  # the first so many tokens of a sentence took part, of so many


@dataclass(frozen=True, eq=False)
class WordPair:
    """The words of two sentences, and what each adds to their cosine.

    The contributions of a sentence, and what it adds without its words (its rest), add up to the cosine; the sum misses
    it by `missed`. A cell of the matrix is what a word of the first sentence (row) and one of the second (column) add
    together; its last row and column are of the sentences without their words, and all cells add up to the cosine.
    """

    words: tuple[tuple[str, ...], tuple[str, ...]]
    contributions: tuple[Floats, Floats]
    rests: tuple[float, float]
    cosine: float
    points: tuple[int, int]  # on the paths from the references
    cuts: tuple[Cut | None, Cut | None] = (None, None)  # None: the whole sentence took part
    matrix: Floats | None = None

    @property
    def missed(self) -> float:
        """How far the sums are from the cosine."""
        sums = (each.sum() + rest for each, rest in zip(self.contributions, self.rests, strict=True))
        return max(abs(float(total) - self.cosine) for total in sums)


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
    *,
    matrix: bool = False,
) -> Work[WordPair]:
    """What the words add, and, which takes several times as long, the matrix.

    Without a maximum length, sentences of more than `WORD_TOKENS` tokens get no matrix.
    """
    from explorer.encoding.read.word_parts import added, ends_of, word_parts

    yield Progress("encoding words", 0, 0)
    one, other = (ends_of(encoder, text, reading, reference, max_length) for text in (first, second))
    words, cuts = (one.words.texts, other.words.texts), (one.words.cut, other.words.cut)
    cosine = float(one.last @ other.last)
    if matrix and (max_length is not None or max(len(one.words.ids), len(other.words.ids)) <= WORD_TOKENS):
        left = yield from word_parts(one)
        right = left if first == second else (yield from word_parts(other))
        rows, columns = (np.vstack([side.parts, side.reference[None]]) for side in (left, right))
        cells = rows @ columns.T
        return WordPair(words, *_sums(cells), cosine, (left.points, right.points), cuts, cells)
    of_first, path = yield from added(one, other.last)
    of_second, other_path = yield from added(other, one.last)
    rests = float(one.first @ other.last), float(other.first @ one.last)
    points = len(path.weights), len(other_path.weights)
    return WordPair(words, (of_first, of_second), rests, cosine, points, cuts)


def _sums(cells: Floats) -> tuple[tuple[Floats, Floats], tuple[float, float]]:
    """The contributions and the rests: the sums of the rows, and those of the columns."""
    rows, columns = cells.sum(axis=1), cells.sum(axis=0)
    return (rows[:-1], columns[:-1]), (float(rows[-1]), float(columns[-1]))


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
