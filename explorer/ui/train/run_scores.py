"""Show a run's scores next to its base's: three numbers for each evaluation set, on the same items."""

from __future__ import annotations

import streamlit as st

from explorer import in_words
from explorer.data import sources
from explorer.measuring.scores.class_scores import MEASURES
from explorer.measuring.scores.verdict import Outcome
from explorer.measuring.scores.verdict_text import SPEARMAN, told_size
from explorer.training.loop.seed_scores import spread
from explorer.training.record.status import Status
from explorer.ui import messages

BASE, SAME, TUNED = "base, model default", "base, trained layer & pooling", "tuned model"
NOT_TESTED = "not tested"
OLD = "No comparison with the base: this run was trained by an older version. Train it again to get one."
HELP = {
    "base": "{} × 100 of the base under model default. Higher is better, at most 100{}.",
    "same": "{} × 100 of the base under the layer & pooling that the run trained. The gap to the tuned model is due to "
    "training alone. Higher is better.",
    "tuned": "{} × 100 of the saved model, as sentence-transformers loads it. Higher is better, at most 100.",
}
OF_CLASSES = {
    "accuracy": "The share of rows with the right class, in percent. Higher is better.",
    "macro F1": "The mean F1 of the classes, each counted the same. Higher is better, at most 100.",
    "Matthews": "Correlation of predicted and true classes. Higher is better: 100 is perfect, 0 as good as chance.",
}


def show(status: Status) -> None:
    """A row of cards for each test set, and one for the dev set."""
    verdict = status.verdict
    if verdict is None:
        st.caption(OLD)
        return
    trained = status.facts.reading.words if status.facts.reading else "trained layer & pooling"
    for use, found in verdict.by_use.items():
        _row(use, found, trained, status)


def classes(status: Status) -> None:
    """The scores of the classes of the test rows, over all seeds that are done, of a run on labelled texts."""
    found = [one.classes for one in status.results if one.classes is not None]
    if not found:
        return
    seeds = f", mean ± standard deviation of {len(found)} seeds" if len(found) > 1 else ""
    st.markdown(f"**Test rows**: classes of {found[0].rows:,} rows · × 100{seeds}")
    cards = st.columns(3, gap="small")
    for card, name in zip(cards, MEASURES, strict=True):
        average = spread([one.measure(name) for one in found])
        if average is not None:
            deviation = f" ± {average[1]:.2f}" if len(found) > 1 else ""
            messages.number(
                card, f"Test rows: {name}", f"{average[0]:.2f}{deviation}", border=True, help=OF_CLASSES[name]
            )


def _row(use: str, found: Outcome, trained: str, status: Status) -> None:
    name, count, measure = status.facts.set_of(use), status.facts.size_of(use), status.facts.measure_of(use)
    of_set, use = "Dev set" if use == "dev" else use.replace("test", "Test set"), use.capitalize()
    size = f", {told_size(count, measure)}" if count else ""
    st.markdown(f"**{of_set}**: {messages.plain(sources.shown(name))}{size} · {measure} × 100")
    good = "; good models: 75 to 90" if measure == SPEARMAN else ""
    help_of = {which: told.format(measure, good) for which, told in HELP.items()}
    cards = st.columns(3, gap="small")
    default = status.facts.default.words if status.facts.default else ""
    before = ((BASE, found.declared_base, default, "base"),
              (SAME, found.same_reading_base, trained, "same"))  # fmt: skip
    for card, (label, score, note, which) in zip(cards, before, strict=False):
        messages.number(card, f"{use}: {label}", in_words.number(score), note, border=True, help=help_of[which])
    value = in_words.number(found.exported) if found.exported is not None else _not_yet(status)
    note = ""
    if found.difference is not None and found.low is not None and found.high is not None:
        note = f"{found.difference:+.2f} (95 % CI {found.low:+.2f} to {found.high:+.2f})"
    messages.number(cards[-1], f"{use}: {TUNED}", value, note, border=True, help=help_of["tuned"])


def _not_yet(status: Status) -> str:
    return "not yet" if status.live else NOT_TESTED
