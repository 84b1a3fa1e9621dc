"""Show the verdict with its figure, how sure it is, and the layers: grids and curves of A, of B and of B − A."""

from dataclasses import replace

import streamlit as st

from explorer import errors, in_words
from explorer.data import sample
from explorer.data.set_items import all_of, several, size_of
from explorer.drawing.scores import curves, grid
from explorer.drawing.scores.changes import SetChange, packs_changed, sets_changed
from explorer.measuring.comparing import comparison_report, headline
from explorer.measuring.comparing.comparison import (
    READING,
    SIGNIFICANT,
    Comparison,
    chosen_scores,
    most_changed,
    not_measured,
)
from explorer.measuring.comparing.comparison_verdict import BASE, BASE_AS_TRAINED, TUNED, labelled_scores, why_not_same
from explorer.measuring.comparing.learned import HOW_SURE, sure
from explorer.measuring.comparing.learned_facts import Learned
from explorer.measuring.scores import best_cell, layer_scores, verdict
from explorer.measuring.sentences.probe_cosines import probed, sentences_of
from explorer.training.record import runs
from explorer.training.record.run_results import known_probes
from explorer.ui import messages
from explorer.ui.access import sidebar_choice
from explorer.ui.access.sidebar_choice import Choice, Reader
from explorer.ui.compare import compared as comparing
from explorer.ui.compare import geometry_view
from explorer.ui.frame import sidebar
from explorer.ui.widgets import controls, downloads, pair_words

_CARDS = {
    BASE: "The base as people use it: under the layer & pooling that it declares.",
    BASE_AS_TRAINED: "The base under the layer & pooling that the run trained: the gap to the tuned model is due to "
    "training alone.",
    TUNED: "The saved model, as sentence-transformers loads it.",
}
ROOM, PRESENTED = 380, 370  # pixels of the figure of what changed
NOT_ENCODED = "Small differences in meaning are not judged: the probe packs were not encoded."
DIFFERENCE = "B − A"
CHOOSE_ON_DEV = (
    "Click a cell to choose it. Choosing a cell on the pairs that it is scored on inflates its score: to report a "
    "number, choose on a dev set and report on a test set."
)
NO_CELLS = "No differences by cell. {} The chosen layers & poolings are compared below."


def answer(compared: comparing.Compared, changes: Learned | None) -> None:
    """The headline in the colour of its kind, and why a score is optimistic or missing."""
    found = compared.verdict
    learned = found.learned(changes or Learned())
    messages.verdict(headline.line(learned) or found.sentence())
    why = [found.why_optimistic, f"No score: {found.why_none}." * bool(found.why_none)]
    if text := " ".join(filter(None, why)):
        st.caption(f":material/balance: {messages.plain(text)}")


def figure(compared: comparing.Compared, changes: Learned | None) -> bool:
    """What the headline says as a figure: probe packs and scores before and after; without packs the grids.

    Gives whether the grids are drawn.
    """
    if changes is None or not changes.packs:
        grids(compared)
        return True
    learned = compared.verdict.learned(changes)
    scores = learned.scores
    if not scores and learned.main is not None:  # on a set that chose the model: without an interval
        scores = (learned.main,)
    sets = [SetChange(headline.capitalised(headline.subject(learned, one)), one.verdict) for one in scores]
    sides = (1 - compared.after, compared.after)
    left, right = st.columns((3, 2), gap="medium") if sets else (st.container(), None)
    with left:
        downloads.draw(
            packs_changed(changes.packs, ROOM, sides),
            presented=PRESENTED,
            key="what changed",
            config=downloads.config("what-changed"),
            alt="For every kind of small difference in meaning the share of cases that A and B get right, with "
            "intervals. The tab Export has the numbers.",
        )
    if right is not None:
        with right:
            downloads.draw(
                sets_changed(sets, ROOM),
                presented=PRESENTED,
                key="what changed on sets",
                config=downloads.config("what-changed-on-sets"),
                alt="For every set the difference of the scores of A and B with its interval. The tab Export has the "
                "numbers.",
            )
    return False


def chosen_line(compared: comparing.Compared) -> None:
    """Both scores under the chosen layers & poolings, their difference, and whether it could be chance."""
    comparison, chosen = compared.comparison, compared.differences.chosen
    scores = chosen_scores(comparison, compared.metric, compared.aggregate)
    sides = zip("AB", scores, (comparison.one_reading, comparison.other_reading), strict=True)
    parts = [f"{side} **{layer_scores.text_of(score)}** ({reading.title})" for side, score, reading in sides]
    gap, sure = comparison_report.difference_text(scores, chosen), comparison_report.chance_text(chosen)
    st.markdown(f"Under the chosen layers & poolings: {', '.join(parts)}, B − A **{gap}**, {sure}.")


