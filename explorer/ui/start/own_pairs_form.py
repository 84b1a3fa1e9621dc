"""The form for a file of the user's own scored pairs: columns, a report, and what to do with the pairs."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explorer.data.graded import sets
from explorer.data.graded.sets import SetIdentity
from explorer.data.tables import columns, text_rows
from explorer.data.tables.table import ColumnRoles, Table
from explorer.data.text_sets import SCORED_PAIRS, GradedPairs
from explorer.encoding.locate.model_names import Found
from explorer.errors import StrataError
from explorer.measuring.scores.measure import Settings
from explorer.ui import messages
from explorer.ui.access import cached, sidebar_choice
from explorer.ui.access.cached_text import by_stamp
from explorer.ui.frame import sidebar
from explorer.ui.start import recognised_file
from explorer.ui.widgets import clicks, upload_boxes

NONE = "(none)"
SCORES = "Scores"
ESTIMATED_ON = 4000  # sentences: the share of those that are cut
SAME_TWICE = (
    "{:,} rows hold the same sentence twice. Every model gives them a cosine of 1: check the columns, or delete these "
    "rows where their score is not the highest."
)


def own_pairs() -> None:
    """The form: it ends with the user's file among the sets of the sidebar."""
    clicks.refused()
    upload = upload_boxes.to_read(
        "A file of texts",
        "Scored pairs, pairs such as queries and passages, triplets, texts with labels, or sentences. It is kept on "
        "this machine only. What it holds is recognised, and can be corrected.",
        recognised_file.OTHERS,
    )
    if upload is None:
        st.caption(
            "For example a CSV whose first line is `sentence1,sentence2,score`, `query,passage`, "
            "`anchor,positive,negative` or `text,label`, or one sentence a line. Other names will do, too, and any "
            "range of scores, with a decimal point or comma. "
            "Larger files go through the command line: `python -m explorer score MODEL --sts FILE`."
        )
    elif not recognised_file.is_no_table(upload.name):
        try:
            table = upload_boxes.table(upload)
            kind = recognised_file.kind_chosen(table, columns.table_kind(table))
        except StrataError as error:
            messages.trouble(error)
        else:
            if kind == SCORED_PAIRS:
                _from_table(table)
            else:
                recognised_file.show(upload.name, upload.getvalue(), table, kind)
    _kept_files()


def _from_table(table: Table) -> None:
    roles = _columns(table)
    _preview(table, roles)
    try:
        pairs, report = text_rows.graded_pairs(table, roles)
    except StrataError as error:
        messages.trouble(error)
    else:
        _report(pairs, report)
        recognised_file.offer_pairs(pairs)


def _columns(table: Table) -> ColumnRoles:
    """The guess, to be corrected: a select box for each role."""
    guess = columns.guess(table, SCORED_PAIRS)
    chosen: dict[str, str | None] = {}
    boxes = st.container(horizontal=True)
    for one in SCORED_PAIRS.columns:
        options = [NONE, *table.columns]
        guessed = guess.column(one.role) or NONE
        column = boxes.selectbox(
            f"Column: {one.label}",
            options,
            index=options.index(guessed),
            help=one.help + ("" if one.required else " May be left out."),
            key=f"column {table.name} {one.role}",
            width=220,
        )
        chosen[one.role] = None if column == NONE else column
    return guess.corrected(chosen)


def _preview(table: Table, roles: ColumnRoles) -> None:
    """The first rows, the score first: behind two long sentences it would not be seen."""
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows[: recognised_file.PREVIEW]]
    mapped = [roles.column(role) for role in ("score", "first", "second", "part")]
    order = dict.fromkeys([*(column for column in mapped if column in table.columns), *table.columns])
    st.dataframe([{column: row[column] for column in order} for row in rows], hide_index=True)


def _report(pairs: GradedPairs, report: text_rows.Report) -> None:
    low, high = report.score_range or (0.0, 0.0)
    cards = st.container(horizontal=True, gap="large")
    messages.number(cards, "Pairs kept", f"{report.rows_kept:,}", f"of {report.rows_read:,} rows")
    messages.number(cards, SCORES, f"{low:g} to {high:g}")
    messages.number(cards, "Words a sentence", f"{report.words.median:g}", f"at most {report.words.most}")
    messages.number(cards, "Exact duplicates", f"{report.duplicates:,}")
    _truncation(cards, pairs)
    for dropped in report.dropped:
        st.warning(messages.plain(str(dropped)), icon=":material/filter_alt:")
    if report.set_aside:
        st.caption(messages.plain(f"Columns set aside (lists, objects or bytes): {', '.join(report.set_aside)}"))
    if report.same_twice:
        st.warning(SAME_TWICE.format(report.same_twice), icon=":material/content_copy:")


def _truncation(cards: DeltaGenerator, pairs: GradedPairs) -> None:
    """What share of the sentences the chosen model would cut."""
    choice = sidebar_choice.chosen()
    try:
        limit, share = share_cut(choice.found(), pairs, choice.settings)
    except StrataError:
        return  # the encoder has troubles of its own, which the top of the page tells
    messages.number(cards, "Sentences cut", f"{share:.1%}", f"at {limit} tokens")


def _kept_files() -> None:
    stored = sets.kept_sets()
    if not stored:
        return
    with st.expander(f"Files you uploaded ({len(stored)})", icon=":material/folder:"):
        for one in stored:
            line = st.container(horizontal=True, vertical_alignment="center")
            line.text(one.title)
            line.button("Use", key=f"use {one.title}", on_click=sidebar.choose_set, args=(one,))
            line.button(
                "Forget", key=f"forget {one.title}", on_click=_forget, args=(one,), help="Deletes Strata's copy."
            )


def _forget(given: SetIdentity) -> None:
    def forget() -> None:
        sets.forget(given)
        if sidebar_choice.chosen().evaluation_set.whole == given:
            sidebar.choose_set(sets.SAMPLE)

    clicks.attempt(forget)


@by_stamp(lambda found, pairs, settings: (found.digest, pairs.digest, settings), 16, "Counting tokens …")
def share_cut(_found: Found, _pairs: GradedPairs, _settings: Settings) -> tuple[int, float]:
    """At how many tokens an encoder cuts a sentence, and what share of a set it cuts, estimated on some thousands."""
    encoder = cached.encoder(_found, _settings)
    step = max(1, len(_pairs.sentences) // ESTIMATED_ON)  # from all over the file: it may be sorted by length
    some = _pairs.sentences[::step]
    cut = encoder.tokens(some, _settings.max_length).truncated
    return encoder.limit(_settings.max_length), cut / len(some)
