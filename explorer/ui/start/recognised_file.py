"""Say what an uploaded file holds, and offer the pages that can use it, after it is kept on this machine."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import streamlit as st

from explorer.data import sources, text_sets, uploads
from explorer.data.graded import sets
from explorer.data.graded.sets import SetKind
from explorer.data.splitting import DEV_HALF, DEV_PART, TEST_HALF, TRAIN_PART, Summary
from explorer.data.tables.columns import guess
from explorer.data.tables.table import Table
from explorer.data.text_sets import GradedPairs
from explorer.ui import messages
from explorer.ui.access import cached_text, sidebar_choice
from explorer.ui.frame import page_list, shortcuts, sidebar
from explorer.ui.widgets import clicks

LAYERS, TRAIN, SEARCH, MAP = "pages/layers.py", "pages/train.py", "pages/search.py", "pages/map.py"
SPLIT_PAIRS = "**{:,} pairs** in {:,} families (pairs that share a sentence stay together)"
HALVES = "{:,} in the dev half, {:,} in the test half"
CHOSEN = "Kept on this machine and chosen in the sidebar: {}."
# rows of a file that are shown, so that a wrong column is seen
PREVIEW = 5
_LAYERS_HELP = (
    "Without halves, the best layer & pooling is chosen on the pairs it is scored on.",
    "The best layer & pooling is chosen on the dev half and reported on the test half.",
)
_TRAIN_HELP = "Train on the train part, choose the best checkpoint on the dev part, report on the test half."
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
    text_sets.PAIRS: "The first text of each row is a query, the second one the passage that it has to find.",
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


@dataclass(frozen=True)
class Use:
    """A page that can use a file: the words on the button, the icon, and what a click sets."""

    label: str
    icon: str
    page: str
    choose: Callable[[str], dict[str, str]]


def is_no_table(name: str) -> bool:
    """Whether a file is no table; then a message says where it belongs."""
    ending = name.rpartition(".")[2].lower()
    if ending not in OTHERS:
        return False
    st.info(OTHERS[ending].format(messages.plain(name)), icon=":material/folder_open:")
    return True


def kind_chosen(table: Table, recognised: text_sets.Kind) -> text_sets.Kind:
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


def show(name: str, data: bytes, table: Table, kind: text_sets.Kind) -> None:
    """What is in a file without scores, its first rows, and the pages that use it."""
    roles = guess(table, kind)
    used = ", ".join(f"{column} ({role})" for role in kind.roles if (column := roles.column(role)))
    st.markdown(f"**{len(table.rows):,} rows of {kind.title}**: {messages.plain(used)}. {ABOUT[kind]}")
    st.dataframe([dict(zip(table.columns, row, strict=True)) for row in table.rows[:PREVIEW]], hide_index=True)
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


def _uses(kind: text_sets.Kind) -> list[Use]:
    """The pages for a kind of rows, the most likely one first."""
    layers = Use("Find the best layer for it", ":material/layers:", LAYERS, _evaluate)
    train = Use("Train on it", ":material/model_training:", TRAIN, partial(shortcuts.train_on_file, kind=kind))
    search = Use("Search in it", ":material/search:", SEARCH, lambda path: {"corpus": sources.label(path)})
    mapped = Use("Map it", ":material/scatter_plot:", MAP, lambda path: {"mapped": "a file", "map_file": path})
    if kind in (text_sets.BACK_TRANSLATIONS, text_sets.DOCUMENTS):
        return [train, search]
    return [layers, train, search, mapped] if kind in sidebar_choice.SCORED else [train, search, mapped]


def _evaluate(path: str) -> dict[str, str]:
    sidebar.choose_set(sources.identity(path))
    return {}


def _open(name: str, data: bytes, use: Use) -> None:
    """Keep the file, set what the page needs, and remember where to go."""

    def keep() -> None:
        path = uploads.keep(name, data)
        page_list.open_page(use.page, use.choose(path))

    clicks.attempt(keep)


def offer_pairs(pairs: GradedPairs) -> None:
    """What the pairs are split into, and what can be done with them."""
    split = cached_text.split_summary(pairs)
    st.markdown(_split_in_words(pairs, split))
    if split.no_halves or split.no_parts:
        st.warning(messages.plain(split.no_halves or split.no_parts), icon=":material/call_split:")
    with st.container(horizontal=True):
        st.button(
            "Find the best layer on them",
            key="find best layer",
            type="primary",
            icon=":material/layers:",
            on_click=_keep_and_open,
            args=(pairs, LAYERS),
            help=_LAYERS_HELP[not split.no_halves],
        )
        st.button(
            "Train on them",
            key="train on pairs",
            icon=":material/model_training:",
            on_click=_keep_and_open,
            args=(pairs, TRAIN),
            disabled=bool(split.no_parts),
            help=messages.plain(split.no_parts) if split.no_parts else _TRAIN_HELP,
        )
        st.button(
            "Use these pairs",
            key="use pairs",
            icon=":material/check:",
            on_click=_keep_and_open,
            args=(pairs, ""),
            help="Chooses them in the sidebar, and stays here.",
        )
    chosen = sidebar_choice.chosen().evaluation_set
    own = chosen.kind == SetKind.UPLOADED and sidebar_choice.on_this_disk(chosen)
    if own and cached_text.graded_pairs(chosen).digest == pairs.digest:
        st.success(CHOSEN.format(messages.plain(chosen.title)), icon=":material/check:")


def _split_in_words(pairs: GradedPairs, split: Summary) -> str:
    """`**500 pairs** in 431 families: 250 in the dev half, 250 in the test half, …`."""
    words = SPLIT_PAIRS.format(len(pairs), split.families)
    if split.no_halves:
        return f"{words}."
    words += f": {HALVES.format(split.sizes[DEV_HALF], split.sizes[TEST_HALF])}"
    if not split.no_parts:
        words += (
            f". For training, the dev half is split again: train part {split.sizes[TRAIN_PART]:,}, "
            f"dev part {split.sizes[DEV_PART]:,}"
        )
    return f"{words}. No sentence is in two of them."


def _keep_and_open(pairs: GradedPairs, page: str) -> None:
    """Keep the pairs, choose them, and remember where to go."""

    def keep() -> None:
        given = sets.keep(pairs)
        sidebar.choose_set(given)
        if page:
            page_list.open_page(page, shortcuts.train_on_own_pairs(given) if page == TRAIN else {})

    clicks.attempt(keep)
