"""Find what two texts have in common: sentences, swapped words, templates and runs of content words."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

_WORD = re.compile(r"[a-z0-9]+(?:['.,:][a-z0-9]+)*")
_ENDINGS = ("ingly", "edly", "ings", "ing", "ied", "ies", "ers", "est", "ed", "es", "er", "ly", "s", "d")
# closed classes: these recur in every English text
FUNCTION_WORDS = frozenset(
    _WORD.findall("""
    a an the this that these those my your his her its our their i you he she it we they me him us them mine who
    whom which what whose where when why how is am are was were be been being do does did done has have had
    having will would shall should can could may might must to of in on at by for from with into onto out up
    down over under off as and or but if so than then there here not no never nor don't doesn't didn't isn't
    aren't wasn't weren't hasn't haven't hadn't won't wouldn't can't cannot couldn't shouldn't mustn't i'm i've
    i'd i'll it's he's she's they're we're you're that's there's one about very more most too also just still
    any some all
    """)
)
QUANTIFIERS = frozenset(
    _WORD.findall("""
    all every each everyone everybody everything some someone somebody something most many much few several any
    anyone anybody anything none nobody nothing no both half neither either little lot lots plenty majority
    minority handful part whole more fewer less hardly great deal a of the one only
    """)
)
TIME_WORDS = frozenset(
    _WORD.findall("""
    before after afterwards then first last later earlier until since during while once when next previously
    following prior subsequently finally already yet soon begin beginning begun start end ended ago now still
    ahead behind
    """)
)

Words = tuple[str, ...]
Swap = frozenset[str]


def words(sentence: str) -> Words:
    """Its words, without case and punctuation."""
    return tuple(_WORD.findall(sentence.casefold().replace("’", "'")))


def stem(word: str) -> str:
    """A word without its ending, roughly: `rising` and `rises` agree."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)].rstrip("e")
    return word.rstrip("e") if len(word) > 3 else word


def differences(one: str, other: str) -> list[tuple[Words, Words]]:
    """The places where two sentences differ: the words of the one, and those of the other."""
    first, second = words(one), words(other)
    steps = SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
    return [(first[a:b], second[c:d]) for name, a, b, c, d in steps if name != "equal"]


def swaps(one: str, other: str) -> set[Swap]:
    """Pairs of swapped words, as stems: what stands in place of what, and the two words that change places."""
    found = {
        frozenset((" ".join(map(stem, before)), " ".join(map(stem, after))))
        for before, after in differences(one, other)
        if before and after and not {*before, *after} <= FUNCTION_WORDS
    }
    first, second = words(one), words(other)
    if len(first) == len(second):
        moved = {word for pair in zip(first, second, strict=True) if pair[0] != pair[1] for word in pair}
        exchanged = frozenset(stem(word) for word in moved - FUNCTION_WORDS)
        if len(exchanged) == 2:
            found.add(exchanged)
    return found


def template(one: str, other: str) -> Words:
    """The words that two sentences share, with a gap for those that differ."""
    first, second = words(one), words(other)
    steps = SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
    return tuple(word for name, a, b, _, _ in steps for word in (first[a:b] if name == "equal" else ("_",)))


def runs(sentence: str, length: int) -> set[Words]:
    """Every run of so many content words, as stems."""
    content = [stem(word) for word in words(sentence) if word not in FUNCTION_WORDS]
    return {tuple(content[start : start + length]) for start in range(len(content) - length + 1)}


def only(one: str, other: str, closed: frozenset[str]) -> bool:
    """Whether two sentences differ in nothing but words of a closed class, each standing in place of another."""
    found = differences(one, other)
    return bool(found) and all(before and after and closed >= {*before, *after} for before, after in found)


def only_added_or_swapped(one: str, other: str, closed: frozenset[str]) -> bool:
    """The same where a word may also be added."""
    return all(closed >= {*before, *after} for before, after in differences(one, other))
