"""Show the best layer & pooling, chosen on dev and reported on test, and the scores of all as a grid and as lines."""

from collections.abc import Callable, Hashable
from functools import partial
from html import escape

import numpy as np
import streamlit as st

from explorer import in_words
from explorer.data.graded import sets
from explorer.data.set_items import ItemSet, all_of, counted, size_of
from explorer.data.text_sets import GradedPairs
from explorer.drawing.scores import curves, distributions, grid
from explorer.encoding.load import declared
from explorer.encoding.read.pooling import OWN, Reading
from explorer.measuring.comparing import comparison_report, similarity_text
from explorer.measuring.scores import best_cell, calibration, layer_scores, metrics, verdict
from explorer.training.record import used_rows
from explorer.ui import messages
from explorer.ui.access import cached_texts, set_choice, sidebar_choice, splits
from explorer.ui.frame import sidebar
from explorer.ui.widgets import controls, cosine_meaning, downloads

BEST_ON_DEV, DEFAULT, CHOSEN = "Best on the dev set", "Model default", "Chosen"
BEST_OF_ALL, DEV_SECOND, DEV_TIED = "Best of {} layers & poolings", "Second best on the dev set", "Tied on the dev set"
VERDICT = "**{}** is the best on {} ({}){}: {} → on {}: **{}**."
FAILS = "**The best on {} ({}), {}, does not hold**: {} → on {}: **{}**, {}."
BELOW = "**The model default is not beaten**: the best on {} ({}), {}, has {} → on {}: **{}**, {}."
BEST_HERE = "**{}** has the highest {} of {} layers & poolings{}: **{}**, {}."
ONLY = "**{}**: {} {} on {}."
SECOND, ALSO_SECOND = "the second best, {}", ", the second best"
DIFFERENCES = "Differences are on {}, with {} ({})."
SCORES, COSINES, EXPORT = "Scores", "Cosines", "Export"  # tabs, and that of cosine_meaning
WHOSE, CELL = "Which", "Layer & pooling"  # columns
MOST_HEIGHT = 430  # pixels of the grid
INFLATED = (
    "Choosing the best cell on the set it is scored on inflates its score. To report a number, choose the layer & "
    "pooling on a dev set and score it on a test set."
)
GRID = "grid of layers and poolings"
SILENT = "No {}: {} has no correlation, because it has fewer than {} pairs or all its gold scores are equal."


def headline(
    scored: sidebar_choice.ModelScores, choice: sidebar_choice.Choice, metric: str, aggregate: str
) -> Callable[[], None]:
    """The answer, if the set has a dev and a test split; else the best cell of the set, with a warning.

    Gives what draws the table of these scores.
    """
    scores = scored.scores
    if scores.limit is None:  # vectors, which have no layers to choose among
        score = layer_scores.text_of(scores.score(OWN, metric, aggregate))
        st.markdown(ONLY.format(DEFAULT, metric, score, size_of(scored.pairs)))
        return partial(_table, scored, {DEFAULT: OWN}, {scored.pairs.name: scores}, metric, aggregate)
    both = splits.dev_and_test(scored, choice)
    if both is None:
        rows = _best_here(scored, metric, aggregate)
        _why_no_dev_set(choice.evaluation_set)
        return partial(_table, scored, rows, {scored.pairs.name: scores}, metric, aggregate)
    dev, test = both
    chosen = best_layer((dev.measured, test.measured), metric, aggregate, dev.scores, test.scores)
    if chosen is None:
        st.warning(
            f"No layer & pooling has a score on {messages.plain(dev.name)}. Choose **all** sub-corpora, or a set "
            "with more pairs.",
            icon=":material/block:",
        )
    else:
        _verdict(chosen, dev, test, declared.default_cell(scored.found.folder), scored.pairs.item)
    best, second, ties = (None, None, ()) if chosen is None else (chosen.best, chosen.runner_up, chosen.ties)
    rows = {BEST_ON_DEV: best, DEV_TIED if ties else DEV_SECOND: second, DEFAULT: OWN, CHOSEN: scored.reading}
    differences = DIFFERENCES.format(test.name, verdict.CI, comparison_report.INTERVAL_BY) * (chosen is not None)
    return partial(_table, scored, rows, {dev.name: dev.scores, test.name: test.scores}, metric, aggregate, differences)


