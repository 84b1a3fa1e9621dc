"""The visitor's sentences: the panel in which they are typed or read from a file, for the whole app."""

from collections.abc import Iterable

import streamlit as st

from explorer.data.set_items import counted
from explorer.data.tables.columns import guess
from explorer.data.text_sets import SENTENCES
from explorer.errors import StrataError
from explorer.ui import messages
from explorer.ui.access import selection
from explorer.ui.widgets import controls

BOX = "sentences that are typed"
TYPE_TWO = "Type two sentences or more: to be alike takes two."
SKIPPED = "{:,} empty line{} skipped"
LEFT_OUT = "Only the first {} sentences are used: {:,} are left out."


def panel() -> tuple[str, ...]:
    """The button that opens the panel, and the sentences."""
    sentences = selection.sentences()
    with st.popover(counted(len(sentences), "sentence"), icon=":material/edit:", width="content"):
        _box(sentences)
        _file()
        st.button(
            "Reset to the examples",
            key="reset sentences",
            icon=":material/restart_alt:",
            on_click=selection.clear,
            args=(selection.SENTENCES,),
            disabled=not selection.is_chosen(selection.SENTENCES),
        )
    return sentences


def _box(sentences: tuple[str, ...]) -> None:
    # what another page has chosen is in the box; of what is typed here, also its empty lines
    if BOX not in st.session_state or read_lines(st.session_state[BOX].split("\n"))[0] != sentences:
        st.session_state[BOX] = "\n".join(sentences)
    typed: str = st.text_area(
        "Sentences of all pages, one a line",
        height=260,
        key=BOX,
        persist_state="session",
        on_change=lambda: _use(st.session_state[BOX].split("\n")),
        width=480,
        help=f"At most {selection.MOST} sentences. They are kept on this disk, and the address names them by a digest.",
    )
    _, empty, left_out = read_lines(typed.split("\n"))
    if empty:
        st.caption(f"{SKIPPED.format(empty, 's' * (empty != 1))}.")
    if left_out:
        st.warning(LEFT_OUT.format(selection.MOST, left_out), icon=":material/content_cut:")


def _use(lines: Iterable[str]) -> None:
    """Make these the sentences of the app, or the examples if there are none; in a callback.

    A pair of other sentences is not chosen any more.
    """
    sentences = read_lines(lines)[0]
    if sentences:
        selection.choose_sentences(sentences)
    else:
        selection.clear(selection.SENTENCES)
    if not {*(selection.pair() or ())} <= {*sentences}:
        selection.clear(selection.PAIR)


def read_lines(cells: Iterable[str], most: int = selection.MOST) -> tuple[tuple[str, ...], int, int]:
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
            knob = controls.UploadedTable.knobs["column"]
            column = controls.of_table(knob, table.columns, column, f"column of sentences {table.name}")
        cells = table.column(column)
        sentences, _, left_out = read_lines(cells)
    except StrataError as error:
        messages.trouble(error)
        return
    if not sentences:
        messages.trouble(f"{upload.name} has no sentence in this column. Choose another column, or another file.")
        return
    if left_out:
        st.caption(f"The first {selection.MOST} of {selection.MOST + left_out:,} sentences.")
    st.button(
        f"Use {len(sentences)} sentences",
        key="use sentences of file",
        type="primary",
        icon=":material/check:",
        on_click=_use,
        args=(cells,),
    )
