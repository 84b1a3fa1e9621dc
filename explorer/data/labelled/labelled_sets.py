"""Load a labelled set: a published one by name, or the user's own file or folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from explorer.data import sources
from explorer.data.labelled import published_sets
from explorer.data.labelled.labelled_set import LabelledSet, check
from explorer.data.retrieval import beir_folder
from explorer.data.row_kinds import LABELLED_TEXTS
from explorer.data.tables.files import ENDINGS, read_file
from explorer.data.tables.recognition import kind_of
from explorer.data.tables.row_reports import Report
from explorer.data.tables.text_rows import read_labelled
from explorer.errors import DataError, UnreadableFile
from explorer.places import given_path

# names of files without their ending; within a split the names are equivalent
SPLITS = {"train": ("train", "training"), "dev": ("dev", "validation", "valid", "val"), "test": ("test",)}

Columns = Mapping[str, str | None]


def load(
    source: str, columns: Columns | None = None, folder: Path | None = None, folds: bool = True
) -> tuple[LabelledSet, tuple[Report, ...]]:
    """A set by name or path, with a report on each file of the user; `columns` are corrections by role.

    Without `folds`, a set needs no rows for folds, and a dev split can be all that it has besides train.
    """
    if _is_name(source):
        return published_sets.load(source, folder, folds), ()
    return _own_set(given_path(source), columns, folds)


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


def _own_set(path: Path, columns: Columns | None, folds: bool) -> tuple[LabelledSet, tuple[Report, ...]]:
    """The set in a file, or in the train, dev and test files of a folder, with a report on each file.

    Without `folds`, a dev file is enough in place of a test file.
    """
    if not path.is_dir():
        rows, report = read_labelled(path, columns)
        return check(LabelledSet(rows.name, rows), folds), (report,)
    files = {split: _file(path, split) for split in SPLITS}
    scored = "dev" if files["dev"] and not folds else "test"
    missing = [split for split in ("train", scored) if files[split] is None]
    if missing:
        there = ", ".join(sorted(file.name for file in path.iterdir() if file.is_file())) or "nothing"
        raise DataError(
            f"The folder {path.name} has no {' and no '.join(missing)} file. It has: {there}. Add a file called "
            f"{missing[0]}.tsv (or {', '.join(ENDINGS)}), or give a single file, which is split into folds."
        )
    read_splits = {split: read_labelled(file, columns) for split, file in files.items() if file}
    splits = {split: rows for split, (rows, _) in read_splits.items()}
    found = LabelledSet(path.name, splits["train"], splits.get("dev"), splits.get("test"))
    return check(found, folds), tuple(report for _, report in read_splits.values())


def _file(folder: Path, split: str) -> Path | None:
    """The file of a split; None if there is none, and an error if there are several."""
    found = sorted(
        file for file in folder.iterdir() if file.stem.lower() in SPLITS[split] and file.suffix.lower() in ENDINGS
    )
    if len(found) > 1:
        names = " and ".join(file.name for file in found)
        raise UnreadableFile(f"The folder {folder.name} has {names} for the {split} split. Remove all but one.")
    return found[0] if found else None
