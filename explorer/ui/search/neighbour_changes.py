"""Show how much nearest neighbours changed from A to B over the whole corpus, and for which sentences most."""

from __future__ import annotations

import streamlit as st

from explorer.drawing.maps.neighbours_kept import neighbours_kept
from explorer.measuring.neighbours import neighbour_overlap
from explorer.measuring.neighbours.neighbour_overlap import Overlap
from explorer.measuring.neighbours.search_tables import changed_rows, told_share
from explorer.ui import messages
from explorer.ui.access import job_results
from explorer.ui.search import result_list
from explorer.ui.search.side_index import EncodedQuery
from explorer.ui.widgets import downloads, picture_format

ONE_SENTENCE = "The corpus has one sentence, so there are no neighbours to compare."
MEAN, NONE_KEPT = "Mean Jaccard@{}", "None kept"
SHOWN = 8  # sentences of either kind; the file contains all


def show(one: EncodedQuery, other: EncodedQuery, sentences: tuple[str, ...], k: int) -> None:
    """Numbers, a histogram, and the sentences that changed most and least."""
    st.subheader("Neighbours over the whole corpus")
    found: Overlap | None = job_results.made(
        f"neighbours {one.key} {other.key} {k}",
        f"Neighbours of {len(sentences):,} sentences",
        lambda: neighbour_overlap.overlap(one.side.index, other.side.index, k),
    )
    if found is None:
        return
    if not found.k:
        st.info(ONE_SENTENCE, icon=":material/search_off:")
        return
    st.caption(
        f"Each sentence is a query once; it is left out of its own results. Jaccard@{found.k}: neighbours shared by A "
        "and B, divided by all neighbours of either. 1: the same neighbours. 0: none in common."
    )
    counts = found.counts()
    cards = st.container(horizontal=True)
    jaccard = "0 to 1. High: A and B have similar neighbourhoods. It shows the size of the change, not its quality."
    messages.number(cards, MEAN.format(found.k), told_share(found.mean), border=True, help=jaccard)
    messages.number(
        cards,
        "Neighbours kept",
        f"{found.kept.mean():.1f} of {found.k}",
        border=True,
        help="Mean number of A's neighbours that are also neighbours in B.",
    )
    every, none = "Sentences with the same neighbours in A and B.", "Sentences without a common neighbour in A and B."
    messages.number(cards, "All kept", _sentences(int(counts[-1])), border=True, help=every)
    messages.number(cards, NONE_KEPT, _sentences(int(counts[0])), border=True, help=none)
    picture_format.draw(
        neighbours_kept(found),
        config=picture_format.config("neighbours"),
        alt="Number of sentences by number of neighbours kept. The download lists every sentence.",
    )
    columns = st.columns(2, gap="medium")
    for column, title, most_changed in ((columns[0], "Changed most", True), (columns[1], "Changed least", False)):
        with column:
            st.markdown(f"**{title}**")
            for rank, place in enumerate(found.order(most_changed=most_changed)[:SHOWN].tolist(), start=1):
                told = f"{found.kept[place]} of {found.k} kept · Jaccard {told_share(found.jaccard[place])}"
                result_list.item(f"{title} {place}", rank, sentences[place], f":small[{told}]")
    downloads.rows(changed_rows(found, sentences, most_changed=True), "neighbourhoods", "All sentences (CSV)")


def _sentences(count: int) -> str:
    return f"{count:,} sentence{'' if count == 1 else 's'}"