def overview(compared: comparing.Compared, changes: Learned | None) -> None:
    """How sure the headline is, where the score changed, pairs that show it, and what is compared."""
    found = compared.verdict
    if changes is not None:
        learned = found.learned(changes)
        help = HOW_SURE if learned.packs else None
        st.markdown(f"**How sure:** {messages.plain(sure(learned))}", help=help)
    if compared.where:
        st.markdown(f"**Where:** {messages.plain(compared.where)}")
    if changes is not None and changes.shown_pairs:
        sides = "base → tuned" if found.tuning else "A → B"
        pair_words.pairs_that_show(changes.shown_pairs, sides, pair_words.COMPARE)
    elif changes is not None and changes.why_none:
        st.caption(messages.plain(changes.why_none))
    _scores(compared)
    how_measured(compared)


def _scores(compared: comparing.Compared) -> None:
    """What is compared, a line for each score: a tuned model and its base as used and as trained, or A and B."""
    found = compared.verdict
    numbers = labelled_scores(found) if found.tuning else list(zip("AB", (found.before, found.after), strict=True))
    st.markdown("**What is compared**", help=controls.what_is_good(compared.metric))
    lines = [
        f"- {label}: **{layer_scores.text_of(one.score)}**, "
        f"{messages.plain(f'{runs.model_title(one.model)}, {one.reading}')}"
        for label, one in numbers
    ]
    st.markdown("\n".join(lines), help=" ".join(_CARDS[label] for label, _ in numbers if label in _CARDS) or None)
    if why := why_not_same(found):
        st.caption(messages.plain(why))


def how_measured(compared: comparing.Compared) -> None:
    """What the numbers are, of how many pairs, and where typed models are."""
    one = compared.sides[0]
    items = several(one.pairs.item)
    st.caption(
        f"{compared.metric} × 100 of {size_of(one.pairs)}, computed in {one.scores.precision}. In brackets "
        f"the {verdict.CI} ({comparison_report.INTERVAL_BY}) over the same {items} for A and B. "
        "If the interval includes 0, the difference could be chance."
    )
    for side, shown in zip("AB", compared.sides, strict=True):
        if shown.scores.in_windows:
            st.caption(f"{side} reads {shown.scores.in_windows:,} long passages in overlapping windows.")
    for side, shown in zip("AB", compared.sides, strict=True):
        if str(shown.found.folder).endswith(shown.found.name):  # a folder that was typed, by its last part
            st.caption(f"{side} is {messages.plain(str(shown.found.folder))}")


def changed_cells(compared: comparing.Compared) -> None:
    """The cells that gained most and lost most, those that did for certain first, one line each."""
    gained, lost = most_changed(compared.cells())
    if not (gained or lost):
        return
    left, right = st.columns(2, gap="medium")
    _lines(left, "Gained most", ":material/trending_up:", gained)
    _lines(right, "Lost most", ":material/trending_down:", lost)
    st.caption("B − A. These are the extremes of all cells, so part of their change is chance.")


def _lines(column: st.delta_generator.DeltaGenerator, title: str, icon: str, rows: in_words.Rows) -> None:
    column.markdown(f"**{icon} {title}**")
    if not rows:
        column.markdown("none")
    for row in rows:
        one, other = (float(str(row[name])) for name in ("A", "B"))
        gap, interval = in_words.gap(one, other), ""
        if row["low"] is not None:
            chance = "" if row[SIGNIFICANT] else ", could be chance"
            ends = in_words.ends(gap, *(float(str(row[name])) for name in ("low", "high")))
            interval = f" ({verdict.CI} {ends}{chance})"
        column.markdown(f"{row[READING]}: {in_words.arrow(one, other)}, **{in_words.signed(gap)}**{interval}")


def show_picked(picked: best_cell.DevPick, sides: comparing.Sides, metric: str, aggregate: str) -> None:
    """Both scores under the picked layers & poolings, their difference, and how they were picked."""
    comparison = Comparison(sides[0].scores, sides[1].scores, *picked.readings)
    chosen = comparing.differences((sides[0].measured, sides[1].measured), comparison, metric, aggregate).chosen
    scores = chosen_scores(comparison, metric, aggregate)
    parts = [
        f"{side} **{layer_scores.text_of(score)}** ({reading.title})"
        for side, score, reading in zip("AB", scores, picked.readings, strict=True)
    ]
    gap, certain = comparison_report.difference_text(scores, chosen), comparison_report.chance_text(chosen)
    st.markdown(f"Best on the dev set: {', '.join(parts)}, B − A **{gap}**, {certain}.")
    st.caption(messages.plain(picked.words))

    def take() -> None:
        sidebar.choose_reading(picked.readings[0])
        sidebar.choose_reading_of_b(picked.readings[1])

    if picked.readings != (sides[0].reading, sides[1].reading):
        st.button(
            "Use these layers & poolings",
            key="use picked",
            icon=":material/check:",
            on_click=take,
            help="Sets them in the sidebar, for every page.",
        )


