"""Show the result of a plan: the verdict, scores against cost, the table with its downloads, and its runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from explorer.drawing.scores.score_by_cost import score_by_cost
from explorer.ui import messages
from explorer.ui.frame import shortcuts
from explorer.ui.widgets import downloads, picture_format, verdict_banner

if TYPE_CHECKING:
    from explorer.measuring.scores.verdict import Verdict
    from explorer.studies.plans.plan_table import CellRun, PlanRow, PlanTable

TRAIN, COMPARE = "pages/train.py", "pages/compare.py"
ROW = "plan row"
HELP = {
    "base, trained layer & pooling": "Test score of the base under the layer & pooling that is trained, before "
    "training. The difference to the base is that to its model default instead, the model as people use it.",
    "test": "Test score × 100 of the tuned model, mean ± standard deviation over seeds. Higher is better, at most 100.",
    "difference to the base": "Test score minus that of the base under model default, with the widest 95 % interval of "
    "the seeds. Above 0 is better; it could be chance if the interval includes 0.",
    "dev": "Dev score × 100 of the best checkpoint, which it was chosen by. It is optimistic; report the test.",
    "seconds": "Seconds of one training, the mean over seeds. Lower is cheaper.",
    "seconds per point": "Seconds of training for one point above the base. Lower is better; empty unless the "
    "difference is significant for every seed.",
    "memory (GB)": "Memory that a step on the longest rows needs, in GB. Lower is better.",
    "seeds": "How many of the row's trainings are finished.",
}
FORMS = (("csv", "csv", "CSV"), ("markdown", "md", "Markdown"), ("latex", "tex", "LaTeX"))


def verdict(found: PlanTable) -> None:
    """Which row is best, if one has a test score."""
    from explorer.studies.plans import plan_report

    told = plan_report.verdict(found)
    if told is not None:
        verdict_banner.show(told)
    count = len(plan_report.scored(found))
    if count > 1:
        st.caption(plan_report.BEST_OF.format(count))


def show(name: str, found: PlanTable) -> None:
    """Figure, table and runs, as far as they are there."""
    from explorer.studies.plans.plan_report import scored

    rows = scored(found)
    if len(rows) > 1:
        _figure(name, rows)
    _table(name, found)
    _runs(found)


def _figure(name: str, rows: list[tuple[PlanRow, Verdict]]) -> None:
    from explorer.studies.plans import plan_report

    marks = plan_report.marks(rows)
    st.subheader("Score against cost")
    picture_format.draw(
        score_by_cost(marks),
        config=picture_format.config(f"plan-{downloads.file_name(name)}"),
        alt=f"Difference to the base against seconds of training, for {len(marks)} rows.",
    )
    st.caption(plan_report.READ)


def _table(name: str, found: PlanTable) -> None:
    from explorer.evaluating.results import table_formats
    from explorer.studies.plans import plan_report, plan_table

    keys, (header, rows) = plan_table.columns(found), plan_table.written(found)
    st.subheader("Table")
    st.dataframe(
        [dict(zip(header, row, strict=True)) for row in rows],
        hide_index=True,
        key="plan table",
        column_config={
            "row": st.column_config.TextColumn(pinned=True),
            **{
                column: st.column_config.TextColumn(width=_width(key, column), help=HELP.get(key))
                for key, column in zip(keys[1:], header[1:], strict=True)
            },
        },
    )
    st.caption(plan_report.how_in_words(found))
    with st.container(horizontal=True):
        for form, ending, label in FORMS:
            st.download_button(
                label,
                table_formats.written(form, header, rows),
                f"{downloads.file_name(name)}.{ending}",
                icon=":material/table:",
                on_click="ignore",
                key=f"plan as {form}",
            )
        # made on request: the self-contained page includes 4 MB of plotly
        st.download_button(
            "Report (HTML)",
            lambda: plan_report.report(found),
            f"{downloads.file_name(name)}.html",
            "text/html",
            icon=":material/description:",
            on_click="ignore",
            key="plan as html",
        )


def _width(key: str, column: str) -> int | None:
    """Pixels for `81.96 ± 0.17`, also before there is a number; None for columns that are wide enough by their name."""
    return None if column != key or (key in HELP and key not in ("test", "dev")) else 115


def _runs(found: PlanTable) -> None:
    """The runs of one row, with links to the Train page and to Compare."""
    begun = {row.label: row for row in found.rows if any(one.run is not None for one in row.cells)}
    if not begun:
        return
    st.subheader("Runs")
    if st.session_state.get(ROW) not in begun:
        st.session_state[ROW] = next(iter(begun))
    label: str = st.selectbox("Runs of row", list(begun), key=ROW, persist_state="session")
    for one in begun[label].cells:
        _run(one)


def _run(one: CellRun) -> None:
    line = st.container(horizontal=True, vertical_alignment="center")
    run, told = one.run, messages.plain(f"Seed {one.cell.seed}: {one.state}")
    if run is None:
        line.caption(told)
        return
    line.page_link(
        TRAIN,
        label=told,
        icon=":material/model_training:",
        query_params={"run": run.name},
        help=messages.plain(run.name),
        width="content",
    )
    if run.has_model and line.button(
        "Compare with base",
        key=f"compare {run.name}",
        icon=":material/compare_arrows:",
        on_click=shortcuts.compare_with_base,
        args=(run,),
    ):
        st.switch_page(COMPARE, query_params={})
