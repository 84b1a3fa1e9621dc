"""Show which words make two sentences similar under A and B, and which of them account for the change."""

import re
from collections.abc import Mapping, Sequence

import streamlit as st

from explorer import in_words
from explorer.data.text_sets import digest_of
from explorer.drawing.sentences import pair_figures
from explorer.encoding.read.pooling import PAD, REFERENCES
from explorer.measuring.sentences import word_pairs, word_tables
from explorer.measuring.sentences.word_pairs import WordPair, changes
from explorer.ui import messages
from explorer.ui.access import cached, jobs
from explorer.ui.access.sidebar_choice import Reader
from explorer.ui.widgets import controls, downloads

WIDTH = 960  # pixels of the words over a page
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
ICON = ":material/format_color_text:"
COMPARE, SEARCH = "compare", "search"  # pages that show them
BUTTON_HELP = "What each word of both sentences adds to their cosine"
_OPEN = "_pair whose words are shown"


def show(sides: tuple[Reader, ...], first: str, second: str) -> None:
    """The heading, the choice of a reference, and what it gives."""
    st.markdown(f"**{word_tables.TITLE}**")
    reference: str = controls.segments("Words are compared with", REFERENCES, default=PAD, key="word_reference")
    answer(sides, first, second, reference)


def answer(sides: tuple[Reader, ...], first: str, second: str, reference: str = PAD, where: str = "") -> None:
    """The sentence, the coloured words, the bars, the matrix and the files, once both sides are computed.

    `where` is part of the keys: a page may show this twice.
    """
    made = {side.name: _word_pair(side, first, second, reference) for side in sides}
    pairs: dict[str, WordPair] = {name: pair for name, pair in made.items() if pair is not None}
    if len(pairs) < len(sides):
        return  # progress is shown
    if summary := word_tables.summary(pairs):
        st.markdown(messages.plain(summary))
    coloured_words(sides, pairs, (first, second), where)
    for group in pair_figures.alike(pairs):
        downloads.draw(
            pair_figures.word_bars(group),
            key=f"words {where} {' '.join(group)}",
            config=downloads.config("words"),
            alt="What each word of either sentence adds to the cosine. The file below has the numbers.",
        )
    st.caption(word_tables.ABOUT.format(messages.plain(reference)))
    st.caption(messages.plain(word_tables.trust(reference)))
    for line in word_tables.cut_notes(pairs):
        st.warning(line, icon=":material/content_cut:")
    for line in word_tables.missed_notes(pairs):
        st.warning(line, icon=":material/join_inner:")
    if pair_figures.are_folded(pairs):
        st.caption(pair_figures.FOLDED)
    _matrices(sides, pairs, (first, second), reference, where)
    with st.container(horizontal=True):
        stem = " ".join(filter(None, ("words", where, digest_of((first, second))[:8])))
        downloads.rows(word_tables.word_rows(pairs), stem, "Words (CSV)")
        if len(pairs) > 1 and (found := changes(*pairs.values())):
            downloads.rows(word_tables.change_rows(found), f"{stem} changes", "Changes (CSV)")


def over(page: str, sides: tuple[Reader, ...]) -> None:
    """The words of the pair that is open on a page, over the page, until it is closed; a page has this once."""
    opened: tuple[str, str, str] | None = st.session_state.get(_OPEN)
    if opened is not None and opened[0] == page:
        dialog = st.dialog(word_tables.TITLE, width=WIDTH, icon=ICON, on_dismiss=_close)
        dialog(answer)(sides, *opened[1:], where=page)
    elif opened is not None:  # of another page, which was left
        _close()


