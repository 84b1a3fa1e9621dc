"""Show two sentences with each word coloured by what it adds to their cosine, A and B below each other."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import streamlit as st

from explorer import in_words
from explorer.drawing.sentences.word_figures import ColouredWord, coloured, largest
from explorer.measuring.sentences.word_pair import WordPair
from explorer.ui import messages
from explorer.ui.access.side_readers import Reader

LEGEND = "Blue words raise the cosine, brown words lower it, grey words add little. Hover a word for its number."
# The words are text in markdown, escaped; the style sheet has numbers alone. A number is over its word when that is
# hovered, and always there for screen readers.
_LOOK = """
.st-key-{key} p { unicode-bidi: plaintext; text-align: start; overflow-wrap: anywhere; line-height: 1.75;
  padding-inline-end: 1rem; }
.st-key-{key} .stMarkdownColoredBackground { position: relative; padding: 0.1em 0.25em; }
.st-key-{key} .stMarkdownColoredBackground > span:last-child { position: absolute; left: 50%; bottom: 100%; opacity: 0;
  transform: translateX(-50%); pointer-events: none; user-select: none; white-space: nowrap; direction: ltr;
  unicode-bidi: isolate; padding: 0 0.3em; border-radius: 0.25rem; background: inherit; color: inherit; z-index: 1; }
.st-key-{key} .stMarkdownColoredBackground:hover > span:last-child { opacity: 1; }
"""
_WORD = (
    ".st-key-{key} :nth-child({place} of .stMarkdownColoredBackground) "
    "{{ background-color: {background} !important; color: {ink} !important; }}"
)


def show(sides: Sequence[Reader], pairs: Mapping[str, WordPair], sentences: tuple[str, str], where: str) -> None:
    """Model and cosine, then both sentences, of each side; all have one colour scale. `where` is part of the keys."""
    most = largest(*pairs.values())
    rules = []
    for side in sides:
        pair = pairs[side.name]
        st.markdown(f"**{side.name}** {messages.plain(side.found.name)}, cosine **{pair.cosine:.2f}**")
        for number, (sentence, words, values) in enumerate(
            zip(sentences, pair.words, pair.contributions, strict=True), start=1
        ):
            key = "-".join(("coloured", *where.split(), side.name, str(number)))
            found, rest = coloured(sentence, words, values, most)
            with st.container(key=key):
                st.markdown(_markdown(found, rest))
            rules.append(_LOOK.replace("{key}", key))
            rules += [
                _WORD.format(key=key, place=place, background=one.background, ink=one.ink)
                for place, one in enumerate(found, start=1)
            ]
    st.html(f"<style>{''.join(rules)}</style>")
    st.caption(LEGEND)


def _markdown(words: Sequence[ColouredWord], rest: str) -> str:
    """The sentence with a directive for each word, in which its number follows; all texts are escaped."""
    pieces = []
    for one in words:
        pieces.append(_text(one.before))
        pieces.append(f":gray-background[{_text(one.word)}:small[ {in_words.signed(one.value)}]]")
    return "".join((*pieces, _text(rest))).strip()


def _text(text: str) -> str:
    """Text on one line, escaped; a space at either end is kept."""
    return messages.plain(re.sub(r"\s+", " ", text)) if text.strip() else " " * bool(text)
