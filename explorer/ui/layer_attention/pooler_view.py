"""Show a pooler's layer weights for two sentences, next to the scores of layers, to model B, and over its training."""

from collections.abc import Hashable

import numpy as np
import streamlit as st

from explorer import in_words
from explorer.data.text_sets import digest_of
from explorer.drawing.sentences import heatmaps as drawn
from explorer.encoding.load import declared
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read.pooling import Reading, Row
from explorer.errors import StrataError
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.geometry.vector_geometry import PROBE
from explorer.measuring.scores import bootstrap, correlation, layer_scores, measure
from explorer.measuring.scores.verdict import Verdict, sentence
from explorer.measuring.sentences import attention_weights, sentence_vectors
from explorer.training.record import recorder, runs
from explorer.ui import messages
from explorer.ui.access import cached, sidebar_choice
from explorer.ui.layer_attention.pair_view import has_pooler
from explorer.ui.runs import run_status
from explorer.ui.widgets import downloads

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
BEST_SCORE = "Under {}, layer {} has the best score ({})"
CORRELATION = "Rank correlation of weights and scores over {} layers: ρ = {} (−1 to 1)."
OVER_TRAINING = "Over training"
HISTORY_FILE = "Path (CSV)"
NO_HISTORY = "No history: run {} did not keep the weights, because an older version made it. Train it again."
HISTORY = (
    "Seed {} of the run {}: the mean weight of each layer at each evaluation step. It is averaged over query layers "
    "and at most {} sentences of the dev set. Equal weights would be {:.3f}."
)
COMPARED = "Compared with model B"
ASK = (
    f"To compare two poolers, choose the second in the sidebar under **{sidebar_choice.MODEL_B}**. The Train page has "
    "all nine poolers of the paper's Table 2, with and without the last layer's \\[CLS\\]."
)
B_HAS_NONE = "B, {}, has no pooler over its layers. It uses one layer & pooling: {}."
WEIGHS = "A weighs layers {} to {}. {} The highest weights are {:.2f} and {:.2f}; equal weights would be {:.2f}."
COSINES = "Cosine of the two sentences: {} under A, {} under B."
NOT_SCORED = "B has no score on {} yet. Open the Layers or the Compare page with B to measure it."


def show(found: Found, sentences: tuple[str, str], choice: sidebar_choice.Choice) -> None:
    """The whole view, for an encoder with a pooler over its layers."""
    weights = layer_weights(found, sentences, choice.settings)
    messages.warn_of_cuts(sentences, weights.cut, weights.max_length)
    model_b = _weights_of_b(sentences)
    _attention_shares(weights, "A")
    if model_b is not None:
        _attention_shares(model_b[1], "B")
    else:
        _b_in_words(found, weights, sentences, choice)
    models = [(found, weights), *([] if model_b is None else [model_b])]
    _heatmaps(models, sentences)
    st.subheader(SCORES)
    scored = sidebar_choice.scored(choice)
    _bars(found, weights, sentences, scored.scores if scored else None, scored.pairs.name if scored else "")
    if model_b is not None:
        st.markdown(f"**{messages.plain(_name(model_b[0]))}**")
        scores = cached.kept_scores(model_b[0], scored.pairs, choice.settings) if scored else None
        _bars(*model_b, sentences, scores, scored.pairs.name if scored else "")
    st.subheader(PARTS)
    if len(weights.parts) == 1:
        st.caption(ATTENTION_ALONE)
    else:
        rows = attention_weights.part_rows([messages.shortened(sentence, 36) for sentence in sentences], weights)
        three = st.column_config.NumberColumn(format="%.3f")
        st.dataframe(rows, hide_index=True, column_config={"share": three, "cosine without it": three})
        st.caption(
            "The head concatenates these parts and maps them with a dense layer. Share: the part's contribution to the "
            "dense layer's output before the activation (its inner product with the whole, divided by the whole's "
            "squared norm). The shares and the bias sum to 1; a negative share works against the other parts. Cosine "
            "without it: between the sentence's vector and the vector with this part set to zero; 1 means the part "
            "changes nothing."
        )
    st.subheader(OVER_TRAINING)
    _history(found, weights)


@cached.by_stamp(lambda found, sentences, settings: (found.digest, digest_of(sentences), settings), 32)
def layer_weights(
    _found: Found, _sentences: tuple[str, ...], _settings: measure.Settings
) -> attention_weights.LayerWeights:
    """The layer weights of an encoder's pooler for sentences."""
    return attention_weights.layer_weights(cached.encoder(_found, _settings), _sentences, _settings.max_length)


def _weights_of_b(sentences: tuple[str, str]) -> tuple[Found, attention_weights.LayerWeights] | None:
    other = sidebar_choice.model_b()
    if other is None:
        st.caption(ASK)
        return None
    try:
        found = sidebar_choice.encoder(other.source)
        if found is None or not has_pooler(found.folder) or sidebar_choice.loaded(found, other.settings) is None:
            return None
        return found, layer_weights(found, sentences, other.settings)
    except StrataError as error:
        messages.trouble(error)
        return None


