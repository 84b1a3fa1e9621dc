"""Show the difference of A and B in each group of a column of the evaluation set: figure, table and file."""

from collections.abc import Hashable
from dataclasses import replace

import streamlit as st

from explorer.data.set_items import Attribute, several
from explorer.drawing.scores import groups
from explorer.evaluating.tasks.judges import judged
from explorer.measuring.comparing import splits
from explorer.measuring.comparing.comparison import Comparison
from explorer.ui import messages
from explorer.ui.compare.compared import Compared
from explorer.ui.widgets import controls, downloads

NOTHING = "nothing"
HELP = (
    "A column of the file, such as its language or source, or the number of words of the texts. Each group has its own "
    "scores and difference."
)


def show(compared: Compared) -> Compared:
    """The menu of columns, and what the chosen one divides; nothing of a set that no column divides.

    Gives the comparison with it, for the report.
    """
    pairs = compared.sides[0].pairs
    columns = {one.name: one for one in judged(pairs).attributes}
    if not columns:
        return compared
    st.subheader("Difference by group")
    name = controls.menu("Split by", [NOTHING, *columns], default=NOTHING, key="split", width=300, help=HELP)
    if name == NOTHING:
        return compared
    comparison = compared.comparison
    found = changes(
        tuple(side.measured for side in compared.sides),
        (comparison.one_reading.title, comparison.other_reading.title),
        compared.metric,
        columns[name],
        not compared.verdict.score.chose,
        comparison,
    )
    downloads.draw(
        groups.differences_by_group(found),
        key="groups",
        config=downloads.config("groups"),
        alt=f"B - A in each group of {name}, with intervals. The table below has the numbers.",
    )
    rows = splits.rows_of(found)
    downloads.table(rows, lines=12, signed=("difference", "low", "high"))
    downloads.rows(rows, f"{compared.stem} {name}", "Groups (CSV)")
    of_all = f" over all {several(pairs.item)} of a group at once" if comparison.one.has_parts else ""
    st.caption(messages.plain(f"{splits.how_judged(found)} {compared.metric} × 100{of_all}, higher is better.".strip()))
    return replace(compared, split=found)


@st.cache_resource(max_entries=32, show_spinner="Computing confidence intervals …")
def changes(
    measured: Hashable,
    readings: tuple[str, str],
    metric: str,
    attribute: Attribute,
    intervals: bool,
    _comparison: Comparison,
) -> splits.SplitChanges:
    """The changes by group; `measured` identifies models, pairs and settings."""
    return splits.split(_comparison, attribute, metric, intervals=intervals)
