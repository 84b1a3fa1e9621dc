"""Show a pooler's layer weights for two sentences, next to the score of each layer, and over the run behind it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from explorer.drawing.sentences import layer_weights
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read.readings import Reading, Row
from explorer.measuring.attention.pooler_weights import Floats, Listening, part_rows, path_rows, weight_rows
from explorer.measuring.geometry.dev_check import PROBE
from explorer.measuring.scores.correlation import spearman
from explorer.measuring.scores.layer_scores import NO_SCORE, LayerScores
from explorer.training.record import recorder, runs
from explorer.training.record.runs import Run
from explorer.ui import messages
from explorer.ui.access import cached, side_scores
from explorer.ui.access.sidebar_choice import Choice
from explorer.ui.layer_attention import cached_attention, model_b
from explorer.ui.runs import run_metrics
from explorer.ui.widgets import downloads, picture_format

UNIFORM = "nearly uniform: no layer is preferred"
WEIGHTS, SCORES, PARTS = (
    "Weights between layers",
    "Layer weights and layer scores",
    "With and without the last layer's [CLS]",
)
FILE = "Weights (CSV)"
SHARE = "Attention's share in {}, {} sentence"
ATTENTION_ALONE = "This pooler uses the attention over layers only; it has no \\[CLS\\] part to remove."
SCORES_ON = "Lines: scores on {}."
HIGHEST = "Layer {} has the highest weight in"
BEST_SCORE = "Under {}, layer {} has the best score ({:.2f})"
CORRELATION = "Rank correlation of weights and scores over {} layers: ρ = {:+.2f} (−1 to 1)."
OVER_TRAINING = "Over training"
HISTORY_FILE = "Path (CSV)"
NO_HISTORY = "No history: run {} did not keep the weights, because an older version made it. Train it again."
HISTORY = (
    "Seed {} of the run {}: the mean weight of each layer at each evaluation step. It is averaged over query layers "
    "and at most {} sentences of the dev set. Equal weights would be {:.3f}."
)


def show(found: Found, sentences: tuple[str, str], choice: Choice) -> None:
    """The whole view, for an encoder with a pooler over its layers."""
    heard = cached_attention.listening(found, sentences, choice.settings)
    messages.told_of_cuts(sentences, heard.cut, heard.max_length)
    beside = model_b.listening(sentences)
    _headline(heard, "A")
    if beside is not None:
        _headline(beside[1], "B")
    else:
        model_b.in_words(found, heard, _listened_most(heard), sentences, choice)
    _heatmaps(found, heard, beside, sentences)
    st.subheader(SCORES)
    shown = side_scores.shown(choice)
    _bars(found, heard, sentences, shown.scores if shown else None, shown.pairs.name if shown else "")
    if beside is not None:
        other, its = beside
        st.markdown(f"**{_named(other)}**")
        scores = cached.kept_scores(other, shown.pairs, choice.settings) if shown else None
        _bars(other, its, sentences, scores, shown.pairs.name if shown else "")
    _parts(heard, sentences)
    st.subheader(OVER_TRAINING)
    history(found, heard)


def _headline(heard: Listening, side: str) -> None:
    """The share of attention in the vector of each sentence."""
    shares = heard.attention_share
    if shares is None:
        return
    cards = st.container(horizontal=True)
    for which, share, uniform in zip(("first", "second"), shares, heard.nearly_uniform, strict=True):
        messages.number(
            cards,
            SHARE.format(side, which),
            f"{100 * share:.1f} %" if np.isfinite(share) else NO_SCORE,
            f"weights are {UNIFORM}" if uniform else "",
            border=True,
            help="The part of the sentence vector that comes from attention over layers; the rest comes from "
            f"{messages.plain(' and '.join(heard.parts[:-1]))} and the bias. Near 0 %: attention changes almost "
            "nothing. It can be below 0 % or above 100 %, where parts work against each other.",
        )


def _heatmaps(
    found: Found, heard: Listening, beside: tuple[Found, Listening] | None, sentences: tuple[str, str]
) -> None:
    st.subheader(WEIGHTS)
    st.caption(
        f"Rows are query layers ({heard.asks}), columns are key layers ({heard.answers}). A cell is the weight of a "
        "query layer on a key layer; each row sums to 1. All figures share one colour scale."
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
                # one line each, so that the figures align; the boxes above show the whole sentences
                st.markdown(f"“{messages.plain(messages.shortened(sentence, 36))}”")
                picture_format.draw(
                    layer_weights.asking_by_answering(weights, one.layers, low, high, one.asks, one.answers),
                    key=f"asking {model.folder} {place}",
                    config=picture_format.config("listening"),
                    alt="Weights of the pooler for one sentence, a row for each query layer and a column for each key "
                    "layer. The file below has the numbers.",
                )
        downloads.rows(weight_rows(sentences, one), f"{_short(model)} layer weights", FILE)


def _bars(found: Found, heard: Listening, sentences: tuple[str, str], scores: LayerScores | None, pairs: str) -> None:
    by_pooling = {} if scores is None else _scores(heard, scores)
    picture_format.draw(
        layer_weights.listened_and_scored(heard.by_layer, heard.layers, sentences, by_pooling),
        key=f"listened {found.folder}",
        config=picture_format.config("listening"),
        alt="The weight of each layer, a bar for each sentence, and the score of each layer.",
    )
    told = [
        f"{_listened_most(heard)} Bars: the mean weight of a layer over query layers, drawn from "
        f"{1 / len(heard.layers):.3f} (equal weights)."
    ]
    if scores is not None and by_pooling:
        told.append(f"{SCORES_ON.format(pairs)} {_compared(heard, by_pooling[heard.answers])}")
    st.caption(messages.plain(" ".join(told)))


def _scores(heard: Listening, scores: LayerScores) -> dict[str, Floats]:
    """The main metric by layer under the key pooling, first, and the query pooling, as far as they are measured."""
    poolings = [name for name in dict.fromkeys((heard.answers, heard.asks)) if name in scores.poolings]
    if heard.answers not in poolings:
        return {}
    return {
        pooling: np.array([scores.score(Reading(Row((layer,)), pooling), scores.metrics[0]) for layer in heard.layers])
        for pooling in poolings
    }


def _listened_most(heard: Listening) -> str:
    first, second = heard.loudest
    if all(heard.nearly_uniform):
        return f"In both sentences the weights are {UNIFORM}."
    if any(heard.nearly_uniform):
        flat, other, layer = ("first", "second", second) if heard.nearly_uniform[0] else ("second", "first", first)
        return f"In the {flat} sentence the weights are {UNIFORM}. {HIGHEST.format(layer)} the {other}."
    if first == second:
        return f"{HIGHEST.format(first)} both sentences."
    return f"{HIGHEST.format(first)} the first sentence, layer {second} in the second."


def _compared(heard: Listening, scores: Floats) -> str:
    """Say whether the layer with the highest weight has the best score."""
    known = np.isfinite(scores)
    if not known.any():
        return "No layer has a score on this set."
    best = heard.layers[int(np.nanargmax(scores))]
    told = BEST_SCORE.format(heard.answers, best, np.nanmax(scores))
    if all(heard.nearly_uniform):
        return f"{told}; the weights prefer no layer."
    agreeing = sum(
        layer == best and not uniform for layer, uniform in zip(heard.loudest, heard.nearly_uniform, strict=True)
    )
    verdict = (
        "but it has the highest weight in neither sentence.",
        "and it has the highest weight in one of the two sentences.",
        "and it has the highest weight in both sentences.",
    )[agreeing]
    together = float(spearman(scores[known], heard.by_layer.mean(axis=0)[known], same=1e-6))  # in float32
    told += f", {verdict}"
    if np.isfinite(together):
        told += f" {CORRELATION.format(known.sum(), together)}"
    return told


def _parts(heard: Listening, sentences: tuple[str, str]) -> None:
    st.subheader(PARTS)
    if len(heard.parts) == 1:
        st.caption(ATTENTION_ALONE)
        return
    rows = part_rows([messages.shortened(sentence, 36) for sentence in sentences], heard)
    three = st.column_config.NumberColumn(format="%.3f")
    st.dataframe(rows, hide_index=True, column_config={"share": three, "cosine without it": three})
    st.caption(
        "The head concatenates these parts and maps them with a dense layer. Share: the part's contribution to the "
        "dense layer's output before the activation (its inner product with the whole, divided by the whole's squared "
        "norm). The shares and the bias sum to 1; a negative share works against the other parts. Cosine without it: "
        "between the sentence's vector and the vector with this part set to zero; 1 means the part changes nothing."
    )


def _named(found: Found) -> str:
    return messages.plain(_short(found))


def _short(found: Found) -> str:
    """The name of the model's run, else of the model."""
    run = run_of(found)
    return found.name if run is None else run.name


