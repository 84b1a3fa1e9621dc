"""Read the test file of a folder that has no train file, in a layout that MTEB and the hub use."""

from pathlib import Path

from explorer.data.labelled.labelled_sets import SPLITS
from explorer.data.tables import hub_files
from explorer.data.tables.table import Table

TEST = "test.tsv"


def table_of_test(folder: Path) -> Table | None:
    """The table in the test file of a folder; None if there is none, or a train file, on which a classifier trains."""
    test = hub_files.file_of(folder, TEST)
    names = {path.name.partition(".")[0].lower() for path in folder.iterdir()}
    return hub_files.table_in(test) if test.is_file() and not names & {*SPLITS["train"]} else None
