"""Name the run that shows a newcomer what fine-tuning changes."""

from __future__ import annotations

from explorer.encoding import finding
from explorer.training import runs


def available() -> str | None:
    """`run:NAME` of the example run that ships with Strata; None where it is not on this disk."""
    return next((f"{finding.RUN}{run.name}" for run in runs.examples()), None)
