"""Show a pooler's layer weights for two sentences, next to the scores of layers, to model B, and over its training."""

from collections.abc import Hashable, Sequence

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
from explorer.measuring.comparing.verdict_sentence import sentence
from explorer.measuring.geometry.vector_geometry import PROBE
from explorer.measuring.scores import bootstrap, correlation, layer_scores, measure
from explorer.measuring.scores.verdict import Verdict
from explorer.measuring.sentences import attention_weights, sentence_vectors
from explorer.training.record import recorder, runs
from explorer.ui import messages
from explorer.ui.access import cached, cached_texts, loaded_encoders, sidebar_choice
from explorer.ui.layer_attention.shown_sides import Side, has_pooler, shown_name
from explorer.ui.runs import run_curves, training_form
from explorer.ui.widgets import downloads

UNIFORM = "nearly uniform: no layer is preferred"
WEIGHTS, SCORES, PARTS, MORE = "Weights", "Scores", "Parts of the vector", "About poolers"
FILE = "Weights (CSV)"
SHARE = "Attention's share in {}, {} sentence"
ATTENTION_ALONE = "This pooler uses the attention over layers only; it has no \\[CLS\\] part to remove."
SCORES_ON = "Lines: scores on {}."
HIGHEST = "Layer {} has the highest weight in"
BEST_SCORE = "Under {}, layer {} has the best score ({})"
CORRELATION = "Rank correlation of weights and scores over {} layers: ρ = {} (−1 to 1)."
OVER_TRAINING = "In training"
HISTORY_FILE = "Path (CSV)"
NO_HISTORY = "No history: run {} did not keep the weights, because an older version made it. Train it again."
HISTORY = (
    "Seed {} of the run {}: the mean weight of each layer at each evaluation step. It is averaged over query layers "
    "and at most {} sentences of the dev set. Equal weights would be {:.3f}."
)
HAS_NONE = "{}, {}, has no pooler over its layers. It uses one layer & pooling: {}."
WEIGHS = "{} weighs layers {} to {}. {} The highest weights are {:.2f} and {:.2f}; equal weights would be {:.2f}."
COSINES = "Cosine of the two sentences: {}."
NOT_SCORED = "{} has no score on {} yet. Open the Layers or the Compare page with it to measure it."
HEIGHT = 390  # pixels
ALIKE = "{}: the weights are {}."
MOST_WEIGHT = "{}: {} the highest weight, {:.2f} ({:.2f} if all were equal)."
PAPER = (
    "A pooler weighs the layers of each sentence. Oh and others (2022, Figure 3) find the highest weight on the last "
    "layer if its \\[CLS\\] is a part of the vector, different for a short and a long sentence, and balanced weights "
    "if it is not. A pooler begins with uniform weights. On the included encoder, 200 steps at the paper's learning "
    "rate, 2e-5, leave them nearly uniform; 1e-3 does not. The included example shows such weights. As an encoder it "
    "is no better than its base."
)
SETTINGS = "Settings of {}"


def answer(side: Side, sentences: tuple[str, str]) -> str:
    """Which layers have the highest weights."""
    weights = layer_weights(side.found, sentences, side.choice.settings)
    if all(weights.nearly_uniform):
        return ALIKE.format(side.name, UNIFORM)
    first, second = weights.highest_layers
    layers = f"layer {first} has" if first == second else f"layers {first} and {second} have"
    highest = max(float(np.nanmax(of_layers)) for of_layers in weights.by_layer)
    return MOST_WEIGHT.format(side.name, layers, highest, 1 / len(weights.layers))


def figure(side: Side, sentences: tuple[str, str]) -> None:
    """The weight of each layer in either sentence, and below the score of each layer if it was measured."""
    weights = layer_weights(side.found, sentences, side.choice.settings)
    messages.warn_of_cuts(sentences, weights.cut, weights.max_length)
    st.markdown(f"**{side.name}** {messages.plain(shown_name(side))}", help=messages.plain(_highest_layers(weights)))
    by_pooling, _ = _scores(side, weights)
    downloads.draw(
        drawn.weights_and_scores(weights.by_layer, weights.layers, sentences, by_pooling, side.name),
        height=HEIGHT,
        key=f"mean weights {side.name}",
        config=downloads.config("listening"),
        alt="The weight of each layer, a bar for each sentence, and the score of each layer.",
    )


