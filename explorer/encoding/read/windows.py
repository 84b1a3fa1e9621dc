"""Cut passages that are longer than an encoder reads into overlapping windows, so that all of their text is read.

A window is a text of its own: it begins and ends between two words, or where a word has no such place nearby, as in
scripts without spaces, between two tokens. So it is tokenised as the same words are in any text, and has the prompt of
passages before it. It is as long as the limit allows, and shares about a quarter with the one before. A passage
is as similar to a query as the most similar of its windows (MaxP; Dai and Callan 2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

OVERLAP = 4  # one part in so many of a window is in the one before, too
AT_A_TIME = 2048  # passages that are tokenised between two progress reports


@dataclass(frozen=True, eq=False)
class Windows:
    """The windows of passages, in their order; a passage that fits is its only window."""

    texts: tuple[str, ...]
    passages: NDArray[np.intp]  # which passage each window is of, ascending
    begins: tuple[int, ...] = ()  # the character of its passage at which each window begins, if they were cut here

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """The first window of each passage."""
        return np.flatnonzero(np.diff(self.passages, prepend=-1))

    @cached_property
    def cut(self) -> int:
        """How many passages have several windows."""
        return int((np.bincount(self.passages) > 1).sum()) if len(self.passages) else 0

    def of(self, passage: int) -> NDArray[np.intp]:
        """The windows of a passage."""
        first, end = np.searchsorted(self.passages, (passage, passage + 1))
        return np.arange(first, end)


def windows(
    encoder: Encoder, passages: Sequence[str], max_length: int | None = None, prompt: str = ""
) -> Work[Windows]:
    """The windows of each passage under a limit of tokens (the model's), which also holds its prompt."""
    limit = encoder.limit(max_length)
    texts: list[str] = []
    begins: list[int] = []
    of: list[int] = []
    for start in range(0, len(passages), AT_A_TIME):
        yield Progress("cutting passages into windows", start, len(passages))
        some = passages[start : start + AT_A_TIME]
        for place, (passage, length) in enumerate(zip(some, encoder.lengths(some, prompt), strict=True), start):
            found = [(0, len(passage))] if length <= limit else _cut(encoder, passage, limit, prompt)
            texts += [passage[first:end] for first, end in found]
            begins += [first for first, _ in found]
            of += [place] * len(found)
    return Windows(tuple(texts), np.array(of, dtype=np.intp), tuple(begins))


def _cut(encoder: Encoder, passage: str, limit: int, prompt: str) -> list[tuple[int, int]]:
    """The first character of each window of a passage that is too long, and the end of its last."""
    text, tokens = encoder.spans(passage)
    room = max(1, limit - encoder.lengths([""], prompt)[0])
    ends = None if len(text) == len(passage) else np.cumsum([len(one.lower()) for one in passage])

    def place(at: int) -> int:
        """The character of the passage that one of the text is of: in lower case, some become two."""
        return at if ends is None else int(np.searchsorted(ends, at, side="right"))

    def piece(first: int, end: int) -> tuple[int, int]:
        start, stop = place(tokens[first][1]), place(tokens[end - 1][2] - 1) + 1
        whole = passage[start:stop]
        if not whole.strip():
            return start, stop
        start += len(whole) - len(whole.lstrip())
        return start, start + len(whole.strip())

    def lengths(pieces: list[tuple[int, int]]) -> list[int]:
        return encoder.lengths([passage[first:end] for first, end in pieces], prompt)

    spans = _spans([word for word, _, _ in tokens], room)
    found = [piece(*span) for span in spans]
    for number, length in enumerate(lengths(found)):
        # a token that begins a text may be another one than within it: then a window is a little shorter
        (first, end), over = spans[number], length - limit
        while 0 < over < end - first:
            first, end = (first + over, end) if number and end == len(tokens) else (first, end - over)
            found[number] = piece(first, end)
            over = lengths([found[number]])[0] - limit
    return found


def _spans(words: Sequence[int], room: int) -> list[tuple[int, int]]:
    """The first token of each window and the end of its last, between words where one begins in the last quarter."""
    overlap = room // OVERLAP
    begins = [at for at in range(len(words)) if not at or words[at] != words[at - 1]]
    places = np.array(begins)

    def between(low: int, high: int, otherwise: int) -> int:
        """The last place between words from `low` to `high`."""
        at = int(np.searchsorted(places, high, side="right")) - 1
        return begins[at] if at >= 0 and begins[at] >= low else otherwise

    found: list[tuple[int, int]] = []
    first = 0
    while True:
        if first + room >= len(words):
            return [*found, (first, len(words))]
        end = between(first + max(1, room - overlap), first + room, first + room)
        found.append((first, end))
        following = end - overlap
        first = between(max(first + 1, following - overlap // 2), following, max(first + 1, following))
