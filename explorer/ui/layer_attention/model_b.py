"""Compare a model that has a pooler over its layers with model B: by its weights, or in words if B has no pooler."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import streamlit as st

from explorer.encoding.load import declared
from explorer.encoding.locate import layout
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read import parts
from explorer.errors import StrataError
from explorer.measuring.attention.pooler_weights import Listening
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.scores.verdict import Verdict, sentence
from explorer.measuring.sentences.cosine_matrix import similarities
from explorer.ui import messages
from explorer.ui.access import availability, cached, encoder_loading, side_scores, vectors
from explorer.ui.access.sidebar_choice import MODEL_B, Choice
from explorer.ui.frame import second_encoder
from explorer.ui.layer_attention import cached_attention

TITLE = "Compared with model B"
ASK = (
    f"To compare two poolers, choose the second in the sidebar under **{MODEL_B}**. The Train page has all nine "
    "poolers of the paper's Table 2, with and without the last layer's \\[CLS\\]."
)
NO_POOLER = "B, {}, has no pooler over its layers. It uses one layer & pooling: {}."
WEIGHS = "A weighs layers {} to {}. {} The highest weights are {:.2f} and {:.2f}; equal weights would be {:.2f}."
COSINES = "Cosine of the two sentences: {} under A, {} under B."
NOT_SCORED = "B has no score on {} yet. Open the Layers or the Compare page with B to measure it."
EXCHANGE = "Model B, {}, has a pooler over its layers. Exchange A and B to see its layer weights."


def listening(sentences: tuple[str, str]) -> tuple[Found, Listening] | None:
    """Model B and its weights, if it has a pooler too."""
    other = second_encoder.beside()
    if other is None:
        st.caption(ASK)
        return None
    try:
        found = availability.encoder(other.source)
        if found is None or not has_pooler(found.folder) or encoder_loading.encoder(found, other.settings) is None:
            return None
        return found, cached_attention.listening(found, sentences, other.settings)
    except StrataError as error:
        messages.trouble(error)
        return None


def in_words(found: Found, heard: Listening, highest: str, sentences: tuple[str, str], choice: Choice) -> None:
    """What A weighs, what a B without a pooler uses, the cosine under both, and both scores if they are known.

    `highest` says which layers A weighs most.
    """
    other = second_encoder.beside()
    if other is None:
        return
    try:
        its = cached.found(other.source)
        if has_pooler(its.folder):
            return  # it is being loaded, and the page says so
        lines = [
            NO_POOLER.format(its.name, declared.described(other.reading_of(its.folder), its.folder)),
            WEIGHS.format(heard.layers[0], heard.layers[-1], highest, *_peaks(heard), 1 / len(heard.layers)),
        ]
        cosines = [_cosine(*side, sentences) for side in ((found, choice), (its, other))]
        if None in cosines:
            return  # they are being computed, and the page says so
        lines.append(COSINES.format(*cosines))
        lines.insert(0, _scores(found, its, choice, other))  # the verdict first
    except StrataError:
        return  # the page says what is wrong with B
    st.subheader(TITLE)
    st.markdown("\n".join(f"- {messages.plain(line)}" for line in lines))


def offer_exchange(choice: Choice) -> None:
    """If B has a pooler and A has none: say so, and exchange the two by a click."""
    other = second_encoder.beside()
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
            on_click=second_encoder.exchange,
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


def _peaks(heard: Listening) -> list[float]:
    """The highest weight for each sentence."""
    return [float(np.nanmax(weights)) for weights in heard.by_layer]


def _cosine(found: Found, choice: Choice, sentences: tuple[str, str]) -> str | None:
    """The cosine of the two sentences under the chosen layer & pooling; None while they are being encoded."""
    encoded = vectors.of_reading(found, sentences, choice.reading_of(found.folder), choice.settings)
    return None if encoded is None else f"{similarities(encoded)[0, 1]:.3f}"


def _scores(found: Found, its: Found, choice: Choice, other: Choice) -> str:
    """Better, worse or could be chance on the evaluation set; without B's scores, how to get them."""
    shown = side_scores.shown(choice)
    if shown is None:
        return NOT_SCORED.format(choice.sts.title)
    scores = cached.kept_scores(its, shown.pairs, other.settings)
    if scores is None:
        return NOT_SCORED.format(shown.pairs.name)
    reading = other.reading_of(its.folder)
    metric = scores.metrics[0]
    comparison = Comparison(shown.scores, scores, shown.reading, reading)
    gap = cached_attention.difference((*shown.measured, its.digest, other.settings), comparison)
    one, two = shown.scores.score(shown.reading, metric), scores.score(reading, metric)
    verdict = Verdict.of(one, two, gap)
    return sentence(verdict, f"A, {found.name},", f"B, {its.name},", shown.pairs.name).text
