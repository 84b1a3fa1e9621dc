"""Show the verdict and what supports it: how sure and where, the scores behind it, and the cells that changed most."""

from __future__ import annotations

import numpy as np
import streamlit as st

from explorer.measuring.comparing import learned_text
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.comparing.comparison_tables import (
    READING,
    SIGNIFICANT,
    cell_rows,
    most_changed,
    told_difference,
)
from explorer.measuring.comparing.comparison_verdict import BASE, BASE_AS_TRAINED, TUNED, judge
from explorer.measuring.comparing.learned import ProbeChanges
from explorer.measuring.scores.bootstrap import RESAMPLES, Interval
from explorer.measuring.scores.verdict_text import CI
from explorer.measuring.table_cells import Rows
from explorer.ui import messages
from explorer.ui.compare import grids_view, probe_changes
from explorer.ui.compare.compared import Compared
from explorer.ui.microscope import word_view
from explorer.ui.widgets import opened_words, picture_format, score_options, verdict_banner

BARS, GRID = 244, 440  # pixels, of the bars and of a grid of few layers: all fits on a screen of 1280 x 720
_ONE_SCREEN = """<style>
.st-key-one-screen { margin-top: -0.6rem; }
.st-key-one-screen p { font-size: 18px; line-height: 1.4; }
.st-key-one-screen [data-testid="stAlertContainer"] { padding: 0.4rem 0.7rem; }
.st-key-one-screen [data-testid="stAlertContainer"] p { font-size: 21px; }
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
DIFFERENCE_HELP = (
    f"Score of B minus score of A, with its {CI}. Above 0: B is better. If the interval includes 0, it could be chance."
)


def show(compared: Compared, changes: ProbeChanges | None) -> str:
    """The verdict, its pairs and the scores. Gives the name of the grid that is drawn here, if one is."""
    drawn = ""
    if changes is not None and picture_format.presenting():
        drawn = _on_one_screen(compared, changes)
    elif changes is not None:
        news(compared, changes)
        where(compared)
        pairs(compared, changes)
    cards(compared)
    return drawn


def _on_one_screen(compared: Compared, changes: ProbeChanges) -> str:
    """The verdict, the pairs and the bars on the left; the grid and what it shows on the right."""
    st.html(_ONE_SCREEN)
    with st.container(key="one screen"):
        left, right = st.columns((7, 3), gap="small")
        with left.container(gap="xsmall"):
            news(compared, changes)
            pairs(compared, changes)
            if changes.packs:
                probe_changes.bars(compared, changes, BARS)
        with right.container(gap="xsmall"):
            drawn = grids_view.one(compared, GRID)
            where(compared)
    return drawn


def news(compared: Compared, changes: ProbeChanges) -> None:
    """What was learned in one line, and how sure it is."""
    if not verdict_banner.learned(compared.verdict.learned(changes)):
        verdict_banner.show(compared.verdict.sentence())


def where(compared: Compared) -> None:
    """In which layers & poolings the score changed."""
    told = learned_text.where(_rows(compared), compared.comparison.why_no_cells, backwards=compared.after == 0)
    if told:
        st.markdown(f"**Where:** {messages.plain(told)}")


def pairs(compared: Compared, changes: ProbeChanges) -> None:
    """Three pairs of the probe packs that show it, or why there are none."""
    if changes.pairs:
        sides = "base → tuned" if compared.verdict.tuning else "A → B"
        verdict_banner.learned_pairs(changes.pairs, sides, opened_words.COMPARE)
    elif changes.why_none:
        st.caption(messages.plain(changes.why_none))
    word_view.over(opened_words.COMPARE, probe_changes.readers(compared))


def cards(compared: Compared) -> None:
    """The scores; those of the chosen layers & poolings follow if the verdict compares others."""
    found = compared.verdict
    if found.tuning is None:
        score_cards(compared.comparison, *compared.ways, compared.differences.chosen)
    else:
        _three_numbers(compared)
    if not compared.about_chosen:
        _chosen(compared)


def how_measured(compared: Compared) -> None:
    """What the numbers are, of how many pairs, and where typed models are."""
    one = compared.sides[0]
    several = one.scores.items_named[1]
    st.caption(
        f"{compared.ways[0]} × 100 of {len(one.pairs):,} {several}, computed in {one.scores.precision}. In brackets "
        f"the {CI}, from {RESAMPLES:,} bootstrap resamples of the {several}, the same for A and B. If the interval "
        "includes 0, the difference could be chance."
    )
    for side, shown in zip("AB", compared.sides, strict=True):
        if str(shown.found.folder).endswith(shown.found.name):  # a folder that was typed, by its last part
            st.caption(f"{side} is {messages.plain(str(shown.found.folder))}")


def _three_numbers(compared: Compared) -> None:
    """The base under model default, the base under the trained layer & pooling, and the tuned model."""
    found = compared.verdict
    numbers = found.numbers()
    for card, (label, one) in zip(st.columns(len(numbers), gap="small"), numbers, strict=True):
        help = f"{_CARDS[label]} {score_options.what_is_good(compared.ways[0])}"
        messages.number(card, label, score_options.told(one.score), one.reading, border=True, help=help)
    if found.why_not_same:
        st.caption(messages.plain(found.why_not_same))


def _chosen(compared: Compared) -> None:
    """The verdict for the chosen layers & poolings."""
    one, other = compared.sides
    chosen = judge(
        (one.found, other.found), one.pairs, compared.comparison, compared.differences.chosen, compared.ways
    ).sentence()
    st.markdown(
        f"Under the chosen layers & poolings: **{messages.plain(chosen.word.lower())}**. "
        f"{messages.plain(chosen.detail)}"
    )
    score_cards(compared.comparison, *compared.ways, compared.differences.chosen)


def changed_cells(compared: Compared) -> None:
    """The cells that gained most and lost most, one line each."""
    gained, lost = most_changed(_rows(compared))
    if not (gained or lost):
        return
    st.subheader("Layers & poolings that changed most")
    left, right = st.columns(2, gap="medium")
    with left:
        _lines("Gained most", ":material/trending_up:", gained)
    with right:
        _lines("Lost most", ":material/trending_down:", lost)
    st.caption("B - A. These are the extremes of all cells, so part of their change is chance.")


def _rows(compared: Compared) -> Rows:
    return cell_rows(compared.comparison, compared.differences, *compared.ways)


def _lines(title: str, icon: str, rows: Rows) -> None:
    st.markdown(f"**{icon} {title}**")
    if not rows:
        st.markdown("none")
    for row in rows:
        chance = "" if row[SIGNIFICANT] else ", could be chance"
        st.markdown(
            f"{row[READING]}: {row['A']:.2f} → {row['B']:.2f}, **{row['difference']:+.2f}** "
            f"({CI} {row['low']:+.2f} to {row['high']:+.2f}{chance})"
        )


def score_cards(comparison: Comparison, metric: str, aggregate: str, chosen: Interval) -> None:
    """The scores of A and B, and B - A with its interval."""
    where = st.container(horizontal=True)
    for name, scores, reading in (
        ("A", comparison.one, comparison.one_reading),
        ("B", comparison.other, comparison.other_reading),
    ):
        score = score_options.told(scores.score(reading, metric, aggregate))
        messages.number(where, name, score, reading.title, border=True, help=score_options.what_is_good(metric))
    sure = f"significant ({CI} excludes 0)" if chosen.sure else "could be chance"
    if not np.isfinite(chosen.difference):
        sure = "a side has no score"
    messages.number(where, "B - A", told_difference(chosen), sure, border=True, help=DIFFERENCE_HELP)
