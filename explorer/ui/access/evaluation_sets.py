"""List the evaluation sets of the sidebar: scored pairs, the visitor's files, test rows of runs, and sets that ship."""

from __future__ import annotations

from pathlib import Path

from explorer.data import uploads
from explorer.data.graded import probes, sets, sts, user_sets
from explorer.data.row_kinds import DOCUMENTS, SENTENCES, Kind
from explorer.data.sources import NAMED_SETS, QUORA
from explorer.errors import StrataError
from explorer.training.record import run_sets
from explorer.ui.access import cached_text

READ_AT_ONCE = 2**21  # bytes of an upload that is read to list it; a larger one is listed as it is
NOT_SCORED = (SENTENCES, DOCUMENTS)  # kinds of rows that nothing can be scored on


def names() -> list[str]:
    """Every set on this disk by its name in the menu; published sets are also listed if they are not there."""
    shipped = [name for name in NAMED_SETS if name not in (probes.NAME, QUORA)]
    return [sets.SAMPLE, *user_sets.names(), *own_files(), *run_sets.names(), *shipped, *sts.menu()]


def own_files() -> list[str]:
    """The labels of uploaded files that can be an evaluation set, wherever they were uploaded."""
    return [uploads.label(path) for path in uploads.paths() if _can_be_scored_on(path)]


def kind_of(path: str) -> Kind | None:
    """The kind of rows of an uploaded file; None if it is too large to be read for a menu, or cannot be read."""
    try:
        return cached_text.kind_of(path) if Path(path).stat().st_size <= READ_AT_ONCE else None
    except (OSError, StrataError):
        return None


def _can_be_scored_on(path: str) -> bool:
    kind = kind_of(path)
    return kind is not None and kind not in NOT_SCORED
