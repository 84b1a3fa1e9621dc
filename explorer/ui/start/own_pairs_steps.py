"""Show how uploaded pairs are split, keep them, and lead to the Layers and the Train page with them."""

from __future__ import annotations

import streamlit as st

from explorer.data.graded import user_sets
from explorer.data.graded.set_identity import SetKind
from explorer.data.kinds import GradedPairs
from explorer.data.splitting import DEV_HALF, DEV_PART, TEST_HALF, TRAIN_PART, Summary
from explorer.ui import messages
from explorer.ui.access import availability, cached_text, sidebar_choice
from explorer.ui.frame import shortcuts, sidebar
from explorer.ui.widgets import refused_clicks

LAYERS, TRAIN = "pages/layers.py", "pages/train.py"
PAIRS = "**{:,} pairs** in {:,} families (pairs that share a sentence stay together)"
HALVES = "{:,} in the dev half, {:,} in the test half"
CHOSEN = "Kept on this machine and chosen in the sidebar: {}."
# rows of a file that are shown, so that a wrong column is seen
PREVIEW = 5
_NEXT = "_page after the upload"
_LAYERS_HELP = (
    "Without halves, the best layer & pooling is chosen on the pairs it is scored on.",
    "The best layer & pooling is chosen on the dev half and reported on the test half.",
)
_TRAIN_HELP = "Train on the train part, choose the best checkpoint on the dev part, report on the test half."


def go_on() -> None:
    """Open the page that the last click asked for, or show why it cannot open; call it first in the form."""
    refused_clicks.refused()
    page, address = st.session_state.pop(_NEXT, (None, {}))
    if page is not None:
        # with none named, Streamlit tries to clear all parameters, and refuses those that widgets are bound to
        st.switch_page(page, query_params=address)


def lead_to(page: str, address: dict[str, str]) -> None:
    """Open a page in the next run; only in a callback."""
    st.session_state[_NEXT] = page, address


def offer(pairs: GradedPairs) -> None:
    """What the pairs are split into, and what can be done with them."""
    split = cached_text.split_summary(pairs)
    st.markdown(_told(pairs, split))
    if split.no_halves or split.no_parts:
        st.warning(messages.plain(split.no_halves or split.no_parts), icon=":material/call_split:")
    with st.container(horizontal=True):
        st.button(
            "Find the best layer on them",
            key="find best layer",
            type="primary",
            icon=":material/layers:",
            on_click=_open,
            args=(pairs, LAYERS),
            help=_LAYERS_HELP[not split.no_halves],
        )
        st.button(
            "Train on them",
            key="train on pairs",
            icon=":material/model_training:",
            on_click=_open,
            args=(pairs, TRAIN),
            disabled=bool(split.no_parts),
            help=messages.plain(split.no_parts) if split.no_parts else _TRAIN_HELP,
        )
        st.button(
            "Use these pairs",
            key="use pairs",
            icon=":material/check:",
            on_click=_open,
            args=(pairs, ""),
            help="Chooses them in the sidebar, and stays here.",
        )
    chosen = sidebar_choice.chosen().sts
    own = chosen.kind == SetKind.UPLOADED and availability.on_this_disk(chosen)
    if own and cached_text.graded_pairs(chosen).digest == pairs.digest:
        st.success(CHOSEN.format(messages.plain(chosen.title)), icon=":material/check:")


def _told(pairs: GradedPairs, split: Summary) -> str:
    """`**500 pairs** in 431 families: 250 in the dev half, 250 in the test half, …`."""
    told = PAIRS.format(len(pairs), split.families)
    if split.no_halves:
        return f"{told}."
    told += f": {HALVES.format(split.sizes[DEV_HALF], split.sizes[TEST_HALF])}"
    if not split.no_parts:
        told += (
            f". For training, the dev half is split again: train part {split.sizes[TRAIN_PART]:,}, "
            f"dev part {split.sizes[DEV_PART]:,}"
        )
    return f"{told}. No sentence is in two of them."


def _open(pairs: GradedPairs, page: str) -> None:
    """Keep the pairs, choose them, and remember where to go."""

    def keep() -> None:
        given = user_sets.keep(pairs)
        sidebar.choose_set(given)
        if page:
            lead_to(page, shortcuts.train_on_own_pairs(given) if page == TRAIN else {})

    refused_clicks.attempt(keep)
