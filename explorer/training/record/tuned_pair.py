"""Find which of two models was fine-tuned from the other."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from explorer import run_folder
from explorer.data.graded import sets
from explorer.encoding.locate import model_names
from explorer.errors import StrataError
from explorer.measuring.comparing.comparison_verdict import Tuning
from explorer.training.record import runs

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found
    from explorer.training.record.runs import Run


def tuning(found: tuple[Found, Found], pairs: str) -> Tuning | None:
    """The tuned model of two, if the other is the base of its run; `pairs` is the set they are scored on."""
    for place in (1, 0):
        run = run_of(found[place])
        if run is None or found[1 - place].digest != _base_digest(run):
            continue
        facts = run.status().facts
        seen = bool(facts.seen) and _is_called(facts.set_of("test"), pairs)
        return Tuning(place, facts.reading or "", seen)
    return None


def _is_called(test: str, pairs: str) -> bool:
    """Whether a run's test set has this name: a file is known by its name, the sample's parts by two names."""
    if pairs in (test, Path(test).name):
        return True
    with suppress(StrataError):
        return sets.by_name(test).name == pairs
    return False


def run_of(found: Found) -> Run | None:
    """The run of a model or of a checkpoint; None for any other model."""
    name = run_folder.model_of(found.folder)
    if name is None:
        return None
    try:
        return runs.find(run_folder.run_and_checkpoint(name)[0])
    except StrataError:
        return None  # a folder without a recipe


def _base_digest(run: Run) -> str | None:
    """The digest of the run's base model as it is now; None if it is not on this disk."""
    try:
        return model_names.find(run.recipe().model).digest
    except StrataError:
        return None
