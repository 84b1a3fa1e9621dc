"""The form for an uploaded file: what it holds, a report on its rows, and the pages that can use it."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, Literal

import streamlit as st

from explorer.data import corpora, sources, splitting, text_sets, uploads
from explorer.data.graded import sets
from explorer.data.set_items import counted
from explorer.data.tables import columns, text_rows
from explorer.data.tables.table import ColumnRoles, Table
from explorer.errors import StrataError
from explorer.escaping import one_line
from explorer.ui import messages
from explorer.ui.access import cached_texts, set_choice, sidebar_choice
from explorer.ui.frame import page_list, sidebar
from explorer.ui.start import file_cautions
from explorer.ui.widgets import controls

NONE = "(none)"
SCORES = "Scores"
LAYERS, TRAIN, SEARCH, MAP = "pages/layers.py", "pages/train.py", "pages/search.py", "pages/map.py"
PLANS = "pages/plans.py"
SPLIT_PAIRS = "**{}** in {} (pairs that share a sentence stay together)"
HALVES = "{:,} in the dev half, {:,} in the test half"
CROSS_FITTED = "All pairs are trained on, and each is judged by a model that was not trained on it"
APART, PARTS_APART = "No sentence is in both halves", ", nor in both parts"
CHOSEN = "Kept on this machine and chosen in the sidebar: {}."
FORGET = (
    "Deletes Strata's copy. A run that was trained or tested on it keeps its scores, but cannot be resumed or repeated."
)
# rows of a file that are shown, so that a wrong column is seen
PREVIEW = 5
_LAYERS_HELP = (
    "Without halves, the best layer & pooling is chosen on the pairs it is scored on.",
    "The best layer & pooling is chosen on the dev half and reported on the test half.",
)
_TRAIN_HELP = (
    "Train on the train part, choose the best checkpoint on the dev part, report on the test half; of fewer than "
    f"{corpora.FEW} pairs train on all, each of which is judged by a model that did not see it."
)
_ADVISE_HELP = "Tries the methods that fit within a time limit, and answers whether the model becomes better."
KINDS = (
    text_sets.SCORED_PAIRS,
    text_sets.PAIRS,
    text_sets.TRIPLETS,
    text_sets.LABELLED_TEXTS,
    text_sets.SENTENCES,
    text_sets.BACK_TRANSLATIONS,
    text_sets.DOCUMENTS,
)
ABOUT = {
    text_sets.PAIRS: "The first text of each row is a query, the second one the passage that it has to find; with a "
    "column called translation, both have to find each other.",
    text_sets.TRIPLETS: "The first text of each row means the same as the second one, and something else than the "
    "third.",
    text_sets.LABELLED_TEXTS: "Each row is a text with the name of its class.",
    text_sets.SENTENCES: "Each row is one text, without a score or a label: models cannot be scored on it.",
    text_sets.BACK_TRANSLATIONS: "Each row is a sentence and its translation back from another language.",
    text_sets.DOCUMENTS: "Each row is a text of many sentences.",
}
OTHERS = {  # endings of files that are no table
    "npy": "{} holds vectors. Type the path of the file on the Search or the Map page: vectors are not uploaded.",
    "npz": "{} holds several arrays. Save the vectors as one .npy file, and type its path on the Search or Map page.",
    "zip": "{} is an archive. If it is a model or a run, unpack it and type the path of the folder under "
    f"**{sidebar.FOLDED}** in the sidebar. If it has a table, upload the table.",
    "safetensors": "{} holds the weights of a model. Type the path of its folder, which has a config.json, under "
    f"**{sidebar.FOLDED}** in the sidebar.",
}


def own_pairs() -> None:
    """The form: it ends with the user's file among the sets of the sidebar."""
    controls.refused()
    upload = controls.upload_to_read(
        "A file of texts",
        "Scored pairs, pairs such as queries and passages, triplets, texts with labels, or sentences. It is kept on "
        "this machine only. What it holds is recognised, and can be corrected.",
        OTHERS,
    )
    if upload is None:
        st.caption(
            "For example a CSV whose first line is `sentence1,sentence2,score`, `query,passage`, "
            "`anchor,positive,negative` or `text,label`, or one sentence a line. Other names will do, too, and any "
            "range of scores, with a decimal point or comma. "
            "Larger files go through the command line: `python -m explorer score MODEL --on FILE`."
        )
    elif (ending := upload.name.rpartition(".")[2].lower()) in OTHERS:
        st.info(OTHERS[ending].format(messages.plain(upload.name)), icon=":material/folder_open:")
    else:
        try:
            table = controls.uploaded_table(upload)
            kind = kind_chosen(table, columns.table_kind(table))
        except StrataError as error:
            messages.trouble(error)
        else:
            if kind == text_sets.SCORED_PAIRS:
                _from_table(table)
            else:
                show(upload.name, upload.getvalue(), table, kind)
    _kept_files()


