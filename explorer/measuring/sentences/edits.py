"""Find the edits that make one sentence of another: words replaced, removed, added, moved or exchanged."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

MOST = 32  # edits: of sentences that differ in more places there are none
REPLACED, REMOVED, ADDED, MOVED, EXCHANGED = "replaced", "removed", "added", "moved", "exchanged"
SPELLED = "spelled"  # in another case, or with other punctuation
REWORDED = "reworded"  # all words at once
# of the words of both sentences: of fewer that are equal in order, and anywhere, an alignment pairs words by chance
IN_ORDER, ANYWHERE = 0.3, 0.5
ALIKE = 0.7  # the similarity of two spellings of a word (difflib)
SHORT = 3  # words: so few can be named, even if all differ
_MARK = r"[^\w<>$€£%&@#+=\u2190-\u2bff\U0001f000-\U0001faff]"  # neither letters, digits nor symbols such as emoji
_EDGES = re.compile(f"^{_MARK}+|{_MARK}+$")
_NONE, _NEAREST = -1, -2  # in place of the number of an edit
# whether the words are equal, and where they begin and end in the first and in the second sentence
Region = tuple[bool, int, int, int, int]


@dataclass(frozen=True)
class Edit:
    """Words of the first sentence, and those of the second that take their place."""

    kind: str
    before: str  # "" if they are added
    after: str  # "" if they are removed; of exchanged words, the others

    def __str__(self) -> str:
        """`two → seven`, `“not” removed`, `“dog” and “cat” exchanged`, `the whole sentence`."""
        if self.kind == REWORDED:
            return "the whole sentence"
        if self.kind in (REPLACED, SPELLED):
            return f"{self.before} → {self.after}"
        if self.kind == EXCHANGED:
            return f"“{self.before}” and “{self.after}” exchanged"
        return f"“{self.before or self.after}” {self.kind}"


@dataclass(frozen=True)
class AlignedWord:
    """A word as the first and as the second sentence has it, and the edit that decides which is there."""

    before: str
    after: str
    edit: int = _NONE


@dataclass(frozen=True)
class Edited:
    """Two sentences and the edits between them."""

    first: str
    second: str
    edits: tuple[Edit, ...]
    places: tuple[AlignedWord, ...]

    def text(self, applied: int) -> str:
        """The first sentence with some edits applied: those whose bits are set."""
        if applied in (0, 2 ** len(self.edits) - 1):
            return self.second if applied else self.first
        there = (one.after if one.edit >= 0 and applied >> one.edit & 1 else one.before for one in self.places)
        text = " ".join(filter(None, there))
        starts_large = self.first[:1].isupper() and self.second[:1].isupper()
        return text[:1].upper() + text[1:] if starts_large else text


def between(first: str, second: str) -> Edited | None:
    """The edits from the first sentence to the second; None if one is empty or they differ in more than MOST places.

    Words are aligned without their case and the punctuation around them. If few of them are equal, all words are one
    edit.
    """
    sides = _words(first), _words(second)
    if not all(sides):
        return None
    keys = [[_bare(word).casefold() for word in words] for words in sides]
    regions = _parted(_regions(*keys), keys)
    if _few_shared(keys, regions):
        kind = REPLACED if max(map(len, sides)) <= SHORT else REWORDED
        every = [AlignedWord(word, "", 0) for word in sides[0]] + [AlignedWord("", word, 0) for word in sides[1]]
        return Edited(first, second, (Edit(kind, _bare(*sides[0]), _bare(*sides[1])),), tuple(every))
    edits, of_old, of_new = _moved(keys, sides, regions)
    places: list[AlignedWord] = []
    for is_equal, start, end, other_start, other_end in regions:
        old, new = sides[0][start:end], sides[1][other_start:other_end]
        if is_equal:
            places += [
                AlignedWord(*pair, _NONE if pair[0] == pair[1] else _NEAREST) for pair in zip(old, new, strict=True)
            ]
            continue
        whole = start not in of_old and other_start not in of_new  # nothing of it is moved
        if whole and old and new:
            of_old[start] = of_new[other_start] = len(edits)
            edits.append(Edit(REPLACED, _bare(*old), _bare(*new)))
        if old and start not in of_old:
            of_old[start] = len(edits)
            edits.append(Edit(REMOVED, _bare(*old), ""))
        if new and other_start not in of_new:
            of_new[other_start] = len(edits)
            edits.append(Edit(ADDED, "", _bare(*new)))
        places += [AlignedWord(word, "", of_old[start]) for word in old]
        places += [AlignedWord("", word, of_new[other_start]) for word in new]
    places = _with_spelling(places, edits)
    return Edited(first, second, tuple(edits), tuple(places)) if len(edits) <= MOST else None


def _few_shared(keys: Sequence[list[str]], regions: Sequence[Region]) -> bool:
    """Whether the sentences have few words in common, counting those that are spelled in a similar way."""
    in_order, anywhere = 0, (Counter(keys[0]) & Counter(keys[1])).total()
    for is_equal, start, end, to, to_end in regions:
        if is_equal:
            in_order += end - start
        elif (end - start, to_end - to) == (1, 1):
            alike = SequenceMatcher(None, keys[0][start], keys[1][to]).ratio() >= ALIKE
            in_order, anywhere = in_order + alike, anywhere + alike
    half = (len(keys[0]) + len(keys[1])) / 2
    return in_order < IN_ORDER * half and anywhere < ANYWHERE * half


def _words(sentence: str) -> list[str]:
    """The words with the marks around them; marks between two spaces belong to the word before."""
    words: list[str] = []
    for word in sentence.split():
        if words and not _EDGES.sub("", word):
            words[-1] += f" {word}"
        else:
            words.append(word)
    return words


def _bare(*words: str) -> str:
    """Words without the marks around them."""
    return " ".join(_EDGES.sub("", word) or word for word in words)


def _regions(one: Sequence[str], other: Sequence[str]) -> list[Region]:
    """The regions of an alignment with the fewest words added, removed or replaced, and of these the most equal ones.

    Words that change places are replaced twice in it (Levenshtein); by the longest common block, as in difflib, what is
    between them would be added and removed.
    """
    change = len(one) + len(other) + 1  # outweighs all equal words
    rows = [[change * number for number in range(len(other) + 1)]]
    for number, word in enumerate(one, start=1):
        row = [change * number]
        for place, against in enumerate(other, start=1):
            aligned = rows[-1][place - 1] + (-1 if word == against else change)
            row.append(min(aligned, rows[-1][place] + change, row[-1] + change))
        rows.append(row)
    steps, at, to = list[tuple[bool, int, int]](), len(one), len(other)
    while at or to:
        is_equal = bool(at and to) and one[at - 1] == other[to - 1]
        if at and to and rows[at][to] == rows[at - 1][to - 1] + (-1 if is_equal else change):
            at, to = at - 1, to - 1
        elif at and rows[at][to] == rows[at - 1][to] + change:
            at, is_equal = at - 1, False
        else:
            to, is_equal = to - 1, False
        steps.append((is_equal, at, to))
    found, end, other_end = list[Region](), len(one), len(other)
    for number, (is_equal, at, to) in enumerate(steps):
        if number + 1 == len(steps) or steps[number + 1][0] != is_equal:
            found.append((is_equal, at, end, to, other_end))
            end, other_end = at, to
    return found[::-1]


def _parted(regions: Sequence[Region], keys: Sequence[list[str]]) -> list[Region]:
    """The regions, those that differ parted further: at words between two exchanged phrases, or word by word.

    Words are not parted if they are moved to another region as they are.
    """
    regions = _joined(regions, keys)
    phrases = [(keys[0][start:end], keys[1][to:to_end]) for is_equal, start, end, to, to_end in regions if not is_equal]
    found = list[Region]()
    for is_equal, start, end, to, to_end in regions:
        old, new = keys[0][start:end], keys[1][to:to_end]
        moved = any(old == other or new == one for one, other in phrases)
        if is_equal or not old or not new or moved:
            found.append((is_equal, start, end, to, to_end))
        elif sizes := _exchanged(old, new):
            first, second = sizes
            found.append((False, start, start + first, to, to + second))
            if start + first < end - second:
                found.append((True, start + first, end - second, to + second, to_end - first))
            found.append((False, end - second, end, to_end - first, to_end))
        elif len(old) == len(new):
            found += [(False, start + at, start + at + 1, to + at, to + at + 1) for at in range(len(old))]
        else:
            found.append((is_equal, start, end, to, to_end))
    return found


def _joined(regions: Sequence[Region], keys: Sequence[list[str]]) -> list[Region]:
    """The regions, two as one with the equal words between them if these change places with the first or last words."""
    found = list(regions)
    for at in range(len(found) - 3, -1, -1):
        if at + 3 > len(found):
            continue
        (is_equal, start, _, to, _), *_, (_, _, end, _, to_end) = found[at : at + 3]
        sizes = None if is_equal else _exchanged(keys[0][start:end], keys[1][to:to_end])
        if sizes and sum(sizes) < end - start:  # words stay between the two
            found[at : at + 3] = [(False, start, end, to, to_end)]
    return found


def _exchanged(old: list[str], new: list[str]) -> tuple[int, int] | None:
    """How many words at the beginning and at the end change places; None if not all others stay."""
    for first in range(1, len(old)):
        for second in range(1, len(old) - first + 1):
            middle = old[first : len(old) - second]
            if new == [*old[len(old) - second :], *middle, *old[:first]]:
                return first, second
    return None


def _moved(
    keys: Sequence[list[str]], sides: Sequence[list[str]], regions: Sequence[Region]
) -> tuple[list[Edit], dict[int, int], dict[int, int]]:
    """The edits of words that are removed in one region and added in another, by where they begin in either sentence.

    If the words of the other region are added in this one, both are exchanged.
    """
    edits: list[Edit] = []
    of_old: dict[int, int] = {}
    of_new: dict[int, int] = {}
    differing = [ends for is_equal, *ends in regions if not is_equal]
    for start, end, new_start, new_end in differing:
        for other_start, other_end, to_start, to_end in differing:
            is_move = start != other_start and start < end and keys[0][start:end] == keys[1][to_start:to_end]
            if not is_move or start in of_old or to_start in of_new:
                continue
            of_old[start] = of_new[to_start] = len(edits)
            words, back = _bare(*sides[0][start:end]), keys[0][other_start:other_end]
            if back and back == keys[1][new_start:new_end] and other_start not in of_old and new_start not in of_new:
                of_old[other_start] = of_new[new_start] = len(edits)
                edits.append(Edit(EXCHANGED, words, _bare(*sides[0][other_start:other_end])))
            else:
                edits.append(Edit(MOVED, words, words))
    return edits, of_old, of_new


def _with_spelling(places: list[AlignedWord], edits: list[Edit]) -> list[AlignedWord]:
    """Let the nearest edit decide how a word is spelled that both sentences have; without any edit, it is one."""
    decided = [at for at, one in enumerate(places) if one.edit >= 0]
    spelled = [at for at, one in enumerate(places) if one.edit == _NEAREST]
    if spelled and not decided:
        before, after = (" ".join(getattr(places[at], side) for at in spelled) for side in ("before", "after"))
        edits.append(Edit(SPELLED, before, after))
    for at in spelled:
        edit = places[min(decided, key=lambda other: abs(other - at))].edit if decided else 0
        places[at] = replace(places[at], edit=edit)
    return places
