"""Text box for the visitor's sentences, one a line; an uploaded file fills it."""

from __future__ import annotations

import streamlit as st

from explorer.data.row_kinds import SENTENCES
from explorer.data.tables.columns import guess
from explorer.data.tables.table import Table
from explorer.data.typed_lines import Lines, read_lines, taken
from explorer.errors import StrataError
from explorer.ui import messages
from explorer.ui.widgets import upload_boxes

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


def asked_for() -> tuple[str, ...]:
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
    lines = read_lines(typed or "", MOST)
    _told(lines)
    return lines.sentences


def _told(lines: Lines) -> None:
    told = f"{len(lines.sentences):,} sentence{'s' * (len(lines.sentences) != 1)}"
    if lines.empty and lines.sentences:
        told += f"; {SKIPPED.format(lines.empty, 's' * (lines.empty != 1))}"
    st.caption(f"{told}.")
    if lines.left_out:
        st.warning(LEFT_OUT.format(MOST, lines.left_out), icon=":material/content_cut:")


def _file() -> None:
    upload = upload_boxes.to_read(
        "Sentences (file)",
        "Text with one sentence a line, or a table with a column of sentences. It replaces the text in the box.",
    )
    if upload is None:
        return
    try:
        table = upload_boxes.table(upload)
        lines = taken(table.column(_column(table)), MOST)
    except StrataError as error:
        messages.trouble(error)
        return
    if not lines.sentences:
        messages.trouble(f"{upload.name} has no sentence in this column. Choose another column, or another file.")
        return
    if lines.left_out:
        st.caption(f"The first {MOST} of {MOST + lines.left_out:,} sentences.")
    st.button(
        f"Use {len(lines.sentences)} sentences",
        key="use sentences of file",
        type="primary",
        icon=":material/check:",
        on_click=_fill,
        args=("\n".join(lines.sentences),),
    )


def _column(table: Table) -> str:
    """The recognised column of sentences, or the one that the visitor chooses."""
    guessed = guess(table, SENTENCES).column("sentence") or table.columns[0]
    if len(table.columns) == 1:
        return guessed
    column: str = st.selectbox(
        "Column",
        table.columns,
        index=table.columns.index(guessed),
        key=f"column of sentences {table.name}",
    )
    return column


def _fill(text: str) -> None:
    """Put text into the box; only in a callback."""
    st.session_state[BOX] = text
