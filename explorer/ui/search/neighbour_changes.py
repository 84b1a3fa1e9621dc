"""How far did neighbourhoods change over the whole corpus, and whose changed most?"""

from __future__ import annotations

import streamlit as st

from explorer.drawing.maps.neighbours_kept import neighbours_kept
from explorer.measuring.neighbours import neighbour_overlap
from explorer.measuring.neighbours.neighbour_overlap import Overlap
from explorer.measuring.neighbours.search_tables import changed_rows, told_share
from explorer.ui import messages
from explorer.ui.access import remembered
from explorer.ui.search import result_list
from explorer.ui.search.side_index import Asked
from explorer.ui.widgets import downloads, picture_format

SHOWN = 8  # sentences of either kind; the file has all


def show(one: Asked, other: Asked, sentences: tuple[str, ...], k: int) -> None:
    """Numbers, a histogram, and the sentences at both ends."""
    st.subheader("Over the whole corpus")
    found: Overlap | None = remembered.made(
        f"neighbours {one.key} {other.key} {k}",
        f"Neighbours of {len(sentences):,} sentences",
        lambda: neighbour_overlap.overlap(one.side.index, other.side.index, k),
    )
    if found is None:
        return
    if not found.k:
        st.info("A corpus of one sentence has no neighbours to keep or to lose.", icon=":material/search_off:")
        return
    st.caption(
        f"Every sentence as a query, itself left out. Jaccard@{found.k}: neighbours that A and B have in common, by "
        "neighbours that either has. 1 says that all are the same, 0 that none is."
    )
    counts = found.counts()
    cards = st.container(horizontal=True)
    messages.number(cards, f"Mean Jaccard@{found.k}", told_share(found.mean), border=True)
    messages.number(cards, "Neighbours kept", f"{found.kept.mean():.1f} of {found.k}", border=True)
    messages.number(cards, "All kept", _sentences(int(counts[-1])), border=True)
    messages.number(cards, "None kept", _sentences(int(counts[0])), border=True)
    st.plotly_chart(
        neighbours_kept(found),
        config=picture_format.config("neighbours"),
        alt="How many sentences kept how many of their neighbours. The table to download has them one by one.",
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
