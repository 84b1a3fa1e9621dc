"""Say what is wrong with a file, or what to know of it: long texts, odd scores, rare classes."""

from collections.abc import Callable, Sequence
from contextlib import suppress

import streamlit as st

from explorer.data import text_sets
from explorer.data.labelled import labelled_sets
from explorer.data.tables import text_rows
from explorer.data.tables.table import ColumnRoles, Table
from explorer.encoding.locate.model_names import Found
from explorer.errors import StrataError
from explorer.measuring.scores.measure import Settings
from explorer.measuring.sentences import cut_texts
from explorer.ui import messages
from explorer.ui.access import cached_texts, loaded_encoders, sidebar_choice

SAME_TWICE = (
    "Rows that hold the same sentence twice: {:,}. Every model gives such a row a cosine of 1: check the columns, or "
    "delete those whose score is not the highest."
)
CONTRADICTING = (
    "{:,} rows hold two sentences that have another score in another row. Keep one row of each pair: no model agrees "
    "with both."
)
OUTLIERS = (
    "Far from all other scores: {}. Check it, and correct it if it is a mistake: training scales scores by their "
    "range, so that all others would be almost equal."
)
RARE = (
    "Classes with fewer than {} rows: {}. Their rows are often predicted wrongly, since a classifier sees few others "
    "of the class; a single row always is. Add rows of these classes, or remove them."
)
NONE_CUT = "Every text is read to its end: none is longer than {:,} tokens."


def of_scores(report: text_rows.Report) -> None:
    """What the report on scored pairs points out."""
    for dropped in report.dropped:
        st.warning(messages.plain(str(dropped)), icon=":material/filter_alt:")
    if report.set_aside:
        st.caption(messages.plain(f"Columns set aside (lists, objects or bytes): {', '.join(report.set_aside)}"))
    if report.same_twice:
        st.warning(SAME_TWICE.format(report.same_twice), icon=":material/content_copy:")
    if report.contradicting:
        st.warning(CONTRADICTING.format(report.contradicting), icon=":material/difference:")
    if report.outliers:
        st.warning(messages.plain(OUTLIERS.format(report.outliers_text)), icon=":material/straighten:")


def too_long(kind: text_sets.Kind, texts: int, rows: int, digest: str, read: Callable[[], Sequence[str]]) -> None:
    """How many texts are longer than what the model and the method that fits the rows read, before either begins.

    `texts` are in a row, and `digest` is that of what `read` gives.
    """
    from explorer.methods import load, suggested

    method = suggested(kind, texts, rows)
    longest = load(method).schedule.max_length if method and load(method).trains() else None
    choice = sidebar_choice.chosen()
    with suppress(StrataError):  # the encoder has troubles of its own, which the top of the page tells
        found = choice.found()
        measured = cut_texts_of(found, digest, read, choice.settings, choice.settings.max_length, cut_texts.EVALUATION)
        trained = cut_texts_of(found, digest, read, choice.settings, longest, cut_texts.TRAINING)
        of_method = (f"With {method}: {line}" for line in trained.lines if line not in measured.lines)
        if lines := [*measured.lines, *of_method]:
            st.warning("\n\n".join(map(messages.plain, lines)), icon=":material/content_cut:")
        else:
            st.caption(NONE_CUT.format(trained.used_limit))


@cached_texts.by_stamp(lambda found, digest, read, *how: (found.digest, digest, *how), 16, "Counting tokens …")
def cut_texts_of(
    _found: Found, _digest: str, _read: Callable[[], Sequence[str]], _settings: Settings, _most: int | None, _use: str
) -> cut_texts.CutTexts:
    """How many texts are longer than an encoder reads in a use, which is at most so many tokens."""
    encoder = loaded_encoders.encoder(_found, _settings)
    return cut_texts.count(encoder, _read(), _most and min(_most, encoder.max_length), _use)


def why_unscored(table: Table, roles: ColumnRoles) -> str:
    """Why models cannot be scored on labelled texts, "" if they can; shows the reason, or the classes with few rows."""
    try:
        rows, report = text_rows.labelled(table, roles)
        labelled_sets.check(labelled_sets.LabelledSet(rows.name, rows))
    except StrataError as error:
        st.warning(messages.plain(str(error)), icon=":material/block:")
        return str(error)
    if report.rare:
        st.warning(messages.plain(RARE.format(text_rows.FEW_OF_CLASS, report.rare_text)), icon=":material/balance:")
    return ""
