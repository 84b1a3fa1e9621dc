"""Show the verdict and what supports it: scores, grids and curves of A, of B and of B - A, and probe packs."""

from dataclasses import replace

import streamlit as st

from explorer import errors, in_words
from explorer.data import sample
from explorer.data.set_items import several, size_of
from explorer.drawing.scores import curves, distributions, grid
from explorer.drawing.sentences import pair_figures
from explorer.measuring.comparing import comparison_report, pair_changes
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.comparing.comparison_verdict import BASE, BASE_AS_TRAINED, TUNED
from explorer.measuring.comparing.learned_facts import Learned
from explorer.measuring.scores import best_cell, bootstrap, layer_scores, verdict
from explorer.measuring.sentences.probe_cosines import probed, sentences_of
from explorer.training.record.run_results import known_probes
from explorer.ui import messages
from explorer.ui.access.sidebar_choice import Reader
from explorer.ui.compare import compared as comparing
from explorer.ui.compare import geometry_view
from explorer.ui.frame import sidebar
from explorer.ui.widgets import controls, downloads, microscope

BARS, GRID = 244, 440  # pixels, of the bars and of a grid of few layers: all fits on a screen of 1280 x 720
SECOND_LINE = 90  # less for the bars where the verdict has a second line
_ONE_SCREEN = """<style>
.st-key-one-screen { margin-top: -0.6rem; }
.st-key-one-screen p { font-size: 18px; line-height: 1.4; }
.st-key-one-screen [data-testid="stAlertContainer"] { padding: 0.4rem 0.7rem; }
.st-key-one-screen [data-testid="stAlertContainer"] p { font-size: 21px; }
.st-key-one-screen [data-testid="stElementContainer"] ~ * [data-testid="stAlertContainer"] p { font-size: 18px; }
.st-key-one-screen [data-testid="stColumn"] [data-testid="stColumn"] * > [data-testid="stVerticalBlock"] {
  padding: 0.3rem 0.6rem;
}
.st-key-one-screen [data-testid="stBaseButton-tertiary"] { min-height: 0; padding: 0; }
</style>"""
_CARDS = {
    BASE: "The base as people use it: under the layer & pooling that it declares.",
    BASE_AS_TRAINED: "The base under the layer & pooling that the run trained: the gap to the tuned model is due to "
    "training alone.",
    TUNED: "The saved model, as sentence-transformers loads it.",
}
NOT_ENCODED = "Small differences in meaning are not judged: the probe packs were not encoded."
DIFFERENCE_HELP = (
    f"Score of B minus score of A, with its {verdict.CI}. Above 0: B is better. If the interval includes 0, it could "
    "be chance."
)
DIFFERENCE = "B - A"
NO_CELLS = "No differences by cell. {} The chosen layers & poolings are compared above."


def show(compared: comparing.Compared, changes: Learned | None) -> str:
    """The verdict, its pairs and the scores. Gives the name of the grid that is drawn here, if one is."""
    drawn = ""
    if changes is not None and downloads.presenting():
        # on one screen: the verdict, the pairs and the bars on the left, the grid and what it shows on the right
        st.html(_ONE_SCREEN)
        with st.container(key="one screen"):
            left, right = st.columns((7, 3), gap="small")
        with left.container(gap="xsmall"):
            _news(compared, changes)
            _pairs(compared, changes)
            if changes.packs:
                second = bool(compared.verdict.learned(changes).elsewhere)
                _draw_probes(compared, changes, BARS - SECOND_LINE * second)
        with right.container(gap="xsmall"):
            drawn = "B" if compared.differences.grid is None else DIFFERENCE
            _grid(compared, drawn, GRID)
            _cells_that_changed(compared)
    elif changes is not None:
        _news(compared, changes)
        _cells_that_changed(compared)
        _pairs(compared, changes)
    # those of the chosen layers & poolings follow if the verdict compares others
    found, chosen = compared.verdict, compared.differences.chosen
    if found.tuning is None:
        _score_cards(compared.comparison, compared.metric, compared.aggregate, chosen)
    else:  # the base under model default, the base under the trained layer & pooling, and the tuned model
        numbers = found.numbers()
        for card, (label, one) in zip(st.columns(len(numbers), gap="small"), numbers, strict=True):
            help = f"{_CARDS[label]} {controls.what_is_good(compared.metric)}"
            messages.number(card, label, layer_scores.text_of(one.score), one.reading, border=True, help=help)
        if found.why_not_same:
            st.caption(messages.plain(found.why_not_same))
    if found.why_none:
        st.caption(messages.plain(f"No score: {found.why_none}."))
    if not compared.about_chosen:
        (word, _), _, (detail, _) = replace(compared, of_models=None).verdict.sentence().pieces
        st.markdown(f"Under the chosen layers & poolings: **{messages.plain(word.lower())}**. {messages.plain(detail)}")
        _score_cards(compared.comparison, compared.metric, compared.aggregate, chosen)
    return drawn


