"""Show two sentences in a model without a pooler: their cosine by layer, each layer's part of it, self-attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from explorer import in_words
from explorer.data.text_sets import digest_of
from explorer.drawing.sentences import heatmaps as drawn
from explorer.drawing.sentences import pair_figures
from explorer.encoding.locate import layout
from explorer.encoding.locate.model_names import Found
from explorer.measuring.scores.measure import Settings
from explorer.measuring.sentences import attention_weights, sentence_pair
from explorer.ui import messages
from explorer.ui.access import cached_texts, loaded_encoders, sidebar_choice
from explorer.ui.layer_attention.shown_sides import Side, shown_name
from explorer.ui.widgets import controls, downloads

if TYPE_CHECKING:
    from explorer.encoding.read.sentence_pairs import SelfAttention

DRAWN = ("cls", "mean")
FILE = "Cosines and contributions of {} (CSV)"
HEIGHT = 390  # pixels
ADDS_MOST = "{}: layer {} contributes most, {} of the cosine {} (mean)."
WITHOUT_LAYERS = (
    "{} is static embeddings, without layers and attention: its cosine is that of the means of token vectors."
)
BARS = (
    "Bars: each layer's contribution to the cosine of layer {}; they sum to it ({}). A layer's update is its vector "
    "minus that of the layer below (layer 0: the embeddings). Contribution: inner product of the update in one "
    "sentence with the other sentence's vector of layer {}, averaged over both directions and divided by both lengths."
)
HEADS_TITLE = "Self-attention"
HEAD_FILE = "This head (CSV)"
OVERVIEW = "every head"
WIDE, SPECIAL = "tokens looked at", "share of special tokens"
SHOWN = "Layer {}, head {}: each row is a token; its attention weights sum to 1."
LEFT_OUT = "{:,} more tokens are not shown: this figure has at most {}."
CAUSAL = "No token attends to later tokens: this is a causal (left-to-right) model."
ALONE = "This model's tokenizer has no separator for two sentences, so each is encoded alone."


def answer(side: Side, sentences: tuple[str, str]) -> str:
    """Which layer contributes most to the cosine of the last layer, under mean; or that the model has no layers."""
    if layout.is_static(side.found.folder):
        return WITHOUT_LAYERS.format(side.name)
    pair = pair_layers(side.found, *sentences, side.choice.settings)
    contributions = pair.contributions[:, pair.poolings.index("mean")]
    if not np.isfinite(contributions).all():
        return ""
    most, last = int(np.argmax(np.abs(contributions))), float(pair.cosines[-1, pair.poolings.index("mean")])
    cosine, part = in_words.cosine(last), in_words.signed(contributions[most])
    return ADDS_MOST.format(side.name, most, part, cosine)


def span(sides: Sequence[Side], sentences: tuple[str, str]) -> tuple[float, float]:
    """The least and the largest contribution of a layer on any side: all figures have one scale."""
    every = [0.0]
    for side in sides:
        if not side.has_pooler:
            pair = pair_layers(side.found, *sentences, side.choice.settings)
            shown = pair.contributions[:, [pair.poolings.index(name) for name in DRAWN]]
            every += shown[np.isfinite(shown)].tolist()
    return min(every), max(every)


def figure(side: Side, sentences: tuple[str, str], span: tuple[float, float]) -> None:
    """Cosines by layer, and each layer's contribution to the last layer's cosine, on a scale from least to largest."""
    pair = pair_layers(side.found, *sentences, side.choice.settings)
    messages.warn_of_cuts(sentences, pair.cut, pair.max_length)
    last = len(pair.cosines) - 1
    sums = ", ".join(
        f"{in_words.cosine(pair.cosines[last, pair.poolings.index(name)], 3)} under {name}" for name in DRAWN
    )
    st.markdown(f"**{side.name}** {messages.plain(shown_name(side))}", help=BARS.format(last, sums, last))
    downloads.draw(
        pair_figures.cosines_and_contributions(pair, DRAWN, span),
        height=HEIGHT,
        key=f"pair by layer {side.name}",
        config=downloads.config("pair-by-layer"),
        alt="The cosine of the two sentences by layer, under cls and mean, and each layer's contribution to the cosine "
        "of the last layer. The file below has the numbers.",
    )


def file(side: Side, sentences: tuple[str, str]) -> None:
    """The numbers of the figure."""
    pair = pair_layers(side.found, *sentences, side.choice.settings)
    downloads.rows(
        sentence_pair.pair_rows(pair), f"{side.name} {side.found.name} pair by layer", FILE.format(side.name)
    )


@cached_texts.by_stamp(lambda found, first, second, settings: (found.digest, digest_of((first, second)), settings), 32)
def pair_layers(_found: Found, _first: str, _second: str, _settings: Settings) -> sentence_pair.PairLayers:
    """Cosine of two sentences in each layer of an encoder."""
    return sentence_pair.pair_layers(loaded_encoders.encoder(_found, _settings), _first, _second, _settings.max_length)


def show_heads(model: Found, sentences: tuple[str, str]) -> None:
    """An overview of all heads, and the chosen head token by token."""
    if sidebar_choice.attending(model) is None:
        return
    inputs = _inputs(model)
    with st.container(horizontal=True):
        encoded_as: str = controls.segments("Encode the sentences", inputs, default=inputs[0], key="read")
        by: str = controls.segments("Colour of a head", (WIDE, SPECIAL), default=WIDE, key="heads")
    attention = self_attention(model, *sentences, encoded_as)
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
        stem = f"{model.name} layer {layer} head {head}"
        downloads.rows(attention_weights.head_rows(attention, layer, head), stem, HEAD_FILE)


@cached_texts.by_stamp(lambda found: found.digest, 32)
def _inputs(_found: Found) -> tuple[str, ...]:
    """How two sentences can be encoded for self-attention: as one input, or each alone."""
    from explorer.encoding.read import sentence_pairs

    return sentence_pairs.inputs(loaded_encoders.attending(_found))


@cached_texts.by_stamp(
    lambda found, first, second, encoded_as: (found.digest, digest_of((first, second)), encoded_as), 16
)
def self_attention(_found: Found, _first: str, _second: str, _encoded_as: str) -> SelfAttention:
    """Attention weights between the tokens of two sentences, for every head of every layer."""
    from explorer.encoding.read import sentence_pairs

    return sentence_pairs.self_attention(loaded_encoders.attending(_found), _first, _second, _encoded_as)


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
