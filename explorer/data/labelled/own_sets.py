"""Read a labelled set of the user: one file, or a folder with a file for each split."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from explorer.data.labelled.labelled_set import LabelledSet, check
from explorer.data.tables.files import ENDINGS
from explorer.data.tables.row_reports import Report
from explorer.data.tables.text_rows import read_labelled
from explorer.errors import DataError, UnreadableFile

# names of files without their ending; within a split the names are equivalent
SPLITS = {"train": ("train", "training"), "dev": ("dev", "validation", "valid", "val"), "test": ("test",)}

Columns = Mapping[str, str | None]


def read(
    path: str | Path, columns: Columns | None = None, folds: bool = True
) -> tuple[LabelledSet, tuple[Report, ...]]:
    """The set in a file, or in the train, dev and test files of a folder, with a report on each file.

    Without `folds`, a dev file is enough in place of a test file.
    """
    path = Path(path)
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
