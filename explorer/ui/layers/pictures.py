"""Draw the scores of every layer & pooling as a grid to click and as lines, and the cosines of one; export them."""

from html import escape

import streamlit as st

from explorer.data.text_sets import GradedPairs, NamedSet
from explorer.drawing.scores import by_layer, distributions, grid
from explorer.encoding.read.pooling import Reading
from explorer.measuring.scores.layer_scores import LayerScores
from explorer.measuring.scores.metrics import best_threshold, is_binary
from explorer.measuring.scores.score_tables import as_csv, score_rows
from explorer.ui import messages
from explorer.ui.access.side_scores import ModelScores
from explorer.ui.frame import sidebar
from explorer.ui.widgets import downloads

GRID = "grid of layers and poolings"
SILENT = "No {}: {} has no correlation, because all its gold scores are equal."


def warn_of_silent_parts(scores: LayerScores, aggregate: str) -> None:
    """Warn of sub-corpora without a correlation, if sub-corpora are averaged."""
    if aggregate != "all" and scores.silent_parts:
        some = ", ".join(scores.silent_parts[:5])
        st.warning(
            messages.plain(SILENT.format(aggregate, some)) + " Choose **all**.",
            icon=":material/block:",
        )


def show(scores: LayerScores, metric: str, aggregate: str, reading: Reading, pairs: NamedSet) -> None:
    """The clickable grid, and the same numbers as lines."""
    left, right = st.columns([2, 3], gap="medium")
    with left:
        st.subheader("Every layer & pooling")
        downloads.draw(
            grid.layer_by_pooling(scores, metric, aggregate, reading, short=downloads.presenting()),
            key=GRID,
            on_select=lambda: sidebar.choose_clicked(GRID, scores),
            selection_mode="points",
            config=downloads.config("layers"),
            alt=f"{metric} of every layer under every pooling, as a grid. The table below has the same numbers.",
        )
        on = f"All {len(pairs):,} {scores.items_named[1]} of {messages.plain(pairs.name)}."
        st.caption(
            f"{on} Click a cell to choose its layer & pooling for every page, or choose in the sidebar; the address "
            "remembers it."
        )
        if scores.not_measured_text:
            st.caption(scores.not_measured_text)
    with right:
        st.subheader("By layer")
        downloads.draw(
            by_layer.score_by_layer(scores, metric, aggregate, reading),
            config=downloads.config("layers"),
            alt=f"{metric} by layer, a line for each pooling. The table below has the same numbers.",
        )
        st.caption(f"{on} The same numbers as in the grid.")


def cosines(scored: ModelScores, pairs: GradedPairs) -> None:
    """The figure of the chosen layer & pooling, or the reason why there is none."""
    labels = is_binary(scored.scores.gold)
    st.subheader(f"Cosine by {'label' if labels else 'human score'}: {scored.reading.title}")
    if not scored.scores.is_measured(scored.reading):
        st.info(f"{scored.reading.title} is {scored.scores.why_not_measured(scored.reading)}.", icon=":material/block:")
        return
    if labels:
        _strips(scored, pairs)
        return
    downloads.draw(
        distributions.cosine_by_gold(scored.scores, pairs, scored.reading),
        config=downloads.config("layers"),
        alt=f"Cosines of {scored.reading.title} by human score.",
    )
    st.caption(f"All {len(pairs):,} pairs of {messages.plain(pairs.name)}.")


def _strips(scored: ModelScores, pairs: GradedPairs) -> None:
    gold, cosines = scored.scores.gold, scored.scores.cosines_of(scored.reading)
    best = best_threshold(gold, cosines)
    downloads.draw(
        distributions.cosines_by_label(gold, cosines, pairs, None if best is None else best.threshold),
        config=downloads.config("layers"),
        alt=f"Cosines of {scored.reading.title} for both labels: a point for each pair, and their density.",
    )
    if best is not None:
        positive, share = gold.max(), (gold == gold.max()).mean()
        st.caption(
            f"Best F1: {100 * best.f1:.2f}, if pairs with a cosine of {best.threshold:.4f} or more are called "
            f"{positive:g} (precision {100 * best.precision:.2f}, recall {100 * best.recall:.2f}). The threshold was "
            f"chosen on these pairs, so its F1 is optimistic. {share:.1%} of the pairs have the label {positive:g}: a "
            f"random order has an average precision of {100 * share:.2f}."
        )


def export(scored: ModelScores, metric: str, aggregate: str) -> None:
    """The table with its download, and the figure as an HTML page."""
    table = score_rows(scored.scores)
    downloads.table(table, lines=8)
    stem = downloads.file_name(f"{scored.found.name}-{scored.pairs.name}")
    with st.container(horizontal=True):
        st.download_button(
            "Table (CSV)", as_csv(table), f"{stem}.csv", "text/csv", icon=":material/table:", on_click="ignore"
        )
        # made on request: the self-contained page includes 4 MB of plotly
        st.download_button(
            "Figure (HTML)",
            lambda: _html_page(scored, metric, aggregate),
            f"{stem}.html",
            "text/html",
            icon=":material/show_chart:",
            on_click="ignore",
        )
    st.caption("To save a figure as SVG or PNG, use the camera in its corner; set the figure format in the sidebar.")


def _html_page(scored: ModelScores, metric: str, aggregate: str) -> bytes:
    figure = by_layer.score_by_layer(scored.scores, metric, aggregate, scored.reading)
    title = escape(f"{scored.found.name} on {scored.pairs.name}", quote=False)
    # margins for the title and the axis numbers
    figure.update_layout(template="plotly_white", title={"text": title, "y": 0.97}, margin={"t": 100, "l": 70})
    page: str = figure.to_html(include_plotlyjs=True, full_html=True)
    return page.encode()
