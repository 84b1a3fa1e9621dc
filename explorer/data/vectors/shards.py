"""The files of an embedding: which shards are there, and whether one holds the rows that it should."""

from __future__ import annotations

import re
from pathlib import Path

from explorer.data.vectors.manifest import KEY, ROW, SHARDS, Manifest

_NAME = re.compile(r"([0-9]{8,})\.parquet")


def numbers(folder: Path) -> set[int]:
    """The numbers of the shards that are in a folder."""
    found = ((_NAME.fullmatch(path.name), path) for path in (folder / SHARDS).glob("*.parquet"))
    return {int(name[1]) for name, path in found if name and path.is_file()}


def fits(path: Path, manifest: Manifest, start: int, rows: int) -> bool:
    """Whether a file has the rows of an embedding from `start` on, by its footer; the numbers in it are not read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.is_file():  # a named pipe would be waited for
        return False
    try:
        footer = pq.read_metadata(path)
        stated = (footer.metadata or {}).get(KEY)
        groups = [footer.row_group(at) for at in range(footer.num_row_groups)]
        ranges = [(group.column(0).path_in_schema, group.column(0).statistics, group.num_rows) for group in groups]
    except (OSError, ValueError, OverflowError, RuntimeError, MemoryError, pa.ArrowException):
        return False
    if stated != manifest.key.encode() or footer.num_rows != rows:
        return False
    for name, values, count in ranges:
        if name != ROW or values is None or (values.min, values.max) != (start, start + count - 1):
            return False
        start += count
    return True
