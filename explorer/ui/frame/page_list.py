"""List the pages, with the question each answers and its place in the menu, and open one with its controls set."""

from dataclasses import dataclass

import streamlit as st

from explorer import run_folder
from explorer.data import corpora, sample, sources, text_sets
from explorer.data.graded import sets
from explorer.training.record import run_results, runs
from explorer.ui.access import cached_texts
from explorer.ui.frame import sidebar
from explorer.ui.runs import training_form

_OPENS = "_page to open"
ADVISE = "advise"  # in the address of the Plans page: the text
SHOULD_I = "Should I fine-tune?"


@dataclass(frozen=True)
class PageEntry:
    """One page of the menu; its address is its name."""

    name: str  # of its file in `pages`
    title: str
    symbol: str  # of Material
    purpose: str  # one line under the title
    group: str = ""
    scores: bool = True  # whether it uses layer & pooling, model B and evaluation set of the sidebar
    judges: bool = False  # whether it judges B against A, which takes a test set

    @property
    def file(self) -> str:
        """Where the page is."""
        return f"pages/{self.name}.py"

    @property
    def icon(self) -> str:
        """Its icon, as Streamlit names it."""
        return f":material/{self.symbol}:"


EXPLORE, TUNE, COMPARE = "Explore", "Fine-tune", "Compare"