def show_weights(sides: Sequence[Side], sentences: tuple[str, str]) -> None:
    """A heatmap of query and key layers for either sentence, of each side with a pooler."""
    _heatmaps([(side, layer_weights(side.found, sentences, side.choice.settings)) for side in sides], sentences)


def show_scores(sides: Sequence[Side], sentences: tuple[str, str]) -> None:
    """Whether the layers with high weights have high scores, and the verdict on B against A."""
    sidebar_choice.scored(sides[0].choice)  # measured if it was not, with progress shown
    lines = []
    if len(sides) > 1 and (line := _scores_of_both(*sides)):
        lines.append(line)  # the verdict first
    for side in sides:
        reading = side.choice.reading_of(side.found.folder)
        if not side.has_pooler:
            described = declared.described(reading, side.found.folder)
            lines.append(HAS_NONE.format(side.name, shown_name(side), described))
            continue
        weights = layer_weights(side.found, sentences, side.choice.settings)
        highest = [float(np.nanmax(of_layers)) for of_layers in weights.by_layer]
        layers, uniform = weights.layers, 1 / len(weights.layers)
        lines.append(WEIGHS.format(side.name, layers[0], layers[-1], _highest_layers(weights), *highest, uniform))
        by_pooling, pairs = _scores(side, weights)
        if by_pooling:
            lines.append(f"{SCORES_ON.format(pairs)} {_compared(weights, by_pooling[weights.key_pooling])}")
    if cosines := _cosines(sides, sentences):
        lines.append(COSINES.format(" and ".join(cosines)))
    st.markdown("\n".join(f"- {messages.plain(line)}" for line in lines))


def _cosines(sides: Sequence[Side], sentences: tuple[str, str]) -> list[str]:
    found = []
    for side in sides:
        settings = side.choice.settings
        encoded = cached.vectors(side.found, sentences, side.choice.reading_of(side.found.folder), settings)
        if encoded is None:
            return []  # they are being computed, and the page says so
        cosine = in_words.cosine(sentence_vectors.similarities(encoded)[0, 1], 3)
        found.append(f"{cosine} under {side.name}")
    return found


def show_parts(sides: Sequence[Side], sentences: tuple[str, str]) -> None:
    """Of each side, what each part of the pooler's head adds to the vectors."""
    for side in sides:
        weights = layer_weights(side.found, sentences, side.choice.settings)
        st.markdown(f"**{side.name}** {messages.plain(shown_name(side))}: {messages.plain(' + '.join(weights.parts))}")
        _attention_shares(weights, side.name)
        if len(weights.parts) == 1:
            st.caption(ATTENTION_ALONE)
            continue
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


def show_history(sides: Sequence[Side], sentences: tuple[str, str]) -> None:
    """Of each side, how its weights changed in training."""
    for side in sides:
        _history(side, layer_weights(side.found, sentences, side.choice.settings))


def about_poolers() -> None:
    """What the paper found, the settings of the example, and the way to train a pooler."""
    st.caption(PAPER)
    with st.container(horizontal=True):
        for run in runs.examples():
            if has_pooler(run.model):
                label, address = SETTINGS.format(messages.plain(run.name)), {"run": run.name}
                st.page_link("pages/train.py", label=label, icon=":material/settings:", query_params=address)
        method = next(name for name, card in training_form.methods().items() if "pooler" in card.knobs)
        st.page_link(
            "pages/train.py",
            label="Train a pooler over layers",
            icon=":material/model_training:",
            query_params={"method": method},
        )


@cached_texts.by_stamp(lambda found, sentences, settings: (found.digest, digest_of(sentences), settings), 32)
def layer_weights(
    _found: Found, _sentences: tuple[str, ...], _settings: measure.Settings
) -> attention_weights.LayerWeights:
    """The layer weights of an encoder's pooler for sentences."""
    return attention_weights.layer_weights(loaded_encoders.encoder(_found, _settings), _sentences, _settings.max_length)


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