def _attention_shares(weights: attention_weights.LayerWeights, side: str) -> None:
    shares = weights.attention_share
    if shares is None:
        return
    cards = st.container(horizontal=True)
    for which, share, uniform in zip(("first", "second"), shares, weights.nearly_uniform, strict=True):
        messages.number(
            cards,
            SHARE.format(side, which),
            f"{100 * share:.1f} %" if np.isfinite(share) else layer_scores.NO_SCORE,
            f"weights are {UNIFORM}" if uniform else "",
            border=True,
            help="The part of the sentence vector that comes from attention over layers; the rest comes from "
            f"{messages.plain(' and '.join(weights.parts[:-1]))} and the bias. Near 0 %: attention changes almost "
            "nothing. It can be below 0 % or above 100 %, where parts work against each other.",
        )


def _b_in_words(
    found: Found, weights: attention_weights.LayerWeights, sentences: tuple[str, str], choice: sidebar_choice.Choice
) -> None:
    """What A weighs, what a B without a pooler uses, the cosine under both, and both scores if they are known."""
    other = sidebar_choice.model_b()
    if other is None:
        return
    try:
        found_b = cached.found(other.source)
        if has_pooler(found_b.folder):
            return  # it is being loaded, and the page says so
        cosines = []
        for model, its in ((found, choice), (found_b, other)):
            encoded = cached.vectors(model, sentences, its.reading_of(model.folder), its.settings)
            if encoded is None:
                return  # they are being computed, and the page says so
            cosines.append(in_words.number(sentence_vectors.similarities(encoded)[0, 1], 3))
        highest = [float(np.nanmax(of_layers)) for of_layers in weights.by_layer]
        layers, uniform = weights.layers, 1 / len(weights.layers)
        lines = (
            _scores_of_both(found, found_b, choice, other),  # the verdict first
            B_HAS_NONE.format(found_b.name, declared.described(other.reading_of(found_b.folder), found_b.folder)),
            WEIGHS.format(layers[0], layers[-1], _highest_layers(weights), *highest, uniform),
            COSINES.format(*cosines),
        )
    except StrataError:
        return  # the page says what is wrong with B
    st.subheader(COMPARED)
    st.markdown("\n".join(f"- {messages.plain(line)}" for line in lines))


def _scores_of_both(found: Found, found_b: Found, choice: sidebar_choice.Choice, other: sidebar_choice.Choice) -> str:
    """Better, worse or could be chance on the evaluation set; without B's scores, how to get them."""
    scored = sidebar_choice.scored(choice)
    if scored is None:
        return NOT_SCORED.format(choice.evaluation_set.title)
    scores = cached.kept_scores(found_b, scored.pairs, other.settings)
    if scores is None:
        return NOT_SCORED.format(scored.pairs.name)
    reading = other.reading_of(found_b.folder)
    metric = scores.metrics[0]
    comparison = Comparison(scored.scores, scores, scored.reading, reading)
    gap = difference((*scored.measured, found_b.digest, other.settings), comparison)
    one, two = scored.scores.score(scored.reading, metric), scores.score(reading, metric)
    verdict = Verdict.of(one, two, gap)
    return sentence(verdict, f"A, {found.name},", f"B, {found_b.name},", scored.pairs.name).text


@cached.by_stamp(lambda measured, it: (measured, it.one_reading.title, it.other_reading.title), 32)
def difference(_measured: Hashable, _comparison: Comparison) -> bootstrap.Interval:
    """B minus A under the chosen layer & pooling of each; `_measured` identifies models, pairs and settings."""
    return _comparison.chosen(_comparison.one.metrics[0])


def _heatmaps(models: list[tuple[Found, attention_weights.LayerWeights]], sentences: tuple[str, str]) -> None:
    st.subheader(WEIGHTS)
    weights = models[0][1]
    st.caption(
        f"Rows are query layers ({weights.query_pooling}), columns are key layers ({weights.key_pooling}). A cell is "
        "the weight of a query layer on a key layer; each row sums to 1. All figures share one colour scale."
    )
    every = np.concatenate([one.weights[np.isfinite(one.weights)] for _, one in models])
    low, high = (float(every.min()), float(every.max())) if len(every) else (0.0, 1.0)
    for model, one in models:
        if len(models) > 1:
            st.markdown(f"**{messages.plain(_name(model))}**: {messages.plain(' + '.join(one.parts))}")
        columns = st.columns(2, gap="medium")
        for place, (text, of_sentence) in enumerate(zip(sentences, one.weights, strict=True)):
            with columns[place]:
                # one line each, so that the figures align; the boxes above show the whole sentences
                st.markdown(f"“{messages.plain(messages.shortened(text, 36))}”")
                downloads.draw(
                    drawn.query_by_key(of_sentence, one.layers, low, high, one.query_pooling, one.key_pooling),
                    key=f"weights {model.folder} {place}",
                    config=downloads.config("listening"),
                    alt="Weights of the pooler for one sentence, a row for each query layer and a column for each key "
                    "layer. The file below has the numbers.",
                )
        downloads.rows(attention_weights.weight_rows(sentences, one), f"{_name(model)} layer weights", FILE)


