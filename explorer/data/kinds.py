"""The kinds of text Strata works on, from plain sentences to graded pairs; frozen, each with a digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property


def digest_of(parts: Iterable[str]) -> str:
    """The SHA-256 of texts in order; no two lists of texts share it, wherever their borders fall."""
    sha = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        sha.update(len(encoded).to_bytes(8, "little"))
        sha.update(encoded)
    return sha.hexdigest()


@dataclass(frozen=True)
class Sentences:
    """Plain sentences, in file order."""

    name: str
    texts: tuple[str, ...]

    @cached_property
    def digest(self) -> str:
        """What the sentences are, whatever they are called."""
        return digest_of(("sentences", *self.texts))

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class Pairs:
    """Two sentences a row that belong together, without a grade."""

    name: str
    first: tuple[str, ...]
    second: tuple[str, ...]

    @cached_property
    def digest(self) -> str:
        """What the pairs are, whatever they are called."""
        return digest_of(("pairs", *self.first, *self.second))

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True)
class Triplets:
    """An anchor, a sentence that means the same, and one that contradicts it."""

    name: str
    anchors: tuple[str, ...]
    positives: tuple[str, ...]
    negatives: tuple[str, ...]

    @cached_property
    def digest(self) -> str:
        """What the triplets are, whatever they are called."""
        return digest_of(("triplets", *self.anchors, *self.positives, *self.negatives))

    def __len__(self) -> int:
        return len(self.anchors)


@dataclass(frozen=True)
class BackTranslations:
    """A sentence a row, and what became of it on its way to another language and back."""

    name: str
    sentences: tuple[str, ...]
    translated: tuple[str, ...]

    @cached_property
    def digest(self) -> str:
        """What the sentences and their translations are, whatever they are called."""
        return digest_of(("back-translations", *self.sentences, *self.translated))

    def __len__(self) -> int:
        return len(self.sentences)


@dataclass(frozen=True)
class GradedPairs:
    """Two sentences a row and how alike people find them."""

    name: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    gold: tuple[float, ...]
    parts: tuple[str, ...]  # the sub-corpus of each row, "" if it has none
    tags: tuple[str, ...] = ()  # what else a set says of each row, as SICK of entailment; no score depends on it

    @cached_property
    def digest(self) -> str:
        """What the pairs, scores and parts are, whatever they are called."""
        return digest_of(("graded pairs", *self.first, *self.second, *map(repr, self.gold), *self.parts))

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """Every distinct sentence once, in order of first appearance."""
        return tuple(dict.fromkeys((*self.first, *self.second)))

    @cached_property
    def places(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Where the first and the second sentence of each row stand in `sentences`."""
        place = {text: at for at, text in enumerate(self.sentences)}
        return tuple(place[text] for text in self.first), tuple(place[text] for text in self.second)

    def rows_of(self, some: GradedPairs) -> tuple[int, ...]:
        """Which rows stand in another set too, such as a half of this one."""
        known = set(zip(some.first, some.second, some.gold, some.parts, strict=True))
        rows = zip(self.first, self.second, self.gold, self.parts, strict=True)
        return tuple(row for row, of_row in enumerate(rows) if of_row in known)

    def __len__(self) -> int:
        return len(self.gold)
