"""Show which words make two sentences similar under A and B, and which of them account for the change."""

from __future__ import annotations

import streamlit as st

from explorer.data.kinds import digest_of
from explorer.drawing.sentences import word_figures
from explorer.encoding.read.readings import PAD, REFERENCES
from explorer.measuring.sentences import word_tables
from explorer.measuring.sentences.token_pairs import MOST
from explorer.measuring.sentences.word_pair import WordPair, changes, word_pair
from explorer.progress import Progress, Work
from explorer.ui import messages
from explorer.ui.access import cached, remembered
from explorer.ui.access.side_readers import Reader
from explorer.ui.widgets import downloads, picture_format, segments

TITLE = "Which words did it?"
FAR = 0.005  # of the cosine
ABOUT = (
    "The cosine as an exact sum: what each word adds, through all layers and whatever follows the pooling. Each word's "
    "embedding is moved from {} to its own, and its part is the change of the sentence vector that this causes on the "
    "way (integrated gradients, Sundararajan et al. 2017; pairs of words: Möller et al. 2023). Last bar: the sentence "
    "without its words. Bars of a sentence add up to the cosine."
)
# docs/results.md, "Which words did it?": the mean Spearman over 300 pairs by reference, with the bundled encoder
CORRELATIONS = dict(zip(REFERENCES, (0.65, 0.52, 0.52), strict=True))
TRUST = (
    "Tested by removing each word (300 pairs, bundled encoder): the cosine falls about in the order of these bars, "
    "rank correlation {:.2f}. For the states of the last layer it is 0.57, for a random order −0.01."
)
MISSED = "{}: the parts miss the cosine by {:.3f} after {} points, so take its bars as approximate."
CUT = "Only the first {} words of a sentence have bars of their own; the others are in the last bar."


def show(sides: tuple[Reader, ...], first: str, second: str) -> None:
    """The sentence, the bars, the matrix and the files, once both sides are computed."""
    st.markdown(f"**{TITLE}**")
    reference: str = segments.chosen("Words are compared with", REFERENCES, default=PAD, key="word_reference")
    made = {side.name: _made(side, first, second, reference) for side in sides}
    pairs: dict[str, WordPair] = {name: pair for name, pair in made.items() if pair is not None}
    if len(pairs) < len(sides):
        return  # progress is shown
    told = word_tables.told(pairs)
    if told:
        st.markdown(messages.plain(told))
    for group in _alike(pairs):
        picture_format.draw(
            word_figures.word_bars(group),
            key=f"words {' '.join(group)}",
            config=picture_format.config("words"),
            alt="What each word of either sentence adds to the cosine. The file below has the numbers.",
        )
    st.caption(ABOUT.format(messages.plain(reference)))
    st.caption(TRUST.format(CORRELATIONS[reference]))
    for name, pair in pairs.items():
        if pair.missed > FAR:
            st.warning(MISSED.format(name, pair.missed, max(pair.points)), icon=":material/join_inner:")
    if any(len(words) > MOST for pair in pairs.values() for words in pair.words):
        st.caption(CUT.format(MOST))
    _matrices(pairs)
    with st.container(horizontal=True):
        stem = f"words {digest_of((first, second))[:8]}"
        downloads.rows(word_tables.word_rows(pairs), stem, "Words (CSV)")
        downloads.rows(word_tables.matrix_rows(pairs), f"{stem} pairs", "Pairs of words (CSV)")
        if len(pairs) > 1 and (found := changes(*pairs.values())):
            downloads.rows(word_tables.change_rows(found), f"{stem} changes", "Changes (CSV)")


def _matrices(pairs: dict[str, WordPair]) -> None:
    """Pairs of words, A and B next to each other with one colour scale."""
    folded = st.expander("Pairs of words", icon=":material/grid_on:", key="open word pairs", on_change="rerun")
    if not folded.open:
        return
    with folded:
        most = word_figures.widest(*pairs.values())
        for column, (name, pair) in zip(st.columns(len(pairs), gap="medium"), pairs.items(), strict=True):
            with column:
                st.markdown(f"**{name}**, cosine {pair.cosine:.3f}")
                picture_format.draw(
                    word_figures.word_matrix(pair, most),
                    key=f"word pairs {name}",
                    config=picture_format.config("word-pairs"),
                    alt=f"{name}: what each word of the first sentence and each of the second add together.",
                )
        st.caption("Rows: words of the first sentence; columns: of the second. All cells add up to the cosine.")


def _alike(pairs: dict[str, WordPair]) -> list[dict[str, WordPair]]:
    """Both sides in one figure if they have the same words, else one figure for each."""
    if len({pair.words for pair in pairs.values()}) == 1:
        return [pairs]
    return [{name: pair} for name, pair in pairs.items()]


def _made(side: Reader, first: str, second: str, reference: str) -> WordPair | None:
    length = side.settings.max_length
    texts = digest_of((first, second))
    key = f"words {side.found.digest} {texts} {side.reading.title} {reference} {length}"
    title = f"Weighing words with {side.found.name}"
    found: WordPair | None = remembered.made(key, title, lambda: _read(side, first, second, reference))
    return found


def _read(side: Reader, first: str, second: str, reference: str) -> Work[WordPair]:
    yield Progress(f"loading {side.found.name}", 0, 0)
    encoder = cached.attending(side.found)
    return (yield from word_pair(encoder, first, second, side.reading, reference, side.settings.max_length))
