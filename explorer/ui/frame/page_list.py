"""List the pages: file, title, the question each answers, its group in the menu, and its controls; open one of them."""

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

_OPENS = "_page to open"


@dataclass(frozen=True)
class PageEntry:
    """One page of the menu; its address is its file name."""

    file: str
    title: str
    icon: str
    purpose: str  # one line under the title
    group: str = ""
    scores: bool = True  # whether it uses layer & pooling, model B and evaluation set of the sidebar

    @property
    def name(self) -> str:
        """The last part of its address."""
        return Path(self.file).stem


EXPLORE, TUNE, COMPARE = "Explore", "Fine-tune", "Compare"

PAGES = (
    PageEntry(
        "pages/start.py",
        "Start",
        ":material/home:",
        "Score every layer & pooling of a sentence encoder, fine-tune it, and see what changed. Everything runs on "
        "this machine; nothing is sent anywhere, and no GPU is needed.",
    ),
    PageEntry(
        "pages/layers.py",
        "Layers",
        ":material/layers:",
        "Which layer & pooling is best on your evaluation set, and how sure is it?",
        EXPLORE,
    ),
    PageEntry(
        "pages/sentences.py",
        "Sentences",
        ":material/notes:",
        "How similar are your sentences, and which differences in meaning does the model notice?",
        EXPLORE,
    ),
    PageEntry(
        "pages/map.py",
        "Map",
        ":material/scatter_plot:",
        "Which sentences are close together, and which moved from A to B?",
        EXPLORE,
    ),
    PageEntry(
        "pages/search.py",
        "Search",
        ":material/search:",
        "Which sentences are nearest to a query, and how do the results of A and B differ?",
        EXPLORE,
    ),
    PageEntry(
        "pages/layer_attention.py",
        "Layer attention",
        ":material/hub:",
        "Which layers and tokens decide the vector of a sentence?",
        EXPLORE,
    ),
    PageEntry(
        "pages/train.py",
        "Train",
        ":material/model_training:",
        "Fine-tune a copy of a model with any published method, and test whether it became better.",
        TUNE,
        scores=False,
    ),
    PageEntry(
        "pages/plans.py",
        "Plans",
        ":material/checklist:",
        "Which of several methods or settings is best, by how much over the base, and at what cost?",
        TUNE,
        scores=False,
    ),
    PageEntry(
        "pages/replay.py",
        "Runs & replay",
        ":material/replay:",
        "Which runs are there, and what changed in one, step by step?",
        TUNE,
    ),
    PageEntry(
        "pages/compare.py",
        "Compare",
        ":material/compare_arrows:",
        "What changed from A to B, how sure is it, and where?",
        COMPARE,
    ),
    PageEntry(
        "pages/results.py",
        "Results",
        ":material/leaderboard:",
        "How do all models score on all tasks, and which of them really differ?",
        COMPARE,
        scores=False,
    ),
    PageEntry(
        "pages/size.py",
        "Size & quality",
        ":material/compress:",
        "How many layers, dimensions and bits can an encoder do without, and what is gained?",
        COMPARE,
    ),
)


def named(address: str) -> PageEntry:
    """The page of an address; the first page's is empty."""
    return next((page for page in PAGES if page.name == address), PAGES[0])


def open_page(file: str, address: dict[str, str] | None = None) -> None:
    """Open a page in the next run, with what its address says; in a callback, which cannot leave a page itself."""
    st.session_state[_OPENS] = file, address or {}


def go_on() -> None:
    """Open the page that the last click asked for."""
    if opened := st.session_state.pop(_OPENS, None):
        page, address = opened
        # {}, too: with none named, Streamlit tries to clear all parameters, and refuses those that widgets are bound to
        st.switch_page(page, query_params=address)
