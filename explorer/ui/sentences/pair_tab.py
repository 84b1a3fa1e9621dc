"""The chosen pair: two boxes, the pairs that changed most, and the microscope."""

import streamlit as st

from explorer.measuring.sentences import sentence_vectors
from explorer.ui import messages
from explorer.ui.access import selection
from explorer.ui.sentences.matrices import Seen
from explorer.ui.widgets import controls, cosine_meaning, microscope

SAME = "Both are sentence {}. Choose two different sentences."
BOXES = ("First sentence", "Second sentence")
FOREMOST = 5  # pairs in the table
TABLE = "pairs that changed most"


def show(seen: Seen) -> None:
    """Choose a pair of the sentences for the whole app, and see it layer by layer and word by word."""
    pair = seen.pair()
    left, right = st.columns([2, 3], gap="medium")
    with left:
        places = _boxes(seen)
    with right:
        _foremost(seen)
    if places is not None and places[0] == places[1]:
        st.info(SAME.format(places[0] + 1), icon=":material/swap_horiz:")
    elif pair is not None:
        microscope.of_sides(seen.sides, *pair)


def _boxes(seen: Seen) -> tuple[int, int] | None:
    """The positions in both boxes; none of a pair that was chosen on another page."""
    places: tuple[int, int] | tuple[None, None] = seen.places() or (None, None)

    def choose() -> None:
        chosen = [st.session_state[label] for label in BOXES]
        if None not in chosen and chosen[0] != chosen[1]:
            selection.choose_pair(*(seen.sentences[place] for place in chosen))

    chosen: list[int | None] = []
    for label, place in zip(BOXES, places, strict=True):
        options = range(len(seen.sentences))
        if st.session_state.get(f"_{label}") != (seen.sentences, places):  # the pair was chosen elsewhere
            st.session_state[f"_{label}"], st.session_state[label] = (seen.sentences, places), place
        chosen.append(
            st.selectbox(
                label,
                options,
                index=None,
                format_func=lambda number: f"{number + 1} · {messages.shortened(seen.sentences[number], 90)}",
                key=label,
                on_change=choose,
                placeholder="of another page",
            )
        )
    first, second = chosen
    return None if first is None or second is None else (first, second)


def _foremost(seen: Seen) -> None:
    one, other = seen.one, seen.other
    pairs = sentence_vectors.foremost(one, other, FOREMOST)
    st.caption(("Pairs that changed most" if other is not None else "Most similar pairs") + "; select one to choose it")

    def choose(pair: tuple[int, int]) -> None:
        selection.choose_pair(*(seen.sentences[place] for place in pair))

    number = st.column_config.NumberColumn(format="%.3f", help="−1 to 1. Higher is more similar.")
    rows = [cosine_meaning.columns(sentence_vectors.pair_row(seen.sentences, one, other, pair)) for pair in pairs]
    controls.row_table(
        rows,
        pairs,
        choose,
        key=TABLE,
        column_order=["number", "other number", "cosine A", "A means", "cosine B", "B means", "B - A"],
        column_config={
            "number": "First",
            "other number": "Second",
            **dict.fromkeys(("cosine A", "cosine B"), number),
            "B - A": number | {"label": "B − A"},
        },
        placeholder=messages.MISSING,
    )