def _best_here(scored: sidebar_choice.ModelScores, metric: str, aggregate: str) -> dict[str, Reading | None]:
    """The best layer & pooling of a set that chooses and scores it, with a warning; the rows of the table."""
    scores = scored.scores
    best = scores.best_of_all(metric, aggregate)
    count = np.isfinite(scores.table(metric, aggregate)).sum() + (best == OWN)
    why = layer_scores.why_missing(scores, best or scores.grid[0], metric, aggregate)
    if best is None or why:
        st.warning(layer_scores.NO_SCORES.format(messages.plain(why)), icon=":material/block:")
    else:
        score = layer_scores.text_of(scores.score(best, metric, aggregate))
        tied = layer_scores.tied_text(scores.ties(best, metric, aggregate))
        found = BEST_HERE.format(best.title, metric, count, tied, score, size_of(scored.pairs))
        st.info(f"{found} {INFLATED}", icon=":material/balance:")
    return {BEST_OF_ALL.format(count): best, DEFAULT: OWN, CHOSEN: scored.reading}


def _verdict(
    chosen: best_cell.BestCell, dev: splits.ScoredSet, test: splits.ScoredSet, default: Reading, item: str
) -> None:
    """Whether the best of the dev set holds on the test set, its two scores, and the differences, in one sentence.

    The colour follows the difference to the model default, which is the layer & pooling `default`.
    """
    over_default, rivals = chosen.over_default, []
    also = over_default is not None and chosen.runner_up == default
    if over_default is not None:
        rivals.append(
            best_cell.difference_in_words(
                (chosen.default_score, chosen.test_score),
                over_default,
                best_cell.default_title(test.scores) + ALSO_SECOND * (also and not chosen.ties),
            )
        )
    if chosen.runner_up is not None and chosen.over_runner_up is not None and not also:
        scores = chosen.runner_up_score, chosen.test_score
        second = chosen.runner_up.title if chosen.ties else SECOND.format(chosen.runner_up.title)
        rivals.append(best_cell.difference_in_words(scores, chosen.over_runner_up, second))
    listed = "; ".join(messages.plain(one) for one in rivals)
    best, many, on_dev, on_test = (
        chosen.best.title,
        counted(dev.count, item),
        *map(messages.plain, (dev.name, test.name)),
    )
    before, after = (layer_scores.text_of(score) for score in (chosen.dev_score, chosen.test_score))
    tied = layer_scores.tied_text(chosen.ties)
    numbers = on_dev, many, f"{best}{tied}", before, on_test, after, listed
    if not chosen.holds:
        st.warning(FAILS.format(*numbers), icon=":material/trending_down:")
    elif chosen.is_below_default:
        st.info(BELOW.format(*numbers), icon=":material/balance:")
    else:
        box, icon = st.info, ":material/balance:"
        if over_default is not None and over_default.sure:
            box, icon = st.success, ":material/trending_up:"
        sentence = VERDICT.format(best, on_dev, many, tied, before, on_test, after)
        box(f"{sentence} It is {listed}." if listed else sentence, icon=icon)


def _table(
    scored: sidebar_choice.ModelScores,
    cells: dict[str, Reading | None],
    sets: dict[str, layer_scores.LayerScores],
    metric: str,
    aggregate: str,
    differences: str = "",
) -> None:
    """The scores of these layers & poolings by their label, a column for each set; equal ones share a row."""
    found: dict[tuple[str, ...], dict[str, list[str]]] = {}
    last = [*sets.values()][-1]
    for label, cell in cells.items():
        if cell is None or (label == DEFAULT and last.own is None):
            continue
        title = last.own_title if cell == OWN else cell.title
        title = layer_scores.why_missing(last, cell, metric, aggregate) or title
        shown = tuple(layer_scores.text_of(one.score(cell, metric, aggregate)) for one in sets.values())
        is_known = layer_scores.NO_SCORE not in shown
        row = found.setdefault(shown if is_known else (label,), {WHOSE: [], CELL: []})
        for column, text in ((WHOSE, label), (CELL, title), *zip(sets, shown, strict=True)):
            row[column] = list(dict.fromkeys((*row.get(column, ()), text)))
    help = st.column_config.TextColumn(help=controls.what_is_good(metric))
    rows = [{column: " · ".join(texts) for column, texts in row.items()} for row in found.values()]
    st.dataframe(rows, hide_index=True, column_config=dict.fromkeys(sets, help))
    _how_scored(scored, f"{metric} × 100 of {size_of(scored.pairs)}. {messages.plain(differences)}".rstrip())


