"""Draw the similarity matrices of A, B and B - A for the visitor's sentences; a click chooses a pair."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from explorer.data.kinds import digest_of
from explorer.drawing.sentences import similarity_grid as drawn
from explorer.measuring.sentences.cosine_matrix import Matrix, apart, clustered, foremost, pair_row, similarities
from explorer.ui import messages
from explorer.ui.access.side_readers import Reader
from explorer.ui.access.vectors import Vectors
from explorer.ui.messages import shortened
from explorer.ui.widgets import picture_format, segments

TYPED = "as typed"
SAME = "Both are sentence {}. Choose two different sentences."
PAIR = ("one of", "another of")  # with a digest, the keys of the boxes of the pair
FOREMOST = 5  # pairs in the table next to the matrices


def matrices(vectors: tuple[Vectors, ...]) -> tuple[Matrix, Matrix | None]:
    """The cosine matrices of A, and of B if there is one."""
    one, *others = (similarities(side) for side in vectors)
    return one, others[0] if others else None


def show(
    sides: tuple[Reader, ...], sentences: tuple[str, ...], one: Matrix, other: Matrix | None
) -> tuple[int, int] | None:
    """Draw the matrices and return the chosen pair; None if both sentences are the same."""
    order = _order(sides, sentences, one, other)
    first_row = st.columns(2, gap="medium")
    second_row = first_row if other is None else st.columns(2, gap="medium")
    with second_row[1]:  # before the matrices, which mark the chosen pair
        chosen = _chosen_pair(sentences, one, other)
    span = drawn.span_of(one) if other is None else drawn.span_of(one, other)
    with first_row[0]:
        _square(sides[0].title, drawn.alike(one, sentences, order, span, chosen), sentences)
    if other is not None:
        with first_row[1]:
            _square(sides[1].title, drawn.alike(other, sentences, order, span, chosen), sentences)
        with second_row[0]:
            figure = drawn.changed(other - one, sentences, order, chosen)
            _square("**B - A** (blue: more similar in B)", figure, sentences)
    st.caption(
        f"Click a cell to choose its pair. Colour: cosine from {span[0]:.2f} to {span[1]:.2f}"
        + ", the same for A and B" * (other is not None)
        + "; the diagonal is left out."
        + _told_of_all(one, other)
    )
    return None if chosen[0] == chosen[1] else chosen


def _told_of_all(one: Matrix, other: Matrix | None) -> str:
    """The mean change over all pairs, so that a general shift is not mistaken for the change of one pair."""
    if other is None or np.isnan(apart(other - one)).all():
        return ""
    together = float(np.nanmean(apart(other - one)))
    return (
        f" Mean of B - A over all pairs: {together:+.3f}. That is a general shift; only what a pair differs from it is "
        "specific to the pair."
    )


def _order(
    sides: tuple[Reader, ...], sentences: tuple[str, ...], one: Matrix, other: Matrix | None
) -> NDArray[np.intp]:
    ways = (TYPED, *(f"clustered by {side.name}" for side in sides))
    if st.session_state.get("order") not in ways:
        st.session_state.pop("order", None)  # B was removed
    way: str = segments.chosen(
        "Order",
        ways,
        default=TYPED,
        key="order",
        help="Clustered: similar sentences are adjacent (average linkage). Every matrix has the same order.",
    )
    if way == TYPED:
        return np.arange(len(sentences))
    return clustered(one if other is None or way == ways[1] else other)


def _square(title: str, figure: Any, sentences: tuple[str, ...]) -> None:
    st.markdown(title)
    picture_format.draw(
        figure,
        key=title,
        on_select=partial(_choose_clicked, title, sentences),
        selection_mode="points",
        config=picture_format.config("sentences"),
        alt="Cosines of every two sentences. The file under Export has the numbers.",
    )


def _pair_boxes(sentences: tuple[str, ...]) -> tuple[str, str]:
    """The keys of the two boxes of the pair; they change with the sentences."""
    digest = digest_of(sentences)[:12]
    return f"{PAIR[0]} {digest}", f"{PAIR[1]} {digest}"


def _chosen_pair(sentences: tuple[str, ...], one: Matrix, other: Matrix | None) -> tuple[int, int]:
    pairs = foremost(one, other, FOREMOST)
    st.markdown("**Pair for the microscope**")
    first, second = (
        st.selectbox(
            label,
            range(len(sentences)),
            index=place,
            format_func=lambda number: f"{number + 1} · {shortened(sentences[number], 90)}",
            key=name,
            persist_state="session",
        )
        for label, place, name in zip(
            ("First sentence", "Second sentence"), pairs[0], _pair_boxes(sentences), strict=True
        )
    )
    if first == second:
        st.info(SAME.format(first + 1), icon=":material/swap_horiz:")
    st.caption("Pairs that changed most" if other is not None else "Most similar pairs")
    number = st.column_config.NumberColumn(format="%.3f", help="−1 to 1. Higher is more similar.")
    st.dataframe(
        [pair_row(sentences, one, other, pair) for pair in pairs],
        hide_index=True,
        column_order=["number", "other number", "cosine A", "cosine B", "B - A"],
        column_config={
            "number": "First",
            "other number": "Second",
            **dict.fromkeys(("cosine A", "cosine B", "B - A"), number),
        },
        placeholder=messages.MISSING,
    )
    return first, second


def _choose_clicked(key: str, sentences: tuple[str, ...]) -> None:
    """Choose the clicked cell's pair for the microscope; runs before the page reruns."""
    points = st.session_state[key]["selection"]["points"]
    if points:
        pair = divmod(int(points[0]["customdata"]), len(sentences))
        for name, place in zip(_pair_boxes(sentences), pair, strict=True):
            st.session_state[name] = place
