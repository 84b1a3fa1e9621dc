"""Compare the visitor's own sentences: the box they are typed in, the matrices of their cosines, and a chosen pair."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from explorer import in_words
from explorer.data.tables.columns import guess
from explorer.data.text_sets import SENTENCES, digest_of
from explorer.drawing import style
from explorer.drawing.sentences import heatmaps as drawn
from explorer.errors import StrataError
from explorer.measuring.sentences import sentence_vectors
from explorer.ui import messages
from explorer.ui.access.sidebar_choice import Reader
from explorer.ui.widgets import controls, cosine_meaning, downloads, microscope

MOST = 200
BOX = "sentences that are looked at"
TYPE_TWO = "Type two sentences or more: to be alike takes two."
SKIPPED = "{:,} empty line{} skipped"
LEFT_OUT = "Only the first {} sentences are used: {:,} are left out."
# exchanged roles, synonyms, negation; few shared words; one word with two meanings; another number
FIRST_SEEN = """\
A dog chases a cat through the garden.
A cat chases a dog through the garden.
A puppy runs after a kitten outside.
No dog chases a cat through the garden.
The bank raised its interest rates again.
Borrowing money has become more expensive.
We sat on the bank of the river.
We rested by the water.
The concert starts at seven.
The concert starts at nine."""
TYPED = "as typed"
SAME = "Both are sentence {}. Choose two different sentences."
PAIR = ("one of", "another of")  # with a digest, the keys of the boxes of the pair
FOREMOST = 5  # pairs in the table next to the matrices


def show(sides: tuple[Reader, ...]) -> None:
    """The sentences, matrices of A, B and B - A, the microscope for a pair, and files."""
    sentences = typed_sentences()
    if len(sentences) < 2:
        st.info(TYPE_TWO, icon=":material/edit:")
        return
    encoded = [side.vectors(sentences) for side in sides]
    vectors = [one for one in encoded if one is not None]
    if len(vectors) < len(sides):
        return  # progress is shown
    one, *others = map(sentence_vectors.similarities, vectors)
    other = others[0] if others else None
    order = _order(sides, sentences, one, other)
    first_row = st.columns(2, gap="medium")
    second_row = first_row if other is None else st.columns(2, gap="medium")
    with second_row[1]:  # before the matrices, which mark the chosen pair
        chosen = _chosen_pair(sentences, one, other)
    with first_row[0]:
        _square(sides[0].title, drawn.alike(one, sentences, order, chosen), sentences)
    if other is not None:
        with first_row[1]:
            _square(sides[1].title, drawn.alike(other, sentences, order, chosen), sentences)
        with second_row[0]:
            figure = drawn.changed(one, other, sentences, order, chosen)
            _square("**B - A** (blue: more similar in B)", figure, sentences)
    caption = f"Click a cell to choose its pair. Colour: cosine from {in_words.interval(*style.COSINE_RANGE)}"
    caption += ", the same for every layer and model; the diagonal is left out."
    # so that a general shift is not mistaken for the change of one pair
    if other is not None and not np.isnan(changes := sentence_vectors.apart(other - one)).all():
        mean = in_words.signed(float(np.nanmean(changes)), 3)
        caption += (
            f" Mean of B - A over all pairs: {mean}. That is a general shift; only what a pair differs from it is "
            "specific to the pair."
        )
    st.caption(caption)
    pair = None if chosen[0] == chosen[1] else chosen
    st.subheader(microscope.TITLE)
    if pair is not None:
        microscope.of_sides(sides, sentences[pair[0]], sentences[pair[1]])
    st.subheader("Export")
    names = " ".join(side.found.name for side in sides)
    similarities = sentence_vectors.similarity_rows(sentences, one, other)
    downloads.rows(similarities, f"similarities {names}", "Similarities (CSV)")
    for side, of_side in zip(sides, vectors, strict=True):
        downloads.of_vectors(side.name, side.found.name, sentences, of_side)


def typed_sentences() -> tuple[str, ...]:
    """The sentences of the box, up to MOST of them."""
    typed: str | None = st.text_area(
        "Sentences, one a line",
        FIRST_SEEN if BOX not in st.session_state else None,
        height=260,
        key=BOX,
        persist_state="session",
        help=f"At most {MOST} sentences. The text is not part of the address.",
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.popover("Upload a file", icon=":material/upload_file:"):
            _file()
        st.button(
            "Reset to the examples",
            key="reset sentences",
            icon=":material/restart_alt:",
            on_click=_fill,
            args=(FIRST_SEEN,),
            disabled=typed == FIRST_SEEN,
        )
    sentences, empty, left_out = read_lines((typed or "").split("\n"))
    skipped = f"; {SKIPPED.format(empty, 's' * (empty != 1))}" if empty and sentences else ""
    st.caption(f"{len(sentences):,} sentence{'s' * (len(sentences) != 1)}{skipped}.")
    if left_out:
        st.warning(LEFT_OUT.format(MOST, left_out), icon=":material/content_cut:")
    return sentences


def read_lines(cells: Iterable[str], most: int = MOST) -> tuple[tuple[str, ...], int, int]:
    """The first `most` sentences with single spaces between words, and how many cells are empty and too many.

    Repeated sentences are kept.
    """
    squeezed = [" ".join(cell.split()) for cell in cells]
    found = [sentence for sentence in squeezed if sentence]
    return tuple(found[:most]), len(squeezed) - len(found), max(0, len(found) - most)


def _file() -> None:
    upload = controls.upload_to_read(
        "Sentences (file)",
        "Text with one sentence a line, or a table with a column of sentences. It replaces the text in the box.",
    )
    if upload is None:
        return
    try:
        table = controls.uploaded_table(upload)
        column = guess(table, SENTENCES).column("sentence") or table.columns[0]
        if len(table.columns) > 1:
            at = table.columns.index(column)
            column = st.selectbox("Column", table.columns, index=at, key=f"column of sentences {table.name}")
        sentences, _, left_out = read_lines(table.column(column))
    except StrataError as error:
        messages.trouble(error)
        return
    if not sentences:
        messages.trouble(f"{upload.name} has no sentence in this column. Choose another column, or another file.")
        return
    if left_out:
        st.caption(f"The first {MOST} of {MOST + left_out:,} sentences.")
    st.button(
        f"Use {len(sentences)} sentences",
        key="use sentences of file",
        type="primary",
        icon=":material/check:",
        on_click=_fill,
        args=("\n".join(sentences),),
    )


def _fill(text: str) -> None:
    """Put text into the box; only in a callback."""
    st.session_state[BOX] = text


def _order(
    sides: tuple[Reader, ...],
    sentences: tuple[str, ...],
    one: sentence_vectors.Matrix,
    other: sentence_vectors.Matrix | None,
) -> NDArray[np.intp]:
    orders = (TYPED, *(f"clustered by {side.name}" for side in sides))
    order: str = controls.segments(
        "Order",
        orders,
        default=TYPED,
        key="order",
        help="Clustered: similar sentences are adjacent (average linkage). Every matrix has the same order.",
    )
    if order == TYPED:
        return np.arange(len(sentences))
    return sentence_vectors.clustered(one if other is None or order == orders[1] else other)


def _square(title: str, figure: Any, sentences: tuple[str, ...]) -> None:
    def choose_clicked() -> None:  # the cell's pair for the microscope, before the page reruns
        place = controls.clicked_place(title)
        if place is not None:
            for name, at in zip(_pair_boxes(sentences), divmod(place, len(sentences)), strict=True):
                st.session_state[name] = at

    st.markdown(title)
    downloads.draw(
        figure,
        key=title,
        on_select=choose_clicked,
        selection_mode="points",
        config=downloads.config("sentences"),
        alt="Cosines of every two sentences. The file under Export has the numbers.",
    )


def _pair_boxes(sentences: tuple[str, ...]) -> tuple[str, str]:
    """The keys of the two boxes of the pair; they change with the sentences."""
    digest = digest_of(sentences)[:12]
    return f"{PAIR[0]} {digest}", f"{PAIR[1]} {digest}"


def _chosen_pair(
    sentences: tuple[str, ...], one: sentence_vectors.Matrix, other: sentence_vectors.Matrix | None
) -> tuple[int, int]:
    pairs = sentence_vectors.foremost(one, other, FOREMOST)
    st.markdown("**Pair for the microscope**")
    first, second = (
        st.selectbox(
            label,
            range(len(sentences)),
            index=place,
            format_func=lambda number: f"{number + 1} · {messages.shortened(sentences[number], 90)}",
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
    rows = [cosine_meaning.columns(sentence_vectors.pair_row(sentences, one, other, pair)) for pair in pairs]
    st.dataframe(
        rows,
        hide_index=True,
        column_order=["number", "other number", "cosine A", "A means", "cosine B", "B means", "B - A"],
        column_config={
            "number": "First",
            "other number": "Second",
            **dict.fromkeys(("cosine A", "cosine B", "B - A"), number),
        },
        placeholder=messages.MISSING,
    )
    return first, second