def _how_scored(scored: sidebar_choice.ModelScores, what: str) -> None:
    scores = scored.scores
    cut = f"{scores.truncated:,} were truncated" if scores.truncated else "none was truncated"
    cut += f"; {scores.in_windows:,} passages were read in windows" * bool(scores.in_windows)
    encoded = f"were encoded, at most {scores.limit} tokens each: {cut}." if scores.limit else "have vectors."
    st.caption(
        f"{what} {scores.sentences:,} sentences of {messages.plain(scored.pairs.name)} {encoded} "
        f"Computed in {scores.precision} on {messages.plain(scores.where)} in {scores.seconds:.1f} s."
    )


def _why_no_dev_set(given: sets.SetIdentity) -> None:
    names = sets.dev_and_test(given)
    why = cached_texts.why_not_split(given) if given.kind == sets.SetKind.UPLOADED else ""
    missing = next((one for one in names or () if not why and not set_choice.on_this_disk(one)), None)
    if why:
        st.caption(messages.plain(why))
    elif missing is not None:
        title = messages.plain(missing.title)
        st.caption(f"With {title} the best is chosen on the dev set and reported on the test set.")
        set_choice.offer_set(missing)
    elif names is not None:
        dev, test = (messages.plain(one.title) for one in names)
        st.caption(f"Once both are scored, the best is chosen on {dev} and reported on {test}.")


@st.cache_resource(max_entries=32, show_spinner=False)
def best_layer(
    measured: Hashable, metric: str, aggregate: str, _dev: layer_scores.LayerScores, _test: layer_scores.LayerScores
) -> best_cell.BestCell | None:
    """The layer & pooling chosen on dev and compared on test; `measured` identifies models, pairs and settings."""
    return best_cell.choose(_dev, _test, metric, aggregate)


def warn_of_trained_rows(scored: sidebar_choice.ModelScores) -> None:
    """Warn of rows that the run of the model, or of its base, trained on."""
    if words := used_rows.in_training_text([scored.found], scored.pairs).words:
        st.warning(messages.plain(words), icon=":material/visibility:")


def warn_of_silent_parts(scores: layer_scores.LayerScores, aggregate: str) -> None:
    """Warn of sub-corpora without a correlation, if sub-corpora are averaged."""
    if aggregate != "all" and scores.silent_parts:
        some = ", ".join(scores.silent_parts[:5])
        st.warning(
            messages.plain(SILENT.format(aggregate, some, metrics.LEAST_PAIRS)) + " Choose **all**.",
            icon=":material/block:",
        )


def show(scores: layer_scores.LayerScores, metric: str, aggregate: str, reading: Reading, pairs: ItemSet) -> None:
    """The clickable grid, and the same numbers as lines; nothing without a score: `headline` says why."""
    if not scores.has_any(metric, aggregate):
        return
    left, right = st.columns([2, 3], gap="medium")
    with left:
        downloads.draw(
            grid.layer_by_pooling(
                scores, metric, aggregate, reading, short=downloads.presenting(), most_height=MOST_HEIGHT
            ),
            key=GRID,
            on_select=lambda: sidebar.choose_clicked(GRID, scores),
            selection_mode="points",
            config=downloads.config("layers"),
            alt=f"{metric} of every layer under every pooling, as a grid. The export has the same numbers.",
        )
    with right:
        downloads.draw(
            curves.score_by_layer(scores, metric, aggregate, reading, most_height=MOST_HEIGHT),
            config=downloads.config("layers"),
            alt=f"{metric} by layer, a line for each pooling. The export has the same numbers.",
        )
    if scores.not_measured_text:
        st.caption(scores.not_measured_text)
    st.caption(f"{messages.plain(all_of(pairs))} Click a cell to choose its layer & pooling for every page.")


