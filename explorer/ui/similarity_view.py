"""How alike do A and B find your sentences, every one to every other? Squares to click."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from explorer.data.kinds import digest_of
from explorer.drawing import similarity_grid as drawn
from explorer.measuring.similarities import Matrix, clustered, similarities, widest_pair
from explorer.ui.readers import Reader
from explorer.ui.two_sentences import shortened
from explorer.ui.vectors import Vectors

CAMERA = {"displaylogo": False, "toImageButtonOptions": {"format": "svg", "filename": "strata-sentences"}}
TYPED = "as typed"


def matrices(vectors: tuple[Vectors, ...]) -> tuple[Matrix, Matrix | None]:
    """Cosines of A, and of B where there is one."""
    one, *others = (similarities(side) for side in vectors)
    return one, others[0] if others else None


def show(
    sides: tuple[Reader, ...], sentences: tuple[str, ...], one: Matrix, other: Matrix | None
) -> tuple[int, int] | None:
    """The squares, and the pair that is chosen in them; None where two are the same sentence of the list."""
    names = _pair_boxes(sentences)
    ways = (TYPED, *(f"clustered by {side.name}" for side in sides))
    if st.session_state.get("order") not in ways:
        st.session_state.pop("order", None)  # there is no B any more
    way: str = st.segmented_control(
        "Order",
        ways,
        default=TYPED,
        required=True,
        key="order",
        bind="query-params",
        help="Clustered: sentences that are alike stand together, by average linkage. Every square has the same order.",
    )
    order = (
        np.arange(len(sentences))
        if way == TYPED
        else clustered(other if way.endswith("B") and other is not None else one)
    )
    squares = st.container()
    chosen = _chosen_pair(sentences, names, widest_pair(one, other), changed=other is not None)
    with squares:
        _squares(sides, sentences, one, other, order, chosen, names)
    return None if chosen[0] == chosen[1] else chosen


def _squares(
    sides: tuple[Reader, ...],
    sentences: tuple[str, ...],
    one: Matrix,
    other: Matrix | None,
    order: NDArray[np.intp],
    chosen: tuple[int, int],
    names: tuple[str, str],
) -> None:
    span = drawn.span_of(one) if other is None else drawn.span_of(one, other)
    figures = [(sides[0].title, drawn.alike(one, sentences, order, span, chosen))]
    if other is not None:
        figures.append((sides[1].title, drawn.alike(other, sentences, order, span, chosen)))
        figures.append(("**B - A** blue: more alike in B", drawn.changed(other - one, sentences, order, chosen)))
    # one square alone would be as wide as the page
    columns = st.columns(3 if len(figures) > 1 else [3, 2], gap="small")
    for number, (title, figure) in enumerate(figures):
        key = f"square {number}"
        with columns[number]:
            st.markdown(title)
            st.plotly_chart(
                figure,
                key=key,
                on_select=partial(_choose_clicked, key, len(sentences), names),
                selection_mode="points",
                config=CAMERA,
                alt="Cosines of every two sentences. The file under Take it along holds the numbers.",
            )
    told = (
        f"A and B on one scale, {span[0]:.2f} to {span[1]:.2f}"
        if other is not None
        else (f"From {span[0]:.2f} to {span[1]:.2f}")
    )
    told += "; a sentence with itself is left out."
    if len(sentences) <= drawn.CLICKED:
        told += " Click a cell to look at the pair below."
    st.caption(told)


def _pair_boxes(sentences: tuple[str, ...]) -> tuple[str, str]:
    """The names of the two boxes that hold the pair: other sentences have others."""
    digest = digest_of(sentences)[:12]
    return f"one of {digest}", f"another of {digest}"


def _chosen_pair(
    sentences: tuple[str, ...], names: tuple[str, str], first_seen: tuple[int, int], *, changed: bool
) -> tuple[int, int]:
    st.subheader("Pair microscope")
    st.caption(
        "Two sentences token by token. "
        + ("It opens on the pair whose cosine changed most." if changed else "It opens on the two most alike.")
    )
    left, right = st.columns(2, gap="medium")
    one, other = (
        column.selectbox(
            label,
            range(len(sentences)),
            index=place,
            format_func=lambda number: f"{number + 1} · {shortened(sentences[number], 90)}",
            key=name,
            persist_state="session",
        )
        for column, label, place, name in zip(
            (left, right), ("First sentence", "Second sentence"), first_seen, names, strict=True
        )
    )
    if one == other:
        st.info(f"Choose two different numbers: both are sentence {one + 1}.", icon=":material/swap_horiz:")
    return one, other


def _choose_clicked(key: str, count: int, names: tuple[str, str]) -> None:
    """Make the clicked cell the pair under the microscope; runs before the page is drawn anew."""
    points = st.session_state[key]["selection"]["points"]
    if points:
        st.session_state[names[0]], st.session_state[names[1]] = divmod(int(points[0]["customdata"]), count)