@dataclass(frozen=True, eq=False)
class WeightHistory:
    """Mean weights (step, key layer) of a seed; `best` is the step of the saved model."""

    seed: int
    steps: tuple[int, ...]
    weights: Floats
    best: int | None


def history(found: Found, heard: Listening) -> None:
    """The curves of the weights, or the reason why there are none."""
    run = run_of(found)
    if run is None:
        st.caption("No history: this model's folder does not belong to a run. Models trained here keep it.")
        return
    path = path_of(run)
    if path is None:
        st.caption(NO_HISTORY.format(messages.plain(run.name)))
        return
    picture_format.draw(
        layer_weights.path(path.steps, path.weights, heard.layers, path.best),
        key=f"path {run.name}",
        config=picture_format.config("listening-path"),
        alt="The mean weight of each layer at each evaluation step of the run. The file below has the numbers.",
    )
    st.caption(messages.plain(HISTORY.format(path.seed, run.name, PROBE, 1 / len(heard.layers))))
    downloads.rows(path_rows(path.steps, heard.layers, path.weights), f"{run.name} path", HISTORY_FILE)


def run_of(found: Found) -> Run | None:
    """The run that trained this model."""
    return runs.of_model(found.folder)


def path_of(run: Run) -> WeightHistory | None:
    """The weights of the seed that the model was saved from; None if no evaluation kept any."""
    status = run.status()
    number, seed = status.seed_number, status.seed
    scored = [
        (one.selection_score, -place, one.seed)
        for place, one in enumerate(status.results)
        if one.selection_score is not None
    ]
    if scored:
        _, place, seed = max(scored)  # the first of equals, like the trainer
        number = 1 - place
    known = [
        (one, weights)
        for one in run_metrics.numbers(run.folder).evaluations(number)
        if (weights := recorder.layer_weights(run, seed, one.step)) is not None
    ]
    if not known:
        return None
    best = next((one.step for one, _ in reversed(known) if one.best), None)
    steps = tuple(one.step for one, _ in known)
    return WeightHistory(seed, steps, np.stack([weights.mean(axis=0) for _, weights in known]).astype(np.float64), best)
