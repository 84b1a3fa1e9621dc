"""Read a file into a Table, by its ending, after a check of its size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from explorer import in_words
from explorer.data import uploads
from explorer.data.tables.decoding import decoded
from explorer.data.tables.delimited import csv_table, tsv_table, txt_table
from explorer.data.tables.records import json_table, jsonl_table, parquet_table
from explorer.data.tables.regular_files import check_regular
from explorer.data.tables.table import Table
from explorer.errors import UnreadableFile
from explorer.places import given_path

LARGEST = 200_000_000  # bytes; about a million long pairs, which have to fit in memory several times

TEXT_FORMATS: dict[str, Callable[[str, str], Table]] = {
    ".csv": csv_table,
    ".tsv": tsv_table,
    ".jsonl": jsonl_table,
    ".json": json_table,
    ".txt": txt_table,
}
ENDINGS = (*TEXT_FORMATS, ".parquet")


def read_file(path: str | Path) -> Table:
    """Read the table in a file on this disk."""
    path = given_path(path)
    check_regular(path)
    try:
        size = path.stat().st_size
        if path.is_dir():
            raise UnreadableFile(f"{path} is a folder. Choose a file in it that ends in {_allowed()}.")
        _check(path.name, size)  # before a byte is read
        data = path.read_bytes()
    except FileNotFoundError:
        raise UnreadableFile(f"There is no file {path}. Check the spelling, or give the full path.") from None
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be read: {error.strerror}. Check its permissions.") from None
    uploads.check(path, data)
    return read_bytes(uploads.name_of(path) or path.name, data)


def read_bytes(name: str, data: bytes) -> Table:
    """Read the table in an upload, from its name and content."""
    _check(name, len(data))
    ending = Path(name).suffix.lower()
    if ending == ".parquet":
        return parquet_table(name, data)
    return TEXT_FORMATS[ending](name, decoded(name, data))


def _check(name: str, size: int) -> None:
    """Refuse a file by its name or size, before it is opened."""
    ending = Path(name).suffix.lower()
    if ending not in ENDINGS:
        found = f"ends in {ending}" if ending else "has no ending"
        raise UnreadableFile(f"{name} {found}. Supported: {_allowed()}. Export it as one of these.")
    if size == 0:
        raise UnreadableFile(f"{name} is empty. Choose a file with at least one sentence in it.")
    if size > LARGEST:
        raise UnreadableFile(
            f"{name} has {in_words.size(size)}; at most {in_words.size(LARGEST)} are allowed. "
            "Use a part of it, for example its first million lines (head -n 1000000), or drop some columns."
        )


def _allowed() -> str:
    return f"{', '.join(ENDINGS[:-1])} and {ENDINGS[-1]}"
