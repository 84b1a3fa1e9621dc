"""Choose a judged query of a retrieval set, and show how high each side ranks the documents relevant to it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from explorer.data.retrieval.retrieval_set import Judged, RetrievalSet
from explorer.measuring.neighbours.query_results import QueryScore, asked
from explorer.ui.search import query_form

MENU = "judged query"
MOST_RANKS = 5  # told of one query; the list has a badge for each document it shows
HELP = "nDCG@10 × 100 of this query: relevant documents count more the higher they are ranked. 100: all are on top."


def choose(task: RetrievalSet, query: str | None) -> None:
    """A menu of the judged queries; the chosen one becomes the query."""
    queries = {asked(text): number for number, text in enumerate(task.queries, start=1)}
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
    judged = next((of for text, of in zip(task.queries, task.judgements, strict=True) if asked(text) == query), {})
    grades = {task.documents[place]: grade for place, grade in judged.items()}
    return {place: grades[text] for place, text in enumerate(corpus) if text in grades}


def tell(found: QueryScore) -> None:
    """The score of a side, and the ranks of the relevant documents."""
    ranks = ", ".join(f"{rank:,}" for rank in found.ranks[:MOST_RANKS])
    more = len(found.ranks) - MOST_RANKS
    ranks += f" and {more:,} more" * (more > 0)
    st.markdown(f"**nDCG@10 {100 * found.ndcg:.2f}** · relevant at rank {ranks}", help=HELP)


def _take() -> None:
    chosen = st.session_state[MENU]
    if chosen is not None:
        query_form.choose(chosen)
