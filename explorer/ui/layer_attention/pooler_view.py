"""Which layers does a pooler listen to in two sentences, and are they those that score?"""

from __future__ import annotations

import numpy as np
import streamlit as st

from explorer.drawing.sentences import layer_weights
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read.readings import GRID_POOLINGS, Reading, Row
from explorer.errors import StrataError
from explorer.measuring.attention.attention_tables import part_rows, weight_rows
from explorer.measuring.attention.pooler_weights import Floats, Listening
from explorer.measuring.scores.correlation import spearman
from explorer.measuring.scores.layer_scores import LayerScores
from explorer.ui import messages
from explorer.ui.access import cached, encoder_loading, side_scores
from explorer.ui.access.sidebar_choice import Choice
from explorer.ui.frame import second_encoder
from explorer.ui.layer_attention import cached_attention, pooler_history
from explorer.ui.widgets import downloads, picture_format


def show(found: Found, sentences: tuple[str, str], choice: Choice) -> None:
    """All of it, for an encoder with a pooler over its layers."""
    heard = cached_attention.listening(found, sentences, choice.settings)
    messages.told_of_cuts(sentences, heard.cut, heard.max_length)
    beside = _beside(sentences)
    _heatmaps(found, heard, beside, sentences)
    st.subheader("Which layers are listened to")
    shown = side_scores.shown(choice)
    _bars(found, heard, sentences, shown.scores if shown else None, shown.pairs.name if shown else "")
    if beside is not None:
        other, its = beside
        st.markdown(f"**{_named(other)}**")
        scores = cached.kept_scores(other, shown.pairs, choice.settings) if shown else None
        _bars(other, its, sentences, scores, shown.pairs.name if shown else "")
    _parts(heard, sentences)
    st.subheader("Over training")
    pooler_history.show(found, heard)


def _beside(sentences: tuple[str, str]) -> tuple[Found, Listening] | None:
    """B of the sidebar, where it has a pooler too: with and without the last layer's [CLS], say."""
    other = second_encoder.beside()
    if other is None:
        st.caption(
            "To compare poolers as the paper does, with and without the last layer's \\[CLS\\] beside the attention, "
            "choose another one in the sidebar, under **Compare with: model B**; the Train page has all nine of the "
            "paper's Table 2."
        )
        return None
    try:
        found = cached.found(other.source)
        reader = encoder_loading.encoder(found, other.settings)
        if reader is None:
            return None
        if reader.head is None or reader.head.attention is None:
            st.caption(f"{messages.plain(found.name)}, which stands beside it, has no pooler over its layers.")
            return None
        return found, cached_attention.listening(found, sentences, other.settings)
    except StrataError as error:
        messages.trouble(error)
        return None


def _heatmaps(
    found: Found, heard: Listening, beside: tuple[Found, Listening] | None, sentences: tuple[str, str]
) -> None:
    st.subheader("Which layer asks which")
    st.caption(
        f"The {heard.asks} of a layer asks, the {heard.answers} of every layer answers. A cell is the weight that who "
        "asks gives to who answers. All pictures have one scale of colour."
    )
    models = [(found, heard), *([] if beside is None else [beside])]
    every = np.concatenate([one.weights[np.isfinite(one.weights)] for _, one in models])
    low, high = (float(every.min()), float(every.max())) if len(every) else (0.0, 1.0)
    for model, one in models:
        if beside is not None:
            st.markdown(f"**{_named(model)}**: {messages.plain(' + '.join(one.parts))}")
        columns = st.columns(2, gap="medium")
        for place, (sentence, weights) in enumerate(zip(sentences, one.weights, strict=True)):
            with columns[place]:
                # one line each, so that the pictures stand at one height; the boxes above have the whole
                st.markdown(f"“{messages.plain(messages.shortened(sentence, 36))}”")
                st.plotly_chart(
                    layer_weights.asking_by_answering(weights, one.layers, low, high, one.asks, one.answers),
                    key=f"asking {model.folder} {place}",
                    config=picture_format.config("listening"),
                    alt="Weights of the pooler for one sentence, a row for each layer that asks and a column for each "
                    "that answers. The file below holds the numbers.",
                )
        downloads.rows(weight_rows(sentences, one), f"{_short(model)} layer weights", "Weights (CSV)")