def _news(compared: comparing.Compared, changes: Learned) -> None:
    found = compared.verdict
    if not messages.learned(found.learned(changes)):
        messages.verdict(found.sentence())
    if found.why_optimistic:
        st.warning(messages.plain(found.why_optimistic), icon=":material/balance:")


def _cells_that_changed(compared: comparing.Compared) -> None:
    if compared.where:
        st.markdown(f"**Where:** {messages.plain(compared.where)}")


def _pairs(compared: comparing.Compared, changes: Learned) -> None:
    """Three pairs of the probe packs that show it, or why there are none."""
    if changes.pairs:
        sides = "base → tuned" if compared.verdict.tuning else "A → B"
        microscope.pairs_that_show(changes.pairs, sides, microscope.COMPARE)
    elif changes.why_none:
        st.caption(messages.plain(changes.why_none))
    microscope.words_over(microscope.COMPARE, _readers(compared))


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
    """The cells that gained most and lost most, one line each."""
    gained, lost = comparison_report.most_changed(compared.cells())
    if not (gained or lost):
        return
    st.subheader("Layers & poolings that changed most")
    left, right = st.columns(2, gap="medium")
    _lines(left, "Gained most", ":material/trending_up:", gained)
    _lines(right, "Lost most", ":material/trending_down:", lost)
    st.caption("B - A. These are the extremes of all cells, so part of their change is chance.")


def _lines(column: st.delta_generator.DeltaGenerator, title: str, icon: str, rows: in_words.Rows) -> None:
    column.markdown(f"**{icon} {title}**")
    if not rows:
        column.markdown("none")
    for row in rows:
        one, other = (float(str(row[name])) for name in ("A", "B"))
        gap, interval = in_words.gap(one, other), ""
        if row["low"] is not None:
            chance = "" if row[comparison_report.SIGNIFICANT] else ", could be chance"
            ends = in_words.ends(gap, *(float(str(row[name])) for name in ("low", "high")))
            interval = f" ({verdict.CI} {ends}{chance})"
        column.markdown(
            f"{row[comparison_report.READING]}: {in_words.arrow(one, other)}, **{in_words.signed(gap)}**{interval}"
        )


def _score_cards(comparison: Comparison, metric: str, aggregate: str, chosen: bootstrap.Interval) -> None:
    where = st.container(horizontal=True)
    scores = comparison_report.chosen_scores(comparison, metric, aggregate)
    readings = comparison.one_reading, comparison.other_reading
    for name, score, reading in zip("AB", scores, readings, strict=True):
        text, help = layer_scores.text_of(score), controls.what_is_good(metric)
        messages.number(where, name, text, reading.title, border=True, help=help)
    difference, sure = comparison_report.difference_text(scores, chosen), comparison_report.chance_text(chosen)
    messages.number(where, "B - A", difference, sure, border=True, help=DIFFERENCE_HELP)


def show_picked(found: best_cell.DevPick, sides: comparing.Sides, metric: str, aggregate: str) -> None:
    """Both scores under the picked layers & poolings, their difference, and how they were picked."""
    comparison = Comparison(sides[0].scores, sides[1].scores, *found.readings)
    differences = comparing.differences((sides[0].measured, sides[1].measured), comparison, metric, aggregate)
    _score_cards(comparison, metric, aggregate, differences.chosen)
    st.caption(messages.plain(found.words))

    def take() -> None:
        sidebar.choose_reading(found.readings[0])
        sidebar.choose_reading_of_b(found.readings[1])

    if found.readings != (sides[0].reading, sides[1].reading):
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
    sides, packs = _readers(compared), sample.probe_packs()
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


def show_probes(compared: comparing.Compared, changes: Learned | None, *, drawn: bool = False) -> None:
    """The bars under their heading, unless they are drawn already, and what they are of."""
    st.subheader("Small differences in meaning")
    if changes is None:
        st.caption("The probe packs are being encoded; the bars follow.")
        return
    if not changes.packs:
        st.caption(messages.plain(changes.why_none))
        return
    if not drawn:
        _draw_probes(compared, changes)
    st.caption(
        " · ".join(reader.title for reader in _readers(compared))
        + ". A case is a paraphrase and a pair with this difference in meaning; it is right if the paraphrase has the "
        "higher cosine. Higher is better; a coin would get 50 %. The Sentences page shows every pair of these probe "
        "packs."
    )
    st.page_link(
        "pages/sentences.py", label="All probe pairs", icon=":material/notes:", query_params={"look": "Probe packs"}
    )


