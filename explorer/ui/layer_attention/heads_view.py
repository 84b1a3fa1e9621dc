"""Show the self-attention weights of two sentences, for every layer and head."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from explorer.data.text_sets import digest_of
from explorer.drawing.sentences import attention_figures as drawn
from explorer.encoding.locate.model_names import Found
from explorer.errors import StrataError
from explorer.measuring.sentences import attention_weights as measured
from explorer.ui import messages
from explorer.ui.access import cached, sidebar_choice
from explorer.ui.access.cached_text import by_stamp
from explorer.ui.widgets import downloads, segments

if TYPE_CHECKING:
    from explorer.encoding.read.sentence_pairs import SelfAttention

TITLE = "Self-attention by layer and head"
FILE = "This head (CSV)"
OVERVIEW = "every head"
WIDE, SPECIAL = "tokens looked at", "share of special tokens"
SHOWN = "Layer {}, head {}: each row is a token; its attention weights sum to 1."
LEFT_OUT = "{:,} more tokens are not shown: this figure has at most {}."
CAUSAL = "No token attends to later tokens: this is a causal (left-to-right) model."
ALONE = "This model's tokenizer has no separator for two sentences, so each is encoded alone."


def folded(found: Found, sentences: tuple[str, str]) -> None:
    """The weights in an expander; computed when it is opened, because that loads the model again."""
    fold = st.expander(TITLE, icon=":material/grid_on:", key="open heads", on_change="rerun")
    if fold.open:
        with fold:
            show(found, sentences)


def show(found: Found, sentences: tuple[str, str]) -> None:
    """An overview of all heads, and the chosen head token by token."""
    if sidebar_choice.attending(found) is None:
        return
    try:
        _show(found, sentences)
    except StrataError as error:
        messages.trouble(error)


def _show(found: Found, sentences: tuple[str, str]) -> None:
    inputs = _inputs(found)
    _keep_only(inputs, "read")
    with st.container(horizontal=True):
        encoded_as: str = segments.chosen("Encode the sentences", inputs, default=inputs[0], key="read")
        by: str = segments.chosen("Colour of a head", (WIDE, SPECIAL), default=WIDE, key="heads")
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
        st.caption(_about(attention.weights, attention.left_out, inputs, layer, head))
        stem = f"{found.name} layer {layer} head {head}"
        downloads.rows(measured.head_rows(attention, layer, head), stem, FILE)


@by_stamp(lambda found: found.digest, 32)
def _inputs(_found: Found) -> tuple[str, ...]:
    """How two sentences can be encoded for self-attention: as one input, or each alone."""
    from explorer.encoding.read import sentence_pairs

    return sentence_pairs.inputs(cached.attending(_found))


@by_stamp(lambda found, first, second, encoded_as: (found.digest, digest_of((first, second)), encoded_as), 16)
def self_attention(_found: Found, _first: str, _second: str, _encoded_as: str) -> SelfAttention:
    """Attention weights between the tokens of two sentences, for every head of every layer."""
    from explorer.encoding.read import sentence_pairs

    return sentence_pairs.self_attention(cached.attending(_found), _first, _second, _encoded_as)


def _overview(attention: SelfAttention, by: str) -> tuple[int, int]:
    """The overview of all heads; returns the chosen layer and head."""
    layers, count = attention.weights.shape[:2]
    with st.container(horizontal=True):
        layer = _one_of("Layer", "layer", layers)
        head = _one_of("Head", "head", count)
    values = measured.tokens_attended(attention.weights)
    if by == SPECIAL:
        values = measured.share_on_special(attention.weights, attention.special)
    downloads.draw(
        drawn.every_head(values, by, (layer, head)),
        key=OVERVIEW,
        on_select=lambda: _choose_clicked(count),
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


def _about(weights: NDArray[np.float32], left_out: int, inputs: tuple[str, ...], layer: int, head: int) -> str:
    texts = [SHOWN.format(layer, head)]
    if left_out:
        texts.append(LEFT_OUT.format(left_out, weights.shape[-1]))
    if weights.shape[-1] > 1 and not np.triu(weights, k=1).any():
        texts.append(CAUSAL)
    if len(inputs) == 2:
        texts.append(ALONE)
    return " ".join(texts)


def _one_of(label: str, key: str, count: int) -> int:
    options = tuple(map(str, range(1, count + 1)))
    _keep_only(options, key)
    return int(st.selectbox(label, options, key=key, bind="query-params"))


def _keep_only(options: tuple[str, ...], key: str) -> None:
    """Reset a choice that the current model does not have."""
    if st.session_state.get(key) not in options:
        st.session_state.pop(key, None)


def _choose_clicked(count: int) -> None:
    """Show the clicked head; runs before the page reruns."""
    points = st.session_state[OVERVIEW]["selection"]["points"]
    if points:
        layer, head = divmod(int(points[0]["customdata"]), count)
        st.session_state["layer"], st.session_state["head"] = str(layer + 1), str(head + 1)
