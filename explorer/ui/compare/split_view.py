"""Show the difference of A and B in each group of a column of the evaluation set: figure, table and file."""

from collections.abc import Hashable

import streamlit as st

from explorer.data.set_items import Attribute, several
from explorer.drawing.scores import groups
from explorer.measuring.comparing import splits
from explorer.measuring.comparing.comparison import Comparison
from explorer.ui import messages
from explorer.ui.compare.compared import Compared
from explorer.ui.widgets import controls, downloads

NOTHING, KEY = "nothing", "split"
HELP = (
    "A column of the file, such as its language or source, or the number of words of the texts. Each group has its own "
    "scores and difference."
)


def show(compared: Compared) -> None:
    """The menu of columns, and what the chosen one divides; nothing of a set that no column divides."""
    columns = {one.name: one for one in compared.sides[0].pairs.split_columns}
    if not columns:
        return
    st.markdown("**Difference by group**", help=HELP)
    controls.menu("Split by", [NOTHING, *columns], default=NOTHING, key=KEY, width=300)
    found = chosen(compared)
    if found is None:
        return
    downloads.draw(
        groups.differences_by_group(found),
        key="groups",
        config=downloads.config("groups"),
        alt=f"B − A in each group of {found.column}, with intervals. The table of groups has the numbers.",
    )
    of_all = f" over all {several(compared.pairs.item)} of a group at once" if compared.comparison.one.has_parts else ""
    st.caption(messages.plain(f"{splits.how_judged(found)} {compared.metric} × 100{of_all}, higher is better.".strip()))


def table(compared: Compared) -> None:
    """The numbers of the groups, folded, and their file."""
    found = chosen(compared)
    if found is None:
        return
    rows = splits.rows_of(found)
    with st.expander("Table of groups", icon=":material/table:"):
        downloads.table(rows, lines=8, signed=("difference", "low", "high"))
        downloads.rows(rows, f"{compared.stem} {found.column}", "Groups (CSV)")


def chosen(compared: Compared) -> splits.SplitChanges | None:
    """The differences by the column that was chosen, for the report too; None if there is none."""
    columns = {one.name: one for one in compared.sides[0].pairs.split_columns}
    name = st.session_state.get(KEY)
    if name not in columns:
        return None
    comparison = compared.comparison
    return changes(
        tuple(side.measured for side in compared.sides),
        (comparison.one_reading.title, comparison.other_reading.title),
        compared.metric,
        columns[name],
        compared.verdict.is_test,
        comparison,
    )


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
