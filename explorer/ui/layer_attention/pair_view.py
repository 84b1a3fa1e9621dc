"""Show two sentences without a pooler: their cosine by layer, each layer's part of it, and self-attention."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from explorer import errors, in_words, run_folder
from explorer.data.text_sets import digest_of
from explorer.drawing.sentences import heatmaps as drawn
from explorer.drawing.sentences import pair_figures
from explorer.encoding.locate import layout
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read import parts
from explorer.measuring.scores.measure import Settings
from explorer.measuring.sentences import attention_weights, sentence_pair
from explorer.training.record import runs
from explorer.ui import messages
from explorer.ui.access import cached, sidebar_choice
from explorer.ui.frame import sidebar
from explorer.ui.runs import training_form
from explorer.ui.widgets import controls, downloads

if TYPE_CHECKING:
    from explorer.encoding.read.sentence_pairs import SelfAttention

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
HEADS_TITLE = "Self-attention by layer and head"
HEAD_FILE = "This head (CSV)"
OVERVIEW = "every head"
WIDE, SPECIAL = "tokens looked at", "share of special tokens"
SHOWN = "Layer {}, head {}: each row is a token; its attention weights sum to 1."
LEFT_OUT = "{:,} more tokens are not shown: this figure has at most {}."
CAUSAL = "No token attends to later tokens: this is a causal (left-to-right) model."
ALONE = "This model's tokenizer has no separator for two sentences, so each is encoded alone."


def show(found: Found, sentences: tuple[str, str], choice: sidebar_choice.Choice) -> None:
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
    sums = ", ".join(
        f"{in_words.number(pair.cosines[last, pair.poolings.index(name)], 3)} under {name}" for name in DRAWN
    )
    st.caption(
        f"Bars: each layer's contribution to the cosine of layer {last}; they sum to it ({sums}). A layer's update is "
        "its vector minus that of the layer below (layer 0: the embeddings). Contribution: inner product of the update "
        f"in one sentence with the other sentence's vector of layer {last}. It is averaged over both directions and "
        "divided by both lengths."
    )
    downloads.rows(sentence_pair.pair_rows(pair), f"{found.name} pair by layer", FILE)


@cached.by_stamp(lambda found, first, second, settings: (found.digest, digest_of((first, second)), settings), 32)
def pair_layers(_found: Found, _first: str, _second: str, _settings: Settings) -> sentence_pair.PairLayers:
    """Cosine of two sentences in each layer of an encoder."""
    return sentence_pair.pair_layers(cached.encoder(_found, _settings), _first, _second, _settings.max_length)


def _no_pooler(found: Found, choice: sidebar_choice.Choice) -> None:
    """What the page shows of such a model, and the ways to one with a pooler: the example that ships comes first."""
    st.info(NO_POOLER.format(messages.plain(found.name)), icon=":material/info:")
    other = sidebar_choice.model_b()
    with suppress(errors.StrataError):  # the sidebar and other pages say what is wrong with B
        if other is not None and has_pooler((of_b := cached.found(other.source)).folder):
            st.info(EXCHANGE.format(messages.plain(of_b.name)), icon=":material/swap_horiz:")
            st.button(
                "Exchange A and B",
                key="exchange for the pooler",
                type="primary",
                on_click=sidebar.exchange,
                args=(choice, other.source, other.reading),
            )
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
                "method": next(name for name, card in training_form.methods().items() if "pooler" in card.knobs)
            },
        )
    st.caption(PAPER)


def has_pooler(folder: Path) -> bool:
    """Whether a model has an attention pooler over its layers."""
    try:
        return any(
            module.kind == "LayerReading" and "attention" in parts.stated(module.folder / "config.json")
            for module in layout.modules(folder)
        )
    except errors.StrataError:
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


def folded_heads(found: Found, sentences: tuple[str, str]) -> None:
    """The weights in an expander; computed when it is opened, because that loads the model again."""
    fold = st.expander(HEADS_TITLE, icon=":material/grid_on:", key="open heads", on_change="rerun")
    if fold.open:
        with fold:
            try:
                show_heads(found, sentences)
            except errors.StrataError as error:
                messages.trouble(error)


def show_heads(found: Found, sentences: tuple[str, str]) -> None:
    """An overview of all heads, and the chosen head token by token."""
    if sidebar_choice.attending(found) is None:
        return
    inputs = _inputs(found)
    with st.container(horizontal=True):
        encoded_as: str = controls.segments("Encode the sentences", inputs, default=inputs[0], key="read")
        by: str = controls.segments("Colour of a head", (WIDE, SPECIAL), default=WIDE, key="heads")
    attention = self_attention(found, *sentences, encoded_as)
    # many tokens need the whole width
    few = len(attention.tokens) <= drawn.FEW
    left, right = st.columns([2, 3], gap="large") if few else (st.container(), st.container())
    with left:
        layer, head = _overview(attention, by)
    with right:
        downloads.draw(
            drawn.head_by_token(attention, layer, head),
            key="one head",
            config=downloads.config("self-attention"),
            alt=f"Layer {layer}, head {head}: attention weights between tokens. The file below has the numbers.",
        )
        texts, weights = [SHOWN.format(layer, head)], attention.weights
        if attention.left_out:
            texts.append(LEFT_OUT.format(attention.left_out, weights.shape[-1]))
        if weights.shape[-1] > 1 and not np.triu(weights, k=1).any():
            texts.append(CAUSAL)
        if len(inputs) == 2:
            texts.append(ALONE)
        st.caption(" ".join(texts))
        stem = f"{found.name} layer {layer} head {head}"
        downloads.rows(attention_weights.head_rows(attention, layer, head), stem, HEAD_FILE)


@cached.by_stamp(lambda found: found.digest, 32)
def _inputs(_found: Found) -> tuple[str, ...]:
    """How two sentences can be encoded for self-attention: as one input, or each alone."""
    from explorer.encoding.read import sentence_pairs

    return sentence_pairs.inputs(cached.attending(_found))


@cached.by_stamp(lambda found, first, second, encoded_as: (found.digest, digest_of((first, second)), encoded_as), 16)
def self_attention(_found: Found, _first: str, _second: str, _encoded_as: str) -> SelfAttention:
    """Attention weights between the tokens of two sentences, for every head of every layer."""
    from explorer.encoding.read import sentence_pairs

    return sentence_pairs.self_attention(cached.attending(_found), _first, _second, _encoded_as)


def _overview(attention: SelfAttention, by: str) -> tuple[int, int]:
    layers, count = attention.weights.shape[:2]

    def choose_clicked() -> None:  # runs before the page reruns
        place = controls.clicked_place(OVERVIEW)
        if place is not None:
            layer, head = divmod(place, count)
            st.session_state["layer"], st.session_state["head"] = str(layer + 1), str(head + 1)

    with st.container(horizontal=True):
        layer, head = (
            int(controls.menu(label, list(map(str, range(1, last + 1))), default="1", key=label.lower()))
            for label, last in (("Layer", layers), ("Head", count))
        )
    values = attention_weights.tokens_attended(attention.weights)
    if by == SPECIAL:
        values = attention_weights.share_on_special(attention.weights, attention.special)
    downloads.draw(
        drawn.every_head(values, by, (layer, head)),
        key=OVERVIEW,
        on_select=choose_clicked,
        selection_mode="points",
        config=downloads.config("self-attention"),
        alt=f"{by}, a cell for each layer and head. Choose a head with the fields above.",
    )
    st.caption(
        "Click a head, or choose it above. "
        + (
            "Tokens looked at: the effective number of tokens that a token attends to (exp of the entropy of its "
            f"weights), averaged. 1: one token each; {len(attention.tokens)}: all tokens equally."
            if by == WIDE
            else "Share of special tokens: the attention weight on tokens such as \\[CLS\\] and \\[SEP\\], averaged "
            "over tokens. 0 to 1; a high share often means that the head does little."
        )
    )
    return layer, head
