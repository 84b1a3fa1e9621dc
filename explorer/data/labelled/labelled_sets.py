"""Load a labelled set: a published one by name, or the user's own file or folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from explorer.data import sources
from explorer.data.labelled import own_sets, published_sets
from explorer.data.labelled.labelled_set import LabelledSet
from explorer.data.retrieval import beir_folder
from explorer.data.row_kinds import LABELLED_TEXTS
from explorer.data.tables.files import read_file
from explorer.data.tables.recognition import kind_of
from explorer.data.tables.row_reports import Report
from explorer.places import given_path


def load(
    source: str, columns: Mapping[str, str | None] | None = None, folder: Path | None = None, folds: bool = True
) -> tuple[LabelledSet, tuple[Report, ...]]:
    """A set by name or path, with a report on each file of the user; `columns` are corrections by role.

    Without `folds`, a set needs no rows for folds, and a dev split can be all that it has besides train.
    """
    if _is_name(source):
        return published_sets.load(source, folder, folds), ()
    return own_sets.read(given_path(source), columns, folds)


def is_labelled(source: str) -> bool:
    """Whether a source is texts with labels: a task by its name, a file, or a folder with a file for each split."""
    if published_sets.is_known(source):
        return True
    if sources.is_folder(source):
        return not beir_folder.is_retrieval_folder(given_path(source))
    if not sources.is_file(source):
        return False
    return kind_of(read_file(source)) == LABELLED_TEXTS


def _is_name(source: str) -> bool:
    """Whether a source is the name of a published set, or neither looks like a path nor is one."""
    if any(mark in source for mark in "/\\.~"):
        return False
    return published_sets.is_known(source) or not given_path(source).exists()
