"""What a run learned, from its status."""

from __future__ import annotations

from explorer.measuring.comparing import learned as learning
from explorer.measuring.comparing.learned import Learned
from explorer.measuring.scores.verdict import Verdict
from explorer.training.record.status import Status


def learned(status: Status) -> Learned:
    """What the run learned, by its held-out probe packs and its test set."""
    facts = status.facts
    names = {use: facts.set_of(use) for use in ("test", "dev")}
    return learning.of_run(status.verdict or Verdict(), names, facts.pairs or {}, facts.measures or {})
