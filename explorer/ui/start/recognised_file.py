"""Say what an uploaded file holds and where it belongs, with a button to each page that can use it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import streamlit as st

from explorer.data import sources, uploads
from explorer.data.row_kinds import (
    BACK_TRANSLATIONS,
    DOCUMENTS,
    LABELLED_TEXTS,
    PAIRS,
    SCORED_PAIRS,
    SENTENCES,
    TRIPLETS,
    Kind,
)
from explorer.data.tables.columns import guess
from explorer.data.tables.table import Table
from explorer.ui import messages
from explorer.ui.access import evaluation_sets
from explorer.ui.frame import shortcuts, sidebar
from explorer.ui.start import own_pairs_steps
from explorer.ui.widgets import refused_clicks

LAYERS, TRAIN, SEARCH, MAP = "pages/layers.py", "pages/train.py", "pages/search.py", "pages/map.py"
KINDS = (SCORED_PAIRS, PAIRS, TRIPLETS, LABELLED_TEXTS, SENTENCES, BACK_TRANSLATIONS, DOCUMENTS)
ABOUT = {
    PAIRS: "The first text of each row is a query, the second one the passage that it has to find.",
    TRIPLETS: "The first text of each row means the same as the second one, and something else than the third.",
    LABELLED_TEXTS: "Each row is a text with the name of its class.",
    SENTENCES: "Each row is one text, without a score or a label: models cannot be scored on it.",
    BACK_TRANSLATIONS: "Each row is a sentence and its translation back from another language.",
    DOCUMENTS: "Each row is a text of many sentences.",
}
OTHERS = {  # endings of files that are no table
    "npy": "{} holds vectors. Type the path of the file on the Search or the Map page: vectors are not uploaded.",
    "npz": "{} holds several arrays. Save the vectors as one .npy file, and type its path on the Search or Map page.",
    "zip": "{} is an archive. If it is a model or a run, unpack it and type the path of the folder under "
    f"**{sidebar.FOLDED}** in the sidebar. If it has a table, upload the table.",
    "safetensors": "{} holds the weights of a model. Type the path of its folder, which has a config.json, under "
    f"**{sidebar.FOLDED}** in the sidebar.",
}


@dataclass(frozen=True)
class Use:
    """A page that can use a file: the words on the button, the icon, and what a click sets."""

    label: str
    icon: str
    page: str
    choose: Callable[[str], dict[str, str]]


def told_of_other(name: str) -> bool:
    """Whether a file is no table; then say where it belongs."""
    ending = name.rpartition(".")[2].lower()
    if ending not in OTHERS:
        return False
    st.info(OTHERS[ending].format(messages.plain(name)), icon=":material/folder_open:")
    return True


def kind_chosen(table: Table, recognised: Kind) -> Kind:
    """What the file holds, to be corrected if it was not recognised."""
    titles = {kind.title: kind for kind in KINDS}
    chosen: str = st.selectbox(
        f"{table.name} holds",
        list(titles),
        index=KINDS.index(recognised),
        key=f"holds {table.name}",
        width=300,
        help="As recognised by the names and the content of its columns. Choose another kind if this is wrong.",
    )
    return titles[chosen]


def show(name: str, data: bytes, table: Table, kind: Kind) -> None:
    """What is in a file without scores, its first rows, and the pages that use it."""
    roles = guess(table, kind)
    used = ", ".join(f"{column} ({role})" for role in kind.roles if (column := roles.column(role)))
    st.markdown(f"**{len(table.rows):,} rows of {kind.title}**: {messages.plain(used)}. {ABOUT[kind]}")
    st.dataframe(
        [dict(zip(table.columns, row, strict=True)) for row in table.rows[: own_pairs_steps.PREVIEW]], hide_index=True
    )
    with st.container(horizontal=True):
        for place, use in enumerate(_uses(kind)):
            st.button(
                use.label,
                key=f"file to {use.page}",
                icon=use.icon,
                type="primary" if place == 0 else "secondary",
                on_click=partial(_open, name, data, use),
            )
    st.caption("The file is kept on this machine, and every page offers it.")


def _uses(kind: Kind) -> list[Use]:
    """The pages for a kind of rows, the most likely one first."""
    layers = Use("Find the best layer for it", ":material/layers:", LAYERS, _evaluate)
    train = Use("Train on it", ":material/model_training:", TRAIN, partial(shortcuts.train_on_file, kind=kind))
    search = Use("Search in it", ":material/search:", SEARCH, lambda path: {"corpus": sources.label(path)})
    mapped = Use("Map it", ":material/scatter_plot:", MAP, lambda path: {"mapped": "a file", "map_file": path})
    if kind in (BACK_TRANSLATIONS, DOCUMENTS):
        return [train, search]
    return [layers, train, search, mapped] if kind in evaluation_sets.SCORED else [train, search, mapped]


def _evaluate(path: str) -> dict[str, str]:
    sidebar.choose_set(sources.identity(path))
    return {}


def _open(name: str, data: bytes, use: Use) -> None:
    """Keep the file, set what the page needs, and remember where to go."""

    def keep() -> None:
        path = uploads.keep(name, data)
        own_pairs_steps.lead_to(use.page, use.choose(path))

    refused_clicks.attempt(keep)