def _from_table(table: Table) -> None:
    roles = _columns(table)
    # the score first: behind two long sentences it would not be seen
    mapped = [roles.column(role) for role in ("score", "first", "second", "part")]
    order = dict.fromkeys([*(column for column in mapped if column in table.columns), *table.columns])
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows[:PREVIEW]]
    st.dataframe([{column: row[column] for column in order} for row in rows], hide_index=True)
    try:
        pairs, report = text_rows.graded_pairs(table, roles)
    except StrataError as error:
        messages.trouble(error)
    else:
        low, high = report.score_range or (0.0, 0.0)
        cards = st.container(horizontal=True, gap="large")
        messages.number(cards, "Pairs kept", f"{report.rows_kept:,}", f"of {report.rows_read:,} rows")
        messages.number(cards, SCORES, f"{low:g} to {high:g}")
        messages.number(cards, "Words a sentence", f"{report.median_words:g}", f"at most {report.most_words}")
        messages.number(cards, "Exact duplicates", f"{report.duplicates:,}")
        file_cautions.too_long(text_sets.SCORED_PAIRS, 2, len(pairs), pairs.digest, lambda: pairs.sentences)
        file_cautions.of_scores(report)
        offer_pairs(pairs)


def _columns(table: Table) -> ColumnRoles:
    """The guess, to be corrected: a select box for each role."""
    guess = columns.guess(table, text_sets.SCORED_PAIRS)
    chosen: dict[str, str | None] = {}
    of_role, boxes = controls.UploadedTable.knobs["column"], st.container(horizontal=True)
    for one in text_sets.SCORED_PAIRS.columns:
        options = [NONE, *table.columns]
        guessed = guess.column(one.role) or NONE
        knob = replace(of_role, title=f"{of_role.title}: {one.label}")
        help = one.help + ("" if one.required else " May be left out.")
        with boxes:
            column = controls.of_table(knob, options, guessed, f"column {table.name} {one.role}", help=help, width=220)
        chosen[one.role] = None if column == NONE else column
    return guess.corrected(chosen)


def _kept_files() -> None:
    """Every file that was uploaded, each with a button that deletes Strata's copy."""
    stored = [*sets.kept_sets(), *map(sources.identity, uploads.paths())]
    if not stored:
        return

    def forget(given: sets.SetIdentity) -> None:
        if given.kind == sets.SetKind.UPLOADED_FILE:
            uploads.forget(sources.located(given))
        else:
            sets.forget(given)
        if sidebar_choice.chosen().evaluation_set.whole == given:
            sidebar.reset_set()

    with st.expander(f"Files you uploaded ({len(stored)})", icon=":material/folder:"):
        for one in stored:
            title, name = one.title, one.written
            line = st.container(horizontal=True, vertical_alignment="center")
            line.text(title)
            if one.is_scored or set_choice.kind_of(sources.located(one)) in set_choice.SCORED:
                line.button("Use", key=f"use {name}", on_click=sidebar.choose_set, args=(one,))
            controls.callback_button("Forget", partial(forget, one), place=line, key=f"forget {name}", help=FORGET)


def kind_chosen(table: Table, recognised: text_sets.Kind) -> text_sets.Kind:
    """What the file holds, to be corrected if it was not recognised."""
    titles = {kind.title: kind for kind in KINDS}
    of_kind = controls.UploadedTable.knobs["kind"]
    knob = replace(of_kind, title=f"{table.name} {of_kind.title}")
    return titles[controls.of_table(knob, tuple(titles), recognised.title, f"holds {table.name}", width=300)]


