"""Show which judged queries of a retrieval set improved and which got worse from A to B."""

from __future__ import annotations

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from explorer.data.retrieval.retrieval_set import RetrievalSet
from explorer.measuring.comparing.query_changes import QueryChanges
from explorer.measuring.neighbours.ranking_judge import of_queries
from explorer.measuring.scores.correlation import unit
from explorer.measuring.scores.verdict_text import CI
from explorer.ui import messages
from explorer.ui.access import remembered
from explorer.ui.access.side_readers import Reader
from explorer.ui.search import result_list
from explorer.ui.widgets import downloads

SHOWN = 8  # queries of either kind; the file contains all
NO_SCORE = "A layer & pooling under which all documents have one vector has no ranking, so queries cannot be compared."
HELP = "The mean nDCG@10 × 100 of all judged queries. Higher is better, at most 100."


def show(reading: tuple[Reader, ...], task: RetrievalSet, searched: tuple[str, ...]) -> None:
    """The means of both sides, the queries that changed most, and means by length and shared words.

    `searched` are the documents, each text once; of a large set only some are searched, and nothing is shown.
    """
    if len(searched) < len(set(task.documents)):
        return
    st.subheader("Judged queries, A and B")
    scores = [of_side for one in reading if (of_side := _scores(one, task, searched)) is not None]
    if len(scores) < len(reading):
        return
    if not all(np.isfinite(of_side).all() for of_side in scores):
        st.info(NO_SCORE, icon=":material/search_off:")
        return
    found = QueryChanges(task, *scores)
    gap = found.difference
    better, worse, same = found.counts
    cards = st.container(horizontal=True)
    for name, of_side in zip("AB", scores, strict=True):
        messages.number(cards, f"nDCG@10 of {name}", f"{100 * of_side.mean():.2f}", border=True, help=HELP)
    told = f"{CI} {float(gap.low):+.2f} to {float(gap.high):+.2f}"
    messages.number(cards, "B - A", f"{float(gap.difference):+.2f}", told, border=True, help="Above 0: B is better.")
    st.caption(f"{len(task):,} queries: {better:,} improved, {worse:,} got worse, {same:,} have the same score.")
    columns = st.columns(2, gap="medium")
    for column, title, improved in ((columns[0], "Improved most", True), (columns[1], "Got worse most", False)):
        with column:
            st.markdown(f"**{title}**")
            queries = found.changed(improved=improved)[:SHOWN]
            if not queries:
                st.caption("No query.")
            for rank, query in enumerate(queries, start=1):
                both = f"{100 * found.one[query]:.1f} → {100 * found.other[query]:.1f}"
                note = f":small[nDCG@10 {both} · {found.shared[query]:.0%} of its words in a relevant document]"
                result_list.item(f"{title} {query}", rank, task.queries[query], note)
    st.dataframe(found.groups(), hide_index=True, key="groups of judged queries")
    downloads.rows(found.rows(), f"queries {task.name}", "All queries (CSV)")


def _scores(reader: Reader, task: RetrievalSet, searched: tuple[str, ...]) -> NDArray[np.float64] | None:
    """The nDCG@10 of every query under a side, from 0 to 1; None while it is being computed."""
    documents, queries = reader.vectors(searched), reader.vectors(task.queries)
    if documents is None or queries is None:
        return None
    place = {text: at for at, text in enumerate(searched)}
    every = unit(documents)[[place[text] for text in task.documents]]
    scores: NDArray[np.float64] | None = remembered.made(
        f"judged queries {reader.key} {task.digest}",
        f"Search for {len(task):,} queries",
        lambda: of_queries(every, unit(queries), task.judgements),
    )
    return scores
