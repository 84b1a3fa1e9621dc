"""Ask for two sentences, and show their cosine by layer and what each layer contributes, without a pooler."""

from pathlib import Path

import streamlit as st

from explorer import run_folder
from explorer.data.text_sets import digest_of
from explorer.drawing.sentences import pair_figures
from explorer.encoding.locate import layout, model_names
from explorer.encoding.read import parts
from explorer.errors import StrataError
from explorer.measuring.scores.measure import Settings
from explorer.measuring.sentences import sentence_pair as measured
from explorer.measuring.sentences.sentence_pair import pair_rows
from explorer.training.record import runs
from explorer.ui import messages
from explorer.ui.access import cached, method_cards, sidebar_choice
from explorer.ui.access.cached_text import by_stamp
from explorer.ui.frame import sidebar
from explorer.ui.widgets import downloads

DRAWN = ("cls", "mean")
TITLE = "Cosine by layer"
FILE = "Cosines and contributions (CSV)"
NO_POOLER = (
    "{} has no pooler over its layers. Below: the cosine by layer and its heads' self-attention. To see layer weights, "
    "open or train a model with a pooler."
)
PAPER = (
    "A pooler weighs the layers of each sentence. Oh and others (2022, Figure 3) find the highest weight on the last "
    "layer if its \\[CLS\\] is a part of the vector, different for a short and a long sentence, and balanced weights "
    "if it is not. A pooler begins with uniform weights. On the included encoder, 200 steps at the paper's learning "
    "rate, 2e-5, leave them nearly uniform; 1e-3 does not. The included example shows such weights. As an encoder it "
    "is no better than its base."
)
EXCHANGE = "Model B, {}, has a pooler over its layers. Exchange A and B to see its layer weights."
SETTINGS = "Settings of the example"
MOST = 5  # models that are offered
# those of Figure 3 of Oh, Kim, Lee, Huang and Lim 2022
SHORT = "You should do it."
LONG = "People on motorcycles wearing racing gear ride around a racetrack."
LONGEST = 4000  # characters, far more than an encoder's maximum length


def show(found: model_names.Found, sentences: tuple[str, str], choice: sidebar_choice.Choice) -> None:
    """Cosines by layer, and each layer's contribution to the last layer's cosine."""
    _no_pooler(found, choice)
    pair = pair_layers(found, *sentences, choice.settings)
    messages.warn_of_cuts(sentences, pair.cut, pair.max_length)
    st.subheader(TITLE)
    downloads.draw(
        pair_figures.cosines_and_contributions(pair, DRAWN),
        key="pair by layer",
        config=downloads.config("pair-by-layer"),
        alt="The cosine of the two sentences by layer, under cls and mean, and each layer's contribution to the cosine "
        "of the last layer. The file below has the numbers.",
    )
    last = len(pair.cosines) - 1
    sums = ", ".join(f"{pair.cosines[last, pair.poolings.index(name)]:.3f} under {name}" for name in DRAWN)
    st.caption(
        f"Bars: each layer's contribution to the cosine of layer {last}; they sum to it ({sums}). A layer's update is "
        "its vector minus that of the layer below (layer 0: the embeddings). Contribution: inner product of the update "
        f"in one sentence with the other sentence's vector of layer {last}. It is averaged over both directions and "
        "divided by both lengths."
    )
    downloads.rows(pair_rows(pair), f"{found.name} pair by layer", FILE)


@by_stamp(lambda found, first, second, settings: (found.digest, digest_of((first, second)), settings), 32)
def pair_layers(_found: model_names.Found, _first: str, _second: str, _settings: Settings) -> measured.PairLayers:
    """Cosine of two sentences in each layer of an encoder."""
    return measured.pair_layers(cached.encoder(_found, _settings), _first, _second, _settings.max_length)


def _no_pooler(found: model_names.Found, choice: sidebar_choice.Choice) -> None:
    """What the page shows of such a model, and the ways to one with a pooler: the example that ships comes first."""
    st.info(NO_POOLER.format(messages.plain(found.name)), icon=":material/info:")
    _offer_exchange(choice)
    shipped = [run for run in runs.examples() if has_pooler(run.model)]
    own = [run for run in runs.every() if has_pooler(run.model)]
    with st.container(horizontal=True, vertical_alignment="center"):
        for run in [*shipped, *own][:MOST]:
            st.button(
                f"Open {messages.plain(run.name)}",
                key=f"open {run.name}",
                type="primary" if run in shipped else "secondary",
                icon=":material/layers:",
                on_click=sidebar.choose_encoder,
                args=(run_folder.model_name(run.name),),
                help="A run whose model has a pooler over its layers.",
            )
        for run in shipped:
            st.page_link(
                "pages/train.py",
                label=SETTINGS,
                icon=":material/settings:",
                query_params={"run": run.name},
                help="The run's page: train it again, or duplicate and edit its settings.",
            )
        st.page_link(
            "pages/train.py",
            label="Train a pooler over layers",
            icon=":material/model_training:",
            query_params={
                "method": next(name for name, card in method_cards.methods().items() if "pooler" in card.knobs)
            },
        )
    st.caption(PAPER)


def _offer_exchange(choice: sidebar_choice.Choice) -> None:
    """If B has a pooler and A has none: say so, and exchange the two by a click."""
    other = sidebar_choice.model_b()
    if other is None:
        return
    try:
        found = cached.found(other.source)
    except StrataError:
        return  # the sidebar and other pages say what is wrong with it
    if has_pooler(found.folder):
        st.info(EXCHANGE.format(messages.plain(found.name)), icon=":material/swap_horiz:")
        st.button(
            "Exchange A and B",
            key="exchange for the pooler",
            type="primary",
            on_click=sidebar.exchange,
            args=(choice, other.source, other.reading),
        )


def has_pooler(folder: Path) -> bool:
    """Whether a model has an attention pooler over its layers."""
    try:
        return any(
            module.kind == "LayerReading" and "attention" in parts.stated(module.folder / "config.json")
            for module in layout.modules(folder)
        )
    except StrataError:
        return False


def sentences() -> tuple[str, str] | None:
    """The two sentences, by default the paper's; None, with a message, if one is empty."""
    left, right = st.columns(2, gap="medium")
    one, other = (
        box.text_area(label, text, height=80, max_chars=LONGEST, key=label, persist_state="session").strip()
        for box, label, text in ((left, "One sentence", SHORT), (right, "Another sentence", LONG))
    )
    if not one or not other:
        st.info("Type a sentence in both boxes.", icon=":material/edit:")
        return None
    return one, other
