"""Show which words make two sentences similar or different, on a page or over it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import streamlit as st

from explorer import in_words
from explorer.data.text_sets import digest_of
from explorer.drawing.sentences import pair_figures
from explorer.encoding.read.pooling import PAD
from explorer.measuring.comparing.learned import HOW_CHOSEN
from explorer.measuring.comparing.pair_words import differing, what_is_right
from explorer.measuring.scores.judge import PairChange
from explorer.measuring.sentences import edit_tables, word_pairs, word_tables
from explorer.measuring.sentences.edit_costs import EditCosts
from explorer.ui import messages
from explorer.ui.access import jobs, loaded_encoders, selection
from explorer.ui.access.sidebar_choice import Reader
from explorer.ui.widgets import controls, differences, downloads

WIDTH = 960  # pixels of the words over a page
ICON = ":material/format_color_text:"
COMPARE, SEARCH = "compare", "search"  # pages that show words
_OPEN = "_pair whose words are shown"


def reference_control() -> str:
    """What words are compared with."""
    knob = replace(word_pairs.WordOptions.knobs["reference"], title="Words are compared with")
    return str(controls.segments_of(knob, "word_reference"))


def show_words(sides: tuple[Reader, ...], first: str, second: str, reference: str = PAD, where: str = "") -> None:
    """The sentence, the coloured words, the bars, the matrix and the files, once both sides are computed.

    `where` is part of the keys: a page may show this twice.
    """
    costs = differences.edit_costs_of(sides, first, second)
    if costs is None:
        return  # progress is shown
    answer = st.empty()
    if costs:
        answer.markdown(f"**{messages.plain(edit_tables.summary(costs))}**", help=edit_tables.ABOUT)
    made = {side.name: _word_pair(side, first, second, reference, costs=costs.get(side.name)) for side in sides}
    pairs: dict[str, word_pairs.WordPair] = {name: pair for name, pair in made.items() if pair is not None}
    if len(pairs) < len(sides):
        return  # progress is shown
    if costs and (better := differences.refined(costs, pairs)) != costs:
        costs = better
        answer.markdown(f"**{messages.plain(edit_tables.summary(costs))}**", help=edit_tables.ABOUT)
    left, right = st.columns([3, 2], gap="medium") if costs else (st.container(), None)
    with left:
        if summary := word_tables.summary(pairs):
            st.markdown(messages.plain(summary))
        differences.coloured_words(sides, pairs, (first, second), where)
    if right is not None:
        with right:
            differences.cost_by_layer(costs, where)
    for group in pair_figures.alike(pairs):
        downloads.draw(
            pair_figures.word_bars(group),
            key=f"words {where} {' '.join(group)}",
            config=downloads.config("words"),
            alt="What each word of either sentence adds to the cosine. The file below has the numbers.",
        )
    _notes(pairs, reference)
    _matrices(sides, pairs, (first, second), reference, where)
    with st.container(horizontal=True):
        _files(costs, pairs, " ".join(filter(None, ("words", where, digest_of((first, second))[:8]))))


def _notes(pairs: Mapping[str, word_pairs.WordPair], reference: str) -> None:
    """How to read the bars of words, and what is missing in them."""
    st.caption(word_tables.ABOUT.format(messages.plain(reference)))
    st.caption(messages.plain(word_tables.trust(reference)))
    for line in word_tables.cut_notes(pairs):
        st.warning(line, icon=":material/content_cut:")
    for line in word_tables.missed_notes(pairs):
        st.warning(line, icon=":material/join_inner:")
    if pair_figures.are_folded(pairs):
        st.caption(pair_figures.FOLDED)


def _files(costs: dict[str, EditCosts], pairs: Mapping[str, word_pairs.WordPair], stem: str) -> None:
    if costs:
        downloads.rows(edit_tables.rows(costs), f"{stem} differences", "Differences (CSV)")
        downloads.rows(edit_tables.layer_rows(costs), f"{stem} differences by layer", "By layer (CSV)")
    downloads.rows(word_tables.word_rows(pairs), stem, "Words (CSV)")
    if len(pairs) > 1 and (changed := word_pairs.changes(*pairs.values())):
        downloads.rows(word_tables.change_rows(changed), f"{stem} changes", "Changes (CSV)")


def words_over(page: str, sides: tuple[Reader, ...]) -> None:
    """The words of the pair that is open on a page, over the page, until it is closed; a page has this once."""
    opened: tuple[str, str, str] | None = st.session_state.get(_OPEN)
    if opened is not None and opened[0] == page:
        dialog = st.dialog(word_tables.TITLE, width=WIDTH, icon=ICON, on_dismiss=_close)
        dialog(show_words)(sides, *opened[1:], where=page)
    elif opened is not None:  # of another page, which was left
        _close()


def _matrices(
    sides: tuple[Reader, ...],
    pairs: dict[str, word_pairs.WordPair],
    sentences: tuple[str, str],
    reference: str,
    where: str,
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
                st.markdown(f"**{name}**, cosine {in_words.cosine(pairs[name].cosine, 3)}")
                downloads.draw(
                    pair_figures.word_matrix(whole[name], matrix, most),
                    key=f"word pairs {where} {name}",
                    config=downloads.config("word-pairs"),
                    alt=f"{name}: what each word of the first sentence and each of the second add together.",
                )
        st.caption(pair_figures.MATRIX)
        stem = " ".join(filter(None, ("words", where, digest_of(sentences)[:8], "pairs")))
        downloads.rows(word_tables.matrix_rows(whole), stem, "Pairs of words (CSV)")


def words_of(side: Reader, first: str, second: str, costs: EditCosts | None = None) -> word_pairs.WordPair | None:
    """What each word of two sentences adds, from the default reference; None with progress shown until it is known.

    Exact costs of the edits are not computed again if they are given.
    """
    return _word_pair(side, first, second, PAD, costs=costs)


def _word_pair(
    side: Reader, first: str, second: str, reference: str, *, matrix: bool = False, costs: EditCosts | None = None
) -> word_pairs.WordPair | None:
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
            lambda: loaded_encoders.attending(side.found),
            reference,
            length,
            matrix=matrix,
            costs=costs,
        ),
    )


def words_button(page: str, key: str, first: str, second: str, label: str = "Which words?") -> None:
    """A button that opens the words of two sentences on its page."""
    st.button(
        label,
        key=f"words {key}",
        icon=ICON,
        type="tertiary",
        help="What each word of both sentences adds to their cosine",
        on_click=open_words,
        args=(page, first, second),
    )


def pairs_that_show(changes: Sequence[PairChange], sides: str = "base → tuned", page: str = "") -> None:
    """Pairs side by side, with the cosine of each under both models, and a button for their words on a `page`."""
    if not changes:
        return
    st.markdown(f"**Pairs that show it**, cosine {sides}", help=HOW_CHOSEN)
    for number, (column, pair) in enumerate(zip(st.columns(len(changes), gap="small"), changes, strict=True), start=1):
        with column.container(border=True, gap="xsmall"):
            first, second = differing(pair.first, pair.second)
            st.caption(messages.plain(what_is_right(pair.pack)))
            st.markdown(f"{messages.marked(first)}  \n{messages.marked(second)}")
            with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
                st.markdown(f"**{in_words.cosines(pair.before, pair.after)}**", width="content")
                if page:
                    words_button(page, f"of pair {number}", pair.first, pair.second)


def open_words(page: str, first: str, second: str) -> None:
    """Open the words of two sentences when the page is drawn next, and choose the pair for every page."""
    selection.choose_pair(first, second)
    st.session_state[_OPEN] = page, first, second


def _close() -> None:
    st.session_state.pop(_OPEN, None)