def _matrices(
    sides: tuple[Reader, ...], pairs: dict[str, WordPair], sentences: tuple[str, str], reference: str, where: str
) -> None:
    """Pairs of words, computed once this is opened; A and B next to each other with one colour scale."""
    key = f"open word pairs {where}".rstrip()
    folded = st.expander("Pairs of words", icon=":material/grid_on:", key=key, on_change="rerun")
    if not folded.open:
        return
    with folded:
        made = {side.name: _word_pair(side, *sentences, reference, matrix=True) for side in sides}
        whole = {name: pair for name, pair in made.items() if pair is not None}
        if len(whole) < len(sides):
            return  # progress is shown
        matrices = {name: pair.matrix for name, pair in whole.items() if pair.matrix is not None}
        if not matrices:
            st.info(word_tables.TOO_LONG, icon=":material/straighten:")
            return
        most = pair_figures.widest(*matrices.values())
        for column, (name, matrix) in zip(st.columns(len(matrices), gap="medium"), matrices.items(), strict=True):
            with column:
                st.markdown(f"**{name}**, cosine {pairs[name].cosine:.3f}")
                downloads.draw(
                    pair_figures.word_matrix(whole[name], matrix, most),
                    key=f"word pairs {where} {name}",
                    config=downloads.config("word-pairs"),
                    alt=f"{name}: what each word of the first sentence and each of the second add together.",
                )
        st.caption(pair_figures.MATRIX)
        stem = " ".join(filter(None, ("words", where, digest_of(sentences)[:8], "pairs")))
        downloads.rows(word_tables.matrix_rows(whole), stem, "Pairs of words (CSV)")


def _word_pair(side: Reader, first: str, second: str, reference: str, *, matrix: bool = False) -> WordPair | None:
    length = side.settings.max_length
    texts = digest_of((first, second))
    kind = "pairs of words" if matrix else "words"
    key = f"{kind} {side.found.digest} {texts} {side.reading.title} {reference} {length}"
    return jobs.result(
        key,
        f"Weighing {kind} with {side.found.name}",
        lambda: word_pairs.measured(
            side.found,
            (first, second),
            side.reading,
            lambda: cached.attending(side.found),
            reference,
            length,
            matrix=matrix,
        ),
    )


def coloured_words(
    sides: Sequence[Reader], pairs: Mapping[str, WordPair], sentences: tuple[str, str], where: str
) -> None:
    """Model and cosine, then both sentences, of each side; all have one colour scale. `where` is part of the keys."""
    most = pair_figures.largest(*pairs.values())
    rules = []
    for side in sides:
        pair = pairs[side.name]
        st.markdown(f"**{side.name}** {messages.plain(side.found.name)}, cosine **{pair.cosine:.2f}**")
        for number, (sentence, words, values) in enumerate(
            zip(sentences, pair.words, pair.contributions, strict=True), start=1
        ):
            key = "-".join(("coloured", *where.split(), side.name, str(number)))
            found, rest = pair_figures.coloured(sentence, words, values, most)
            pieces = []  # a directive for each word, in which its number follows; all texts are escaped
            for one in found:
                pieces.append(_text(one.before))
                pieces.append(f":gray-background[{_text(one.word)}:small[ {in_words.signed(one.value)}]]")
            with st.container(key=key):
                st.markdown("".join((*pieces, _text(rest))).strip())
            rules.append(_LOOK.replace("{key}", key))
            rules += [
                _WORD.format(key=key, place=place, background=one.background, ink=one.ink)
                for place, one in enumerate(found, start=1)
            ]
    st.html(f"<style>{''.join(rules)}</style>")
    st.caption(LEGEND)


def _text(text: str) -> str:
    """Text on one line, escaped; a space at either end is kept."""
    return messages.plain(re.sub(r"\s+", " ", text)) if text.strip() else " " * bool(text)


def words_button(page: str, key: str, first: str, second: str, label: str = "Which words?") -> None:
    """A button that opens the words of two sentences on its page."""
    st.button(
        label,
        key=f"words {key}",
        icon=ICON,
        type="tertiary",
        help=BUTTON_HELP,
        on_click=open_words,
        args=(page, first, second),
    )


def open_words(page: str, first: str, second: str) -> None:
    """Open the words of two sentences when the page is drawn next."""
    st.session_state[_OPEN] = page, first, second


def _close() -> None:
    st.session_state.pop(_OPEN, None)
