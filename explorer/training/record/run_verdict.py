"""Summarise a run's result, from its status, in one sentence."""

from __future__ import annotations

from explorer.data import sources
from explorer.measuring.scores import verdict as verdicts
from explorer.measuring.scores.verdict_text import Sentence
from explorer.training.record.status import Status


def headline(status: Status) -> Sentence | None:
    """The verdict of a run in one sentence; None if there is none yet."""
    if status.verdict is None:
        return None
    facts = status.facts
    sets = {use: sources.shown(facts.set_of(use)) for use in ("test", "dev")}
    return verdicts.headline(status.verdict, sources.shown(facts.model), sets, facts.pairs or {}, facts.measures)