def _scores_of_both(side: Side, side_b: Side) -> str:
    """Better, worse or could be chance on the set; "" while A is measured, and how to get the scores of B."""
    scored = sidebar_choice.scored(side.choice)
    if scored is None:
        return ""
    name, settings = shown_name(side_b), side_b.choice.settings
    scores = cached.kept_scores(side_b.found, scored.pairs, settings)
    if scores is None:
        return NOT_SCORED.format(name, scored.pairs.name)
    reading = side_b.choice.reading_of(side_b.found.folder)
    metric = scores.metrics[0]
    comparison = Comparison(scored.scores, scores, scored.reading, reading)
    gap = difference((*scored.measured, side_b.found.digest, settings), comparison)
    one, two = scored.scores.score(scored.reading, metric), scores.score(reading, metric)
    verdict = Verdict.of(one, two, gap)
    return sentence(verdict, f"A, {runs.model_title(side.found.name)},", f"B, {name},", scored.pairs.name).text


def _scores(side: Side, weights: attention_weights.LayerWeights) -> tuple[dict[str, attention_weights.Floats], str]:
    """The main metric by layer, under the key pooling first, if it was measured before; and the name of the set."""
    try:
        pairs = side.choice.evaluated()
    except StrataError:
        return {}, ""  # it is not on this disk
    scores = cached.kept_scores(side.found, pairs, side.choice.settings)
    if scores is None or weights.key_pooling not in scores.poolings:
        return {}, pairs.name
    poolings = dict.fromkeys((weights.key_pooling, weights.query_pooling))
    by_pooling = {
        name: np.array([scores.score(Reading(Row((layer,)), name), scores.metrics[0]) for layer in weights.layers])
        for name in poolings
        if name in scores.poolings
    }
    return by_pooling, pairs.name


@cached_texts.by_stamp(lambda measured, it: (measured, it.one_reading.title, it.other_reading.title), 32)
def difference(_measured: Hashable, _comparison: Comparison) -> bootstrap.Interval:
    """B minus A under the chosen layer & pooling of each; `_measured` identifies models, pairs and settings."""
    return _comparison.chosen(_comparison.one.metrics[0])


def _heatmaps(models: list[tuple[Side, attention_weights.LayerWeights]], sentences: tuple[str, str]) -> None:
    weights = models[0][1]
    st.caption(
        f"Rows are query layers ({weights.query_pooling}), columns are key layers ({weights.key_pooling}). A cell is "
        "the weight of a query layer on a key layer; each row sums to 1. All figures share one colour scale."
    )
    every = np.concatenate([one.weights[np.isfinite(one.weights)] for _, one in models])
    low, high = (float(every.min()), float(every.max())) if len(every) else (0.0, 1.0)
    for model, one in models:
        if len(models) > 1:
            st.markdown(
                f"**{model.name}** {messages.plain(shown_name(model))}: {messages.plain(' + '.join(one.parts))}"
            )
        columns = st.columns(2, gap="medium")
        for place, (text, of_sentence) in enumerate(zip(sentences, one.weights, strict=True)):
            with columns[place]:
                # one line each, so that the figures align; the boxes above show the whole sentences
                st.markdown(f"“{messages.plain(messages.shortened(text, 36))}”")
                downloads.draw(
                    drawn.query_by_key(of_sentence, one.layers, low, high, one.query_pooling, one.key_pooling),
                    key=f"weights {model.name} {place}",
                    config=downloads.config("listening"),
                    alt="Weights of the pooler for one sentence, a row for each query layer and a column for each key "
                    "layer. The file below has the numbers.",
                )
        downloads.rows(attention_weights.weight_rows(sentences, one), f"{shown_name(model)} layer weights", FILE)


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


def _history(side: Side, weights: attention_weights.LayerWeights) -> None:
    """The mean weight of each layer at each evaluation of the model's run, or the reason why there are none."""
    run = runs.of_model(side.found.folder)
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
    evaluations = run_curves.numbers(run.folder).evaluations(number)
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