def _bars(found: Found, heard: Listening, sentences: tuple[str, str], scores: LayerScores | None, pairs: str) -> None:
    by_pooling = {} if scores is None else _scores(heard, scores)
    st.plotly_chart(
        layer_weights.listened_and_scored(heard.by_layer, heard.layers, sentences, by_pooling),
        key=f"listened {found.folder}",
        config=picture_format.config("listening"),
        alt="How much each layer is listened to, a bar for each sentence, and over the same layers what each scores.",
    )
    told = [
        f"Bars: the mean weight of a layer over those that ask. They stand on {1 / len(heard.layers):.3f}, where all "
        f"would be listened to alike. {_listened_most(heard)}"
    ]
    if scores is not None and by_pooling:
        told.append(f"Lines: scores on {pairs}. {_compared(heard, by_pooling[heard.answers])}")
    st.caption(messages.plain(" ".join(told)))


def _scores(heard: Listening, scores: LayerScores) -> dict[str, Floats]:
    """Spearman by layer under the pooling that answers, first, and the one that asks, as far as they are measured."""
    poolings = [name for name in dict.fromkeys((heard.answers, heard.asks)) if name in GRID_POOLINGS]
    if heard.answers not in poolings:
        return {}
    return {
        pooling: np.array([scores.score(Reading(Row((layer,)), pooling)) for layer in heard.layers])
        for pooling in poolings
    }


def _listened_most(heard: Listening) -> str:
    first, second = heard.loudest
    if first == second:
        return f"Both sentences listen to layer {first} most."
    return f"The one listens to layer {first} most, the other to layer {second}."


def _compared(heard: Listening, scores: Floats) -> str:
    """Whether the layer that is listened to most is the one that scores best."""
    known = np.isfinite(scores)
    if not known.any():
        return "No layer has a score there."
    best = heard.layers[int(np.nanargmax(scores))]
    agreeing = sum(layer == best for layer in heard.loudest)
    verdict = (
        "which neither sentence listens to most.",
        "which one of the two sentences listens to most.",
        "which is the layer listened to most.",
    )[agreeing]
    together = float(spearman(scores[known], heard.by_layer.mean(axis=0)[known], same=1e-6))  # in float32
    told = f"Under {heard.answers}, layer {best} agrees best with people ({np.nanmax(scores):.2f}), {verdict}"
    if np.isfinite(together):
        told += f" Weights and scores of the {known.sum()} layers go together with ρ = {together:+.2f}."
    return told


def _parts(heard: Listening, sentences: tuple[str, str]) -> None:
    st.subheader("With and without the last layer's [CLS]")
    if len(heard.parts) == 1:
        st.caption("This pooler has nothing beside the attention over layers: a sentence's vector is made of it alone.")
        return
    rows = part_rows([messages.shortened(sentence, 36) for sentence in sentences], heard)
    three = st.column_config.NumberColumn(format="%.3f")
    st.dataframe(rows, hide_index=True, column_config={"share": three, "cosine without it": three})
    st.caption(
        "The head puts these parts side by side and maps them. Share: how much of what its dense layer gives, before "
        "the activation, comes from the part: the inner product of the part's own contribution with the whole, over "
        "that of the whole with itself. What the shares leave of 1 is the bias; a part that works against the others "
        "has a negative one. Cosine without it: of the sentence's vector with what it would be if the part were zeros; "
        "1 says that the part changes nothing."
    )


def _named(found: Found) -> str:
    return messages.plain(_short(found))


def _short(found: Found) -> str:
    """A run by its name, any other model by its own."""
    run = pooler_history.run_of(found)
    return found.name if run is None else run.name
