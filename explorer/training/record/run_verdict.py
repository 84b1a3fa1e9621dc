"""Summarise a run's result, from its status, in one sentence."""

from __future__ import annotations

from explorer.measuring.scores import verdict as verdicts
from explorer.measuring.scores.verdict_text import Sentence
from explorer.training.model_card.card import named
from explorer.training.record.status import Status


def headline(status: Status) -> Sentence | None:
    """The verdict of a run in one sentence; None if there is none yet."""
    if status.verdict is None:
        return None
    facts = status.facts
    sets = {use: named(str(facts.get(use) or "")) for use in ("test", "dev")}
    pairs = {use: int(size) for use, size in dict(facts.get("pairs", {})).items()}
    return verdicts.headline(status.verdict, named(str(facts.get("model", ""))), sets, pairs)