def probe_changes(compared: comparing.Compared) -> Learned | None:
    """The changes, as the run measured them, or from vectors; None, with progress shown, until both sides have them."""
    one, other = compared.sides
    known = known_probes((one.found, other.found), compared.verdict, (choice.settings for choice in compared.choices))
    if known is not None:
        return known
    sides, packs = readers(compared), sample.probe_packs()
    if compared.verdict.tuning and compared.verdict.trained:  # the base, as it is trained
        sides = *sides, replace(sides[1 - compared.after], reading=compared.verdict.trained)
    texts = sentences_of(packs)
    try:
        by_key = {key: reader.vectors(texts) for key, reader in {side.key: side for side in sides}.items()}
    except errors.StrataError as error:
        return Learned(why_none=str(error))
    made = [vectors for reader in sides if (vectors := by_key[reader.key]) is not None]
    if len(made) < len(sides):
        return None if any(reader.is_coming(texts) for reader in sides) else Learned(why_none=NOT_ENCODED)
    return compared.verdict.probe_changes(packs, *(probed(packs, vectors).by_pack for vectors in made))


def about_probes(compared: comparing.Compared, changes: Learned | None) -> None:
    """What the probe packs are, and the way to all of them."""
    if changes is None or not changes.packs:
        return
    st.caption(
        " · ".join(reader.title for reader in readers(compared))
        + ". A case is a paraphrase and a pair with a small difference in meaning; it is right if the paraphrase has "
        "the higher cosine. Higher is better."
    )
    st.page_link(
        "pages/sentences.py", label="All probe pairs", icon=":material/notes:", query_params={"look": "Probe packs"}
    )


def readers(compared: comparing.Compared) -> tuple[Reader, ...]:
    """The two sides, under the layers & poolings that the verdict compares."""
    readings = compared.about.one_reading, compared.about.other_reading
    return tuple(
        Reader(name, shown.found, reading, choice.settings)
        for name, shown, reading, choice in zip("AB", compared.sides, readings, compared.choices, strict=True)
    )


def grids(compared: comparing.Compared) -> None:
    """The grids of A, of B and of the differences, and the numbers of the cell that was clicked."""
    names = "A", "B", DIFFERENCE
    for name, column in zip(names, st.columns(len(names), gap="small"), strict=True):
        with column:
            _grid(compared, name)
    chosen_line(compared)
    for text in not_measured(compared.comparison):
        st.caption(text)


def _grid(compared: comparing.Compared, name: str) -> None:
    comparison, metric, differences = compared.comparison, compared.metric, compared.differences
    scores = comparison.other if name == "B" else comparison.one
    if name == DIFFERENCE:
        st.markdown(f"**{name}**", help=CHOOSE_ON_DEV)
        if differences.grid is None:
            st.info(NO_CELLS.format(comparison.why_no_cells), icon=":material/difference:")
            return
        about = metric, compared.aggregate
        drawn = grid.difference_grid(comparison, *about, differences.grid, differences.own)
        key, file = "grid of differences", "grid-difference"
        alt = "B minus A for every layer & pooling. The tab Export has the numbers."
    else:
        st.markdown(f"**{name}**: every layer & pooling", help=CHOOSE_ON_DEV)
        reading = comparison.one_reading if name == "A" else comparison.other_reading
        span = grid.span_of(comparison.one, comparison.other, metric=metric, aggregate=compared.aggregate)
        drawn = grid.layer_by_pooling(scores, metric, compared.aggregate, reading, span, short=True)
        key, file = f"grid of {name}", f"grid-{name}"
        alt = f"{metric} of every layer & pooling of {name}, as a grid. The tab Export has the numbers."

    def choose_clicked() -> None:  # of the differences, the cell is that of both
        reading = controls.clicked_cell(key, scores)
        if reading is not None and name != "B":
            sidebar.choose_reading(reading)
        if reading is not None and name != "A":
            sidebar.choose_reading_of_b(reading)

    downloads.draw(
        drawn, key=key, on_select=choose_clicked, selection_mode="points", config=downloads.config(file), alt=alt
    )


def lines(compared: comparing.Compared) -> None:
    """Lines by layer of A and B under a pooling."""
    comparison, metric, aggregate = compared.comparison, compared.metric, compared.aggregate
    st.markdown("**By layer**")
    pooling = geometry_view.pooling_control(comparison.one, comparison.other)
    downloads.draw(
        curves.compared_by_layer(comparison, pooling, metric, aggregate, compared.differences.grid),
        config=downloads.config("by-layer"),
        alt=f"{metric} of A and B by layer under {pooling}, and the difference with its interval.",
    )


def of_a_alone(choice: Choice) -> None:
    """The grid of A while there is no B."""
    shown = sidebar_choice.scored(choice)
    if shown is None:
        return
    metric = shown.scores.metrics[0]
    if not shown.scores.has_any(metric):
        why = layer_scores.why_missing(shown.scores, shown.scores.grid[0])
        st.warning(layer_scores.NO_SCORES.format(messages.plain(why)), icon=":material/block:")
        return
    model = messages.plain(runs.model_title(shown.found.name))
    st.markdown(f"**A**: every layer & pooling of {model}", help=controls.what_is_good(metric))
    downloads.draw(
        grid.layer_by_pooling(shown.scores, metric, "all", shown.reading, short=True),
        key="grid of A alone",
        config=downloads.config("grid-A"),
        alt=f"{metric} of every layer & pooling of A. The Layers page has the numbers.",
    )
    st.caption(f"{metric} × 100. {messages.plain(all_of(shown.pairs))}")