def _draw_probes(compared: comparing.Compared, changes: Learned, height: int | None = None) -> None:
    """Two bars for each probe pack: the share of cases in which A and B are right; `height` is in pixels."""
    sides: dict[str, dict[str, float]] = {side: {} for side in "AB"}
    for change in changes.packs:
        shares = (change.before, change.after) if compared.after == 1 else (change.after, change.before)
        for side, share in zip("AB", shares, strict=True):
            sides[side][change.name] = share.value
    downloads.draw(
        pair_figures.shares_side_by_side(sides),
        height=height,
        key="probe shares",
        config=downloads.config("probe-shares"),
        alt="Share of cases in which A and B place a paraphrase above a sentence with a small difference in meaning, "
        "for every kind of difference. The Sentences page has a table.",
    )


def _readers(compared: comparing.Compared) -> tuple[Reader, ...]:
    """The two sides, under the layers & poolings that the verdict compares."""
    readings = compared.about.one_reading, compared.about.other_reading
    return tuple(
        Reader(name, shown.found, reading, choice.settings)
        for name, shown, reading, choice in zip("AB", compared.sides, readings, compared.choices, strict=True)
    )


def grids(compared: comparing.Compared, *, but: str = "") -> None:
    """The grids of A, of B and of the differences, but for the one that is drawn already."""
    names = [name for name in ("A", "B", DIFFERENCE) if name != but]
    for name, column in zip(names, st.columns(len(names), gap="small"), strict=True):
        with column:
            _grid(compared, name)
    for text in compared.comparison.not_measured_text:
        st.caption(text)
    st.caption(
        "Choosing a cell on the pairs that it is scored on inflates its score. To report a number, choose on a dev set "
        "and report on a test set."
    )


def _grid(compared: comparing.Compared, name: str, height: int = 0) -> None:
    comparison, metric, differences = compared.comparison, compared.metric, compared.differences
    scores = comparison.other if name == "B" else comparison.one
    if name == DIFFERENCE:
        st.subheader(name)
        if differences.grid is None:
            st.info(NO_CELLS.format(comparison.why_no_cells), icon=":material/difference:")
            return
        about = metric, compared.aggregate
        figure = grid.difference_grid(comparison, *about, differences.grid, differences.own)
        key, file = "grid of differences", "grid-difference"
        alt = "B minus A for every layer & pooling. The table below has the numbers."
    else:
        st.subheader(f"{name}: every layer & pooling")
        reading = comparison.one_reading if name == "A" else comparison.other_reading
        span = grid.span_of(comparison.one, comparison.other, metric=metric, aggregate=compared.aggregate)
        figure = grid.layer_by_pooling(scores, metric, compared.aggregate, reading, span, short=True)
        key, file = f"grid of {name}", f"grid-{name}"
        alt = f"{metric} of every layer & pooling of {name}, as a grid. The table below has the numbers."

    def choose_clicked() -> None:  # of the differences, the cell is that of both
        reading = controls.clicked_cell(key, scores)
        if reading is not None and name != "B":
            sidebar.choose_reading(reading)
        if reading is not None and name != "A":
            sidebar.choose_reading_of_b(reading)

    downloads.draw(
        figure,
        least=height,
        key=key,
        on_select=choose_clicked,
        selection_mode="points",
        config=downloads.config(file),
        alt=alt,
    )


def lines(compared: comparing.Compared) -> str:
    """Lines by layer under a pooling, which is returned, and cosines by gold score."""
    comparison, metric, aggregate = compared.comparison, compared.metric, compared.aggregate
    left, right = st.columns(2, gap="medium")
    with left:
        st.subheader("By layer")
        pooling = geometry_view.pooling_control(comparison.one, comparison.other)
        downloads.draw(
            curves.compared_by_layer(comparison, pooling, metric, aggregate, compared.differences.grid),
            config=downloads.config("by-layer"),
            alt=f"{metric} of A and B by layer under {pooling}, and the difference with its interval.",
        )
    if compared.sides[0].graded is None:
        return pooling
    with right:
        st.subheader("Cosines by gold score")
        bins = comparison.gold_bins()
        downloads.draw(
            distributions.cosines_by_gold(bins),
            config=downloads.config("cosines"),
            alt="Histograms of the cosines of A and B, one for each fifth of the gold score scale. "
            "The file below has the numbers.",
        )
        st.caption(pair_changes.HOW_TO_READ)
        downloads.rows(pair_changes.gold_bin_rows(bins), f"{compared.stem} cosines", "Histograms (CSV)")
    return pooling
