"""What a run learned, and its verdict in one sentence, from its status."""

from __future__ import annotations

from explorer.data import sources
from explorer.measuring.comparing import learned as learning
from explorer.measuring.comparing.learned import Learned
from explorer.measuring.scores import verdict as verdicts
from explorer.measuring.scores.verdict import Verdict
from explorer.measuring.scores.verdict_text import Sentence
from explorer.training.record.status import Status


def learned(status: Status) -> Learned:
    """What the run learned, from its held-out probe packs and its test set."""
    facts = status.facts
    names = {use: facts.set_of(use) for use in ("test", "dev")}
    return learning.of_run(status.verdict or Verdict(), names, facts.pairs or {}, facts.measures or {})


def headline(status: Status) -> Sentence | None:
    """The verdict of a run in one sentence; None if there is none yet."""
    if status.verdict is None:
        return None
    facts = status.facts
    names = {use: sources.shown(facts.set_of(use)) for use in ("test", "dev")}
    return verdicts.headline(status.verdict, sources.shown(facts.model), names, facts.pairs or {}, facts.measures)
