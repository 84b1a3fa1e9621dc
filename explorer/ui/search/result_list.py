"""List search results: the sentence as plain text, its cosine and mark, and a button that searches for it."""

from __future__ import annotations

from collections.abc import Container, Sequence

import streamlit as st

from explorer.measuring.neighbours.query_results import GAINED, KEPT, LOST, FoundSentence, SearchResults
from explorer.measuring.neighbours.search_tables import found_rows, told_mark, told_share
from explorer.ui.messages import shortened
from explorer.ui.search import query_form
from explorer.ui.widgets import downloads, opened_words

# characters shown of a sentence; the file contains all
MOST = 400
# results shown at full height; more scroll in a box of TALL pixels
UNROLLED, TALL = 10, 760
RELEVANT = ":green-badge[:material/done_all: relevant]"
# never by colour alone: each mark has a word and an icon
BADGES = {
    KEPT: ":gray-badge[:material/check: {}]",
    LOST: ":orange-badge[:material/remove: {}]",
    GAINED: ":blue-badge[:material/add: {}]",
}


def found(
    results: Sequence[FoundSentence],
    sentences: Sequence[str],
    side: str,
    other: str,
    query: str,
    relevant: Container[int] = (),
) -> None:
    """The results of a side, nearest first; `other` names the other side, "" if there is none.

    Those at the positions `relevant` answer a judged query.
    """
    with st.container(height="content" if len(results) <= UNROLLED else TALL, border=False):
        for result in results:
            mark = BADGES[result.mark].format(told_mark(result, other)) if result.mark else ""
            answers = RELEVANT if result.place in relevant else ""
            note = f":small[cosine {result.cosine:.3f}] {mark} {answers}".rstrip()
            item(f"{side} {result.place}", result.rank, sentences[result.place], note, query)
    downloads.rows(found_rows(results, sentences, other), f"{side} {shortened(query, 40)}", f"{side} (CSV)")


def summary(findings: SearchResults, count: int) -> None:
    """What B kept of what A found."""
    changed = len(findings.one) - findings.kept
    st.markdown(f"**{findings.kept} kept**, {changed} lost, {changed} gained · Jaccard {told_share(findings.jaccard)}")
    st.caption(f"The number behind a mark is the rank that the other side gives the sentence, of {count:,}.")


def item(key: str, rank: int, sentence: str, note: str, query: str = "") -> None:
    """A sentence, with a note in markdown below it, and a button for what it has in common with a query."""
    with st.container(horizontal=True, gap="small", vertical_alignment="top"):
        st.button(
            str(rank),
            key=f"search for {key}",
            icon=":material/search:",
            type="tertiary",
            help="Search for this sentence",
            on_click=query_form.choose,
            args=(sentence,),
            width=52,
        )
        with st.container(gap=None, width="stretch"):
            st.text(shortened(sentence, MOST))
            st.markdown(note)
        if query:
            opened_words.button(opened_words.SEARCH, f"of {key}", query, sentence, "Why?")
