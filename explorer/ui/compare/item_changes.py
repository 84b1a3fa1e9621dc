"""List the queries, triplets or labelled rows that improved and those that got worse, with ranks before and after."""

from __future__ import annotations

import numpy as np
import streamlit as st

from explorer.evaluating.tasks.item_scores import ItemScores
from explorer.evaluating.tasks.judges import judged
from explorer.measuring.comparing.item_changes import ItemChanges
from explorer.measuring.scores.judge import COSINE, RANK
from explorer.measuring.scores.verdict_text import ACCURACY
from explorer.ui import messages
from explorer.ui.compare.compared import Compared
from explorer.ui.messages import shortened
from explorer.ui.widgets import downloads

SHOWN = 5  # items of either kind; the table has all
LONGEST = 240  # characters of a text
NO_SCORE = "A side has no score here, so {} cannot be compared one by one. Choose another layer & pooling."


def show(compared: Compared) -> None:
    """Both lists, most changed first, and the table of all items; nothing of scored pairs, whose lists are others."""
    sides = compared.about.one, compared.about.other
    before, after = (sides[1 - compared.after], sides[compared.after])
    if not isinstance(before, ItemScores) or not isinstance(after, ItemScores):
        return
    one, several = before.items_named
    st.subheader(f"{several.capitalize()} that improved and got worse")
    found = _changes(compared, before, after)
    if not np.isfinite(found.gaps).all():
        st.info(NO_SCORE.format(several), icon=":material/block:")
        return
    better, worse, same = found.counts
    st.caption(
        f"{len(found.gaps):,} {several} of {messages.plain(compared.sides[0].pairs.name)}: {better:,} improved, "
        f"{worse:,} got worse, {same:,} did not change."
        + " Rank: the place of the first relevant passage among all passages; 1 is best."
        * (found.ranks is not None)
    )
    columns = st.columns(2, gap="medium")
    for column, title, icon, improved in (
        (columns[0], "Improved", ":material/trending_up:", True),
        (columns[1], "Got worse", ":material/trending_down:", False),
    ):
        with column:
            st.markdown(f"**{icon} {title}**")
            items = found.changed(improved=improved)[:SHOWN]
            if not items:
                st.markdown(f"No {one}.")
            for item in items:
                _item(found, item, compared.ways[0])
    rows = found.rows(compared.ways[0])
    with st.expander(f"All {several}", icon=":material/table_rows:"):
        st.dataframe(rows, hide_index=True, height=38 * min(12, len(rows) + 1), placeholder=messages.MISSING)
    downloads.rows(rows, f"{compared.stem} {several}", f"All {several} (CSV)")


def _changes(compared: Compared, before: ItemScores, after: ItemScores) -> ItemChanges:
    metric = compared.ways[0]
    readings = compared.about.one_reading, compared.about.other_reading
    base, tuned = readings[1 - compared.after], readings[compared.after]
    details = before.details_of(base), after.details_of(tuned)
    ranks, cosines = ((details[0][name], details[1][name]) if name in details[0] else None for name in (RANK, COSINE))
    return ItemChanges(
        {column.heading: column.cells for column in judged(compared.sides[0].pairs).columns},
        before.items_of(base, metric),
        after.items_of(tuned, metric),
        ranks,
        cosines,
    )


def _item(found: ItemChanges, item: int, measure: str) -> None:
    """The texts of an item as they are, and what changed below them."""
    with st.container(border=True, gap=None):
        for heading, cells in found.texts.items():
            st.caption(heading)
            st.text(shortened(cells[item], LONGEST))
        first = found.told_ranks(item) or f"{_told(measure, found.before[item])} → {_told(measure, found.after[item])}"
        score = f"{measure} {_told(measure, found.before[item])} → {_told(measure, found.after[item])}"
        more = [found.told_cosines(item), score if found.ranks is not None else ""]
        st.markdown(" · ".join([f"**{first}**", *filter(None, more)]))


def _told(measure: str, value: float) -> str:
    """What an item gets: right or wrong where that is all there is."""
    if measure == ACCURACY:
        return {0.0: "wrong", 1.0: "right"}.get(value, "undecided")
    return f"{100 * value:.1f}"
