"""Show a pair of a probe pack in words: which cosine is right, and the words in which its sentences differ."""

import difflib
import re
from collections.abc import Sequence

from explorer.measuring.comparing.verdict_sentence import Marked

_WORDS = re.compile(r"[\w'’-]+|[^\w'’-]+")


def what_is_right(pack: str) -> str:
    """Above a pair whose sentences differ in meaning: its pack, and which cosine is right."""
    return f"{pack}: low is right"


def differing(first: str, second: str) -> tuple[Marked, Marked]:
    """Two sentences with the words that differ emphasised; none of them if that is most of a sentence."""
    one, other = _WORDS.findall(first), _WORDS.findall(second)
    lower = [word.lower() for word in one], [word.lower() for word in other]
    blocks = difflib.SequenceMatcher(None, lower[0], lower[1], autojunk=False).get_matching_blocks()
    kept = [{block[side] + place for block in blocks for place in range(block.size)} for side in (0, 1)]
    marked = [
        [place not in same and word[:1].isalnum() for place, word in enumerate(side)]
        for side, same in zip((one, other), kept, strict=True)
    ]
    most = any(
        2 * sum(marks) > sum(word[:1].isalnum() for word in side)
        for side, marks in zip((one, other), marked, strict=True)
    )
    return _marked(one, marked[0], most), _marked(other, marked[1], most)


def _marked(words: Sequence[str], marks: Sequence[bool], none: bool) -> Marked:
    return tuple((word, mark and not none) for word, mark in zip(words, marks, strict=True))