def _bars(
    found: Found,
    weights: attention_weights.LayerWeights,
    sentences: tuple[str, str],
    scores: layer_scores.LayerScores | None,
    pairs: str,
) -> None:
    by_pooling: dict[
        str, attention_weights.Floats
    ] = {}  # the main metric by layer under the key pooling, first, and the query pooling
    if scores is not None and weights.key_pooling in scores.poolings:
        poolings = dict.fromkeys((weights.key_pooling, weights.query_pooling))
        by_pooling = {
            name: np.array([scores.score(Reading(Row((layer,)), name), scores.metrics[0]) for layer in weights.layers])
            for name in poolings
            if name in scores.poolings
        }
    downloads.draw(
        drawn.weights_and_scores(weights.by_layer, weights.layers, sentences, by_pooling),
        key=f"mean weights {found.folder}",
        config=downloads.config("listening"),
        alt="The weight of each layer, a bar for each sentence, and the score of each layer.",
    )
    caption = (
        f"{_highest_layers(weights)} Bars: the mean weight of a layer over query layers, drawn from "
        f"{1 / len(weights.layers):.3f} (equal weights)."
    )
    if by_pooling:
        caption += f" {SCORES_ON.format(pairs)} {_compared(weights, by_pooling[weights.key_pooling])}"
    st.caption(messages.plain(caption))


def _highest_layers(weights: attention_weights.LayerWeights) -> str:
    first, second = weights.highest_layers
    if all(weights.nearly_uniform):
        return f"In both sentences the weights are {UNIFORM}."
    if any(weights.nearly_uniform):
        flat, other, layer = ("first", "second", second) if weights.nearly_uniform[0] else ("second", "first", first)
        return f"In the {flat} sentence the weights are {UNIFORM}. {HIGHEST.format(layer)} the {other}."
    if first == second:
        return f"{HIGHEST.format(first)} both sentences."
    return f"{HIGHEST.format(first)} the first sentence, layer {second} in the second."


def _compared(weights: attention_weights.LayerWeights, scores: attention_weights.Floats) -> str:
    """Say whether the layer with the highest weight has the best score."""
    known = np.isfinite(scores)
    if not known.any():
        return "No layer has a score on this set."
    best = weights.layers[int(np.nanargmax(scores))]
    text = BEST_SCORE.format(weights.key_pooling, best, in_words.number(float(np.nanmax(scores))))
    if all(weights.nearly_uniform):
        return f"{text}; the weights prefer no layer."
    highest = zip(weights.highest_layers, weights.nearly_uniform, strict=True)
    verdict = (
        "but it has the highest weight in neither sentence.",
        "and it has the highest weight in one of the two sentences.",
        "and it has the highest weight in both sentences.",
    )[sum(layer == best and not uniform for layer, uniform in highest)]
    text += f", {verdict}"
    together = float(correlation.spearman(scores[known], weights.by_layer.mean(axis=0)[known], same=1e-6))  # in float32
    return f"{text} {CORRELATION.format(known.sum(), in_words.signed(together))}" if np.isfinite(together) else text


def _name(found: Found) -> str:
    run = runs.of_model(found.folder)
    return found.name if run is None else run.called


def _history(found: Found, weights: attention_weights.LayerWeights) -> None:
    """The mean weight of each layer at each evaluation of the model's run, or the reason why there are none."""
    run = runs.of_model(found.folder)
    if run is None:
        st.caption("No history: this model's folder does not belong to a run. Models trained here keep it.")
        return
    status = run.status()
    number, seed = status.seed_number, status.seed
    scored = [
        (one.selection_score, -place, one.seed)
        for place, one in enumerate(status.results)
        if one.selection_score is not None
    ]
    if scored:  # the model was saved from this seed
        _, place, seed = max(scored)  # the first of equals, like the trainer
        number = 1 - place
    evaluations = run_status.numbers(run.folder).evaluations(number)
    kept = [(one, recorder.layer_weights(run, seed, one.step)) for one in evaluations]
    known = {one.step: of_step.mean(axis=0) for one, of_step in kept if of_step is not None}
    if not known:
        st.caption(NO_HISTORY.format(messages.plain(run.name)))
        return
    steps, path = tuple(known), np.stack(list(known.values())).astype(np.float64)
    best = next((one.step for one in reversed(evaluations) if one.best and one.step in known), None)
    downloads.draw(
        drawn.weight_history(steps, path, weights.layers, best),
        key=f"path {run.name}",
        config=downloads.config("listening-path"),
        alt="The mean weight of each layer at each evaluation step of the run. The file below has the numbers.",
    )
    st.caption(messages.plain(HISTORY.format(seed, run.name, PROBE, 1 / len(weights.layers))))
    downloads.rows(attention_weights.path_rows(steps, weights.layers, path), f"{run.name} path", HISTORY_FILE)
