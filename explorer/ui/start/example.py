"""Name the run that shows a newcomer what fine-tuning changes."""

from __future__ import annotations

from explorer import run_folder
from explorer.training.record import runs


def available() -> str | None:
    """`run:NAME` of the example run that ships with Strata; None where it is not on this disk."""
    return next((run_folder.model_name(run.name) for run in runs.examples()), None)
