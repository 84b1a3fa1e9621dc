"""Judged queries of a retrieval set: choose one, show where each side ranks its documents, compare A and B on all."""

from collections.abc import Sequence

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from explorer.data.retrieval_sets import Judged, RetrievalSet
from explorer.measuring.comparing.pair_changes import QueryChanges
from explorer.measuring.neighbours import query_results, ranking_judge
from explorer.measuring.scores.correlation import unit
from explorer.measuring.scores.verdict import CI
from explorer.ui import messages
from explorer.ui.access import jobs
from explorer.ui.access.sidebar_choice import Reader
from explorer.ui.search import query_view
from explorer.ui.widgets import downloads

MENU = "judged query"
MOST_RANKS = 5  # shown of one query; the list has a badge for each document it shows
HELP = "nDCG@10 × 100 of this query: relevant documents count more the higher they are ranked. 100: all are on top."
SHOWN = 8  # queries of either kind; the file contains all
NO_SCORE = "A layer & pooling under which all documents have one vector has no ranking, so queries cannot be compared."
MEAN_HELP = "The mean nDCG@10 × 100 of all judged queries. Higher is better, at most 100."


def choose(task: RetrievalSet, query: str | None) -> None:
    """A menu of the judged queries; the chosen one becomes the query."""
    queries = {query_results.asked(text): number for number, text in enumerate(task.queries, start=1)}
    st.session_state[MENU] = query if query in queries else None
    st.selectbox(
        "Judged query",
        list(queries),
        key=MENU,
        format_func=lambda text: f"{queries[text]} · {text}",
        placeholder=f"one of {len(queries):,}",
        on_change=_take,
        help="Queries of the retrieval set whose relevant documents are known. Each side then has a score. This page "
        "reads them without the prompts that a model may declare for queries and documents; Results reads them with.",
    )


def relevant(task: RetrievalSet, query: str, corpus: Sequence[str]) -> Judged:
    """The grades of the documents relevant to a query, by their position in the corpus; none if it is not judged."""
    judged = next(
        (of for text, of in zip(task.queries, task.judgements, strict=True) if query_results.asked(text) == query), {}
    )
    grades = {task.documents[place]: grade for place, grade in judged.items()}
    return {place: grades[text] for place, text in enumerate(corpus) if text in grades}


def show_score(ndcg: float, of_relevant: tuple[int, ...]) -> None:
    """The score of a side, and the ranks of the relevant documents."""
    ranks = ", ".join(f"{rank:,}" for rank in of_relevant[:MOST_RANKS])
    more = len(of_relevant) - MOST_RANKS
    ranks += f" and {more:,} more" * (more > 0)
    st.markdown(f"**nDCG@10 {100 * ndcg:.2f}** · relevant at rank {ranks}", help=HELP)


def _take() -> None:
    chosen = st.session_state[MENU]
    if chosen is not None:
        query_view.choose(chosen)


def changes(sides: tuple[Reader, ...], task: RetrievalSet, searched: tuple[str, ...]) -> None:
    """The means of both sides, the queries that changed most, and means by length and shared words.

    `searched` are the documents, each text once; of a large set only some are searched, and nothing is shown.
    """
    if len(searched) < len(set(task.documents)):
        return
    st.subheader("Judged queries, A and B")
    scores = [of_side for one in sides if (of_side := _scores(one, task, searched)) is not None]
    if len(scores) < len(sides):
        return
    if not all(np.isfinite(of_side).all() for of_side in scores):
        st.info(NO_SCORE, icon=":material/search_off:")
        return
    found = QueryChanges(task, *scores)
    gap = found.difference
    better, worse, same = found.counts
    cards = st.container(horizontal=True)
    for name, of_side in zip("AB", scores, strict=True):
        messages.number(cards, f"nDCG@10 of {name}", f"{100 * of_side.mean():.2f}", border=True, help=MEAN_HELP)
    interval = f"{CI} {float(gap.low):+.2f} to {float(gap.high):+.2f}"
    messages.number(
        cards, "B - A", f"{float(gap.difference):+.2f}", interval, border=True, help="Above 0: B is better."
    )
    st.caption(f"{len(task):,} queries: {better:,} improved, {worse:,} got worse, {same:,} have the same score.")
    columns = st.columns(2, gap="medium")
    for column, title, improved in ((columns[0], "Improved most", True), (columns[1], "Got worse most", False)):
        with column:
            st.markdown(f"**{title}**")
            queries = found.changed(improved=improved)[:SHOWN]
            if not queries:
                st.caption("No query.")
            for rank, query in enumerate(queries, start=1):
                both = f"{100 * found.before[query]:.1f} → {100 * found.after[query]:.1f}"
                note = f":small[nDCG@10 {both} · {found.shared[query]:.0%} of its words in a relevant document]"
                query_view.item(f"{title} {query}", rank, task.queries[query], note)
    st.dataframe(found.groups(), hide_index=True, key="groups of judged queries")
    downloads.rows(found.query_rows(), f"queries {task.name}", "All queries (CSV)")


def _scores(reader: Reader, task: RetrievalSet, searched: tuple[str, ...]) -> NDArray[np.float64] | None:
    """The nDCG@10 of every query under a side, from 0 to 1; None while it is being computed."""
    documents, queries = reader.vectors(searched), reader.vectors(task.queries)
    if documents is None or queries is None:
        return None
    place = {text: at for at, text in enumerate(searched)}
    every = unit(documents)[[place[text] for text in task.documents]]
    scores: NDArray[np.float64] | None = jobs.result(
        f"judged queries {reader.key} {task.digest}",
        f"Search for {len(task):,} queries",
        lambda: ranking_judge.of_queries(every, unit(queries), task.judgements),
    )
    return scores