def show(name: str, data: bytes, table: Table, kind: text_sets.Kind) -> None:
    """What is in a file without scores, its first rows, and the pages that use it."""
    roles = columns.guess(table, kind)
    used = ", ".join(f"{column} ({role})" for role in kind.roles if (column := roles.column(role)))
    st.markdown(f"**{len(table.rows):,} rows of {kind.title}**: {messages.plain(used)}. {ABOUT[kind]}")
    st.dataframe([dict(zip(table.columns, row, strict=True)) for row in table.rows[:PREVIEW]], hide_index=True)
    used_columns = [table.column(column) for text in kind.texts if (column := roles.column(text.role))]
    digest = text_sets.digest_of((hashlib.sha256(data).hexdigest(), used))
    file_cautions.too_long(
        kind, len(used_columns), len(table.rows), digest, lambda: [one_line(cell) for cell in chain(*used_columns)]
    )
    unscored = file_cautions.why_unscored(table, roles) if kind == text_sets.LABELLED_TEXTS else ""
    scored, parted = kind in set_choice.SCORED, kind not in (text_sets.BACK_TRANSLATIONS, text_sets.DOCUMENTS)

    def button(label: str, icon: str, page: str, choose: Callable[[str], dict[str, str]], why_not: str = "") -> None:
        def keep() -> None:
            page_list.open_page(page, choose(uploads.keep(name, data)))

        likely = page == (LAYERS if scored else TRAIN)
        shape: Literal["primary", "secondary"] = "primary" if likely else "secondary"
        style: dict[str, Any] = {"disabled": bool(why_not), "help": messages.plain(why_not) or None}
        controls.callback_button(label, keep, key=f"file to {page}", icon=icon, type=shape, **style)

    def evaluate(path: str) -> dict[str, str]:
        sidebar.choose_set(sources.uploaded(path))
        return {}

    with st.container(horizontal=True):
        if scored:
            button("Find the best layer for it", ":material/layers:", LAYERS, evaluate, unscored)
        button("Train on it", ":material/model_training:", TRAIN, partial(page_list.train_on_file, kind=kind))
        if kind != text_sets.DOCUMENTS:  # which no set of Strata judges
            button(page_list.SHOULD_I, ":material/help:", PLANS, page_list.advise_on)
        button("Search in it", ":material/search:", SEARCH, lambda path: {"corpus": sources.label(path)})
        if parted:
            button("Map it", ":material/scatter_plot:", MAP, lambda path: {"mapped": "a file", "map_file": path})
    st.caption("The file is kept on this machine, and every page offers it.")


def offer_pairs(pairs: text_sets.GradedPairs) -> None:
    """What the pairs are split into, and what can be done with them."""
    split = cached_texts.split_summary(pairs)
    st.markdown(_split_in_words(pairs, split))
    few = len(pairs) < corpora.FEW  # all of them are trained on
    why_not = split.no_halves if few else split.no_halves or split.no_parts
    if why_not:
        st.warning(messages.plain(why_not), icon=":material/call_split:")
    refused = "" if few or not split.no_parts else messages.plain(split.no_parts)
    with st.container(horizontal=True):
        controls.callback_button(
            "Find the best layer on them",
            partial(_keep_and_open, pairs, LAYERS),
            key="find best layer",
            type="primary",
            icon=":material/layers:",
            help=_LAYERS_HELP[not split.no_halves],
        )
        for label, key, icon, page, help in (
            ("Train on them", "train on pairs", ":material/model_training:", TRAIN, _TRAIN_HELP),
            (page_list.SHOULD_I, "advise on pairs", ":material/help:", PLANS, _ADVISE_HELP),
        ):
            open_it = partial(_keep_and_open, pairs, page)
            controls.callback_button(label, open_it, key=key, icon=icon, disabled=bool(refused), help=refused or help)
        controls.callback_button(
            "Use these pairs",
            partial(_keep_and_open, pairs, ""),
            key="use pairs",
            icon=":material/check:",
            help="Chooses them in the sidebar, and stays here.",
        )
    chosen = sidebar_choice.chosen().evaluation_set
    own = chosen.kind == sets.SetKind.UPLOADED and set_choice.on_this_disk(chosen)
    if own and cached_texts.graded_pairs(chosen).digest == pairs.digest:
        st.success(CHOSEN.format(messages.plain(chosen.title)), icon=":material/check:")


def _keep_and_open(pairs: text_sets.GradedPairs, page: str) -> None:
    """Keep the pairs, choose them in the sidebar, and open a page for them, if one is named."""
    given = sets.keep(pairs)
    sidebar.choose_set(given)
    if page:
        address = page_list.advise_on(given.written) if page == PLANS else {}
        page_list.open_page(page, page_list.train_on_own_pairs(given) if page == TRAIN else address)


def _split_in_words(pairs: text_sets.GradedPairs, split: splitting.Summary) -> str:
    """`**500 pairs** in 431 families: 250 in the dev half, 250 in the test half, …`."""
    words = SPLIT_PAIRS.format(counted(len(pairs), pairs.item), counted(split.families, "family"))
    if split.no_halves:
        return f"{words}."
    apart = APART
    words += f": {HALVES.format(split.sizes[splitting.DEV_HALF], split.sizes[splitting.TEST_HALF])}"
    if len(pairs) < corpora.FEW:
        words += f". {CROSS_FITTED}"
    elif not split.no_parts:
        words += (
            f". For training, the dev half is split again: train part {split.sizes[splitting.TRAIN_PART]:,}, "
            f"dev part {split.sizes[splitting.DEV_PART]:,}"
        )
        apart += PARTS_APART
    return f"{words}. {apart}."