PAGES = (
    PageEntry(
        "start",
        "Start",
        "home",
        "Which differences in meaning does a sentence encoder notice? Everything runs on this machine; nothing is sent "
        "anywhere.",
    ),
    PageEntry(
        "layers",
        "Layers",
        "layers",
        "Which layer & pooling is best on your evaluation set, and how sure is it?",
        EXPLORE,
    ),
    PageEntry(
        "sentences",
        "Sentences",
        "notes",
        "How similar are your sentences, and which differences in meaning does the model notice?",
        EXPLORE,
    ),
    PageEntry(
        "map", "Map", "scatter_plot", "Which sentences are close together, and which moved from A to B?", EXPLORE
    ),
    PageEntry(
        "search",
        "Search",
        "search",
        "Which sentences are nearest to a query, and how do the results of A and B differ?",
        EXPLORE,
    ),
    PageEntry(
        "layer_attention", "Layer attention", "hub", "Which layers and tokens decide the vector of a sentence?", EXPLORE
    ),
    PageEntry(
        "train",
        "Train",
        "model_training",
        "Fine-tune a copy of a model with any published method, and test whether it became better.",
        TUNE,
        scores=False,
    ),
    PageEntry(
        "plans",
        "Plans",
        "checklist",
        "Which of several methods or settings is best, by how much over the base, and at what cost?",
        TUNE,
        scores=False,
    ),
    PageEntry(
        "replay", "Runs & replay", "replay", "Which runs are there, and what changed in one, step by step?", TUNE
    ),
    PageEntry(
        "compare",
        "Compare",
        "compare_arrows",
        "What changed from A to B, how sure is it, and where?",
        COMPARE,
        judges=True,
    ),
    PageEntry(
        "results",
        "Results",
        "leaderboard",
        "How do all models score on all tasks, and which of them really differ?",
        COMPARE,
        scores=False,
    ),
    PageEntry(
        "size",
        "Size & quality",
        "compress",
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


def open_requested_page() -> None:
    """Open the page that the last click asked for."""
    if opened := st.session_state.pop(_OPENS, None):
        page, address = opened
        # {}, too: with none named, Streamlit tries to clear all parameters, and refuses those that widgets are bound to
        st.switch_page(page, query_params=address)


def compare_with_base(run: runs.Run) -> None:
    """The base of a run as A, its model as B, each under its model default, on the run's test set.

    Rows that the run held out for it, or cross-fitted, are a set with a name. The base stays the model that is trained
    next.
    """
    facts = run.status().facts
    if facts.model:
        sidebar.choose_encoder(facts.model)
    sidebar.choose_model_b(run_folder.model_name(run.name))
    sidebar.choose_for_both()
    own_rows = run_results.test_rows_of(run)
    labelled = any(one.classes for one in run.status().results)
    tests = [facts.set_of(use) for use in ("test", "dev") if facts.set_of(use)]
    # probe packs are on the Compare page whatever the set is
    unnamed = [one for one in tests if one.is_own_rows or one.name == sample.PROBE_PACKS]
    own = [own_rows] if own_rows and (not tests or tests[0] in unnamed or labelled) else []
    for chosen in (*own, *(one for one in tests if one not in unnamed))[:1]:
        sidebar.choose_set(chosen)


def train_on_own_pairs(given: sets.SetIdentity) -> dict[str, str]:
    """Fill the form of the Train page: an own set as text, or its train part, with the sets and the method that fit.

    Returns what the address says of it, for a reload.
    """
    part = training_text(given).written
    method = _fill(part, text_sets.SCORED_PAIRS, len(text_sets.SCORED_PAIRS.texts))
    sidebar.choose_set(given)
    return {training_form.SOURCES: part} | method


def training_text(given: sets.SetIdentity) -> sets.SetIdentity:
    """What is trained on of own pairs: few of them as a whole, since each is judged; of more the train part."""
    return given if corpora.LEAST <= len(cached_texts.graded_pairs(given)) < corpora.FEW else sets.parts(given)[0]


def why_not_trained_on(given: sets.SetIdentity) -> str:
    """Why nothing of own pairs can be trained on and judged; "" if it can."""
    text = training_text(given)
    return cached_texts.why_not_split(given, text.piece) if text.piece else ""


def train_on_file(path: str, kind: text_sets.Kind) -> dict[str, str]:
    """Fill the form of the Train page: a file as text, its dev and test set, and the method that fits its rows.

    Returns what the address says of it, for a reload.
    """
    found, texts, rows = cached_texts.kind_of(sources.texts((path,)))
    method = _fill(path, kind, texts if found == kind else len(kind.texts), rows)
    return {training_form.SOURCES: sources.label(path)} | method


def train_smaller(source: str, layers: int) -> dict[str, str]:
    """Fill the form of the Train page: the sidebar's model teaches its first layers on a text.

    Returns what the address says of it, for a reload.
    """
    method = training_form.smaller()
    training_form.leave()
    training_form.choose_text([source])
    training_form.follow_text()
    st.session_state[training_form.METHOD], st.session_state[training_form.METHOD_BY_HAND] = method, True
    st.session_state[training_form.knob_key(method, training_form.LAYERS)] = layers
    return {training_form.SOURCES: sources.label(source), training_form.METHOD: method}


def advise_on(source: str) -> dict[str, str]:
    """What the address of the Plans page says to ask whether to fine-tune on a text."""
    return {ADVISE: sources.label(source)}


def offer_advice(chosen: tuple[sets.SetIdentity, ...]) -> None:
    """A button that asks whether to fine-tune on the text at all."""
    if len(chosen) == 1:
        st.button(
            SHOULD_I,
            key="advise on text",
            icon=":material/help:",
            on_click=open_page,
            args=(named("plans").file, advise_on(str(chosen[0]))),
            help="Tries the methods that fit this text within a time limit, and answers whether the model becomes "
            "better.",
        )


def _fill(source: str, kind: text_sets.Kind, texts: int, rows: int = 0) -> dict[str, str]:
    """Set the text and the method that fits its rows; returns what the address says of the method."""
    from explorer.methods import suggested

    training_form.leave()
    training_form.choose_text([source])
    training_form.follow_text()
    training_form.methods()  # with a message, since the first call loads torch
    method = suggested(kind, texts, rows)
    if not method:
        return {}
    st.session_state[training_form.METHOD] = method
    st.session_state[training_form.METHOD_BY_HAND] = False
    return {training_form.METHOD: method}