def cosines(scored: sidebar_choice.ModelScores, pairs: GradedPairs, choice: sidebar_choice.Choice) -> None:
    """The figure of the chosen layer & pooling, or the reason why there is none."""
    labels = metrics.is_binary(scored.scores.gold)
    st.markdown(f"**Cosine by {'label' if labels else 'human score'}: {scored.reading.title}**")
    if not scored.scores.is_measured(scored.reading):
        st.info(f"{scored.reading.title} is {scored.scores.why_not_measured(scored.reading)}.", icon=":material/block:")
        return
    if not labels:
        downloads.draw(
            distributions.cosine_by_gold(scored.scores, pairs, scored.reading),
            config=downloads.config("layers"),
            alt=f"Cosines of {scored.reading.title} by human score.",
        )
        st.caption(messages.plain(all_of(pairs)))
        return
    gold, cosines = scored.scores.gold, scored.scores.cosines_of(scored.reading)
    known = cosine_meaning.threshold_of_best_f1(scored, choice)
    few = known is None and not splits.is_measured_now(choice)  # pairs for a dev set and a test set
    best = calibration.best_threshold(gold, cosines) if few else None
    threshold = known[0].cosine if known else best.threshold if best else None
    downloads.draw(
        distributions.cosines_by_label(gold, cosines, pairs, threshold),
        config=downloads.config("layers"),
        alt=f"Cosines of {scored.reading.title} for both labels: a point for each pair, and their density.",
    )
    positive, share = gold.max(), (gold == gold.max()).mean()
    chance = (
        f"{in_words.percent(share, 1)} of the pairs have the label {positive:g}: a random order has an average "
        f"precision of {100 * share:.2f}."
    )
    if known is not None:
        threshold_text = similarity_text.threshold_text(known[0])
        text = f"{threshold_text[:1].upper()}{threshold_text[1:]}; {known[1]}. {chance}"
        st.caption(messages.plain(text))
    elif best is not None:
        st.caption(
            f"Best F1: {100 * best.f1:.2f}, if pairs with a cosine of {best.threshold:.4f} or more are called "
            f"{positive:g} (precision {100 * best.precision:.2f}, recall {100 * best.recall:.2f}). The threshold was "
            f"chosen on these pairs, so its F1 is optimistic. {chance}"
        )


def export(scored: sidebar_choice.ModelScores, metric: str, aggregate: str) -> None:
    """The table with its download, and the figure as an HTML page."""
    table = layer_scores.score_rows(scored.scores)
    score = st.column_config.NumberColumn(format="%.2f")
    scores = dict.fromkeys([name for name in table[0] if name not in ("reading", "layer", "pooling")], score)
    downloads.table(table, lines=8, columns=scores)
    stem = downloads.file_name(f"{scored.found.name}-{scored.pairs.name}")
    with st.container(horizontal=True):
        downloads.file("Table (CSV)", layer_scores.as_csv(table), f"{stem}.csv", "text/csv", icon=":material/table:")
        # made on request: the self-contained page includes 4 MB of plotly
        page = partial(_html_page, scored, metric, aggregate)
        downloads.file("Figure (HTML)", page, f"{stem}.html", "text/html", icon=":material/show_chart:")
    st.caption("To save a figure as SVG or PNG, use the camera in its corner; set the figure format in the sidebar.")


def _html_page(scored: sidebar_choice.ModelScores, metric: str, aggregate: str) -> bytes:
    figure = curves.score_by_layer(scored.scores, metric, aggregate, scored.reading)
    title = escape(f"{scored.found.name} on {scored.pairs.name}", quote=False)
    # margins for the title and the axis numbers
    figure.update_layout(template="plotly_white", title={"text": title, "y": 0.97}, margin={"t": 100, "l": 70})
    page: str = figure.to_html(include_plotlyjs=True, full_html=True)
    return page.encode()
