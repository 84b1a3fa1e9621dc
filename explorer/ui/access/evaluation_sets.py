"""List the evaluation sets of the sidebar: scored pairs, the visitor's files, test rows of runs, and sets that ship."""

from __future__ import annotations

from explorer.data import sources, uploads
from explorer.data.graded import probes, sets, sts, user_sets
from explorer.data.row_kinds import LABELLED_TEXTS, PAIRS, SCORED_PAIRS, TRIPLETS, Kind
from explorer.data.sources import NAMED_SETS, QUORA
from explorer.training.record import run_sets
from explorer.ui.access import cached_text

SCORED = (SCORED_PAIRS, PAIRS, TRIPLETS, LABELLED_TEXTS)  # kinds of rows that models can be scored on
READ_FOR_TRAINING = (SCORED_PAIRS, PAIRS, TRIPLETS)  # and by training, as dev and test set


def names() -> list[str]:
    """Every set on this disk by its name in the menu; published sets are also listed if they are not there."""
    shipped = [name for name in NAMED_SETS if name not in (probes.NAME, QUORA)]
    return [sources.written(sets.SAMPLE), *uploaded(), *own_files(), *test_rows(), *shipped, *sts.menu()]


def uploaded() -> list[str]:
    """The uploaded sets of scored pairs, newest first."""
    return [sources.written(one) for one in user_sets.kept_sets()]


def test_rows() -> list[str]:
    """The test rows of the latest runs that held some out."""
    return [sources.written(one) for one in run_sets.latest()]


def own_files() -> list[str]:
    """The labels of uploaded files that can be an evaluation set, wherever they were uploaded."""
    return [sources.label(path) for path in paths_of(*SCORED)]


def paths_of(*kinds: Kind) -> list[str]:
    """The paths of uploaded files that hold rows of some kinds."""
    return [path for path in uploads.paths() if kind_of(path) in kinds]


def kind_of(path: str) -> Kind | None:
    """The kind of rows of an uploaded file; None of any other source, and if it cannot be read."""
    return cached_text.kind_of_file(path) if uploads.name_of(path) else None
