"""Name the run that shows a newcomer what fine-tuning changes."""

from __future__ import annotations

from explorer.encoding import finding

RUN = f"{finding.RUN}example"  # the example run that ships with Strata


def available() -> str | None:
    """`run:NAME` of the example run; None where it is not on this disk."""
    return RUN if RUN in finding.of_runs() else None
