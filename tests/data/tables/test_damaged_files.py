"""Test that a damaged or absurd file is refused in one short line, quickly, and never with a traceback."""

import io
import random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.data.tables.files import read_bytes
from explorer.data.tables.table import LISTED, MOST_COLUMNS, Table
from explorer.errors import LONGEST, StrataError, UnreadableFile, WrongColumns

WIDE = 100_000  # columns


def parquet(**columns: list[Any]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


WHOLE = parquet(**{"sätze": ["It räins.", "It snows.", "Nobody came."], "score": [1.0, 2.5, 4.0]})


def outcome(name: str, data: bytes) -> Table | None:
    """The table, or None if the file was refused as it should be."""
    try:
        return read_bytes(name, data)
    except StrataError as error:
        refused = str(error)
    assert len(refused) <= LONGEST
    assert "\n" not in refused
    return None


@pytest.mark.parametrize("seed", range(8))
def test_a_parquet_file_with_changed_bytes_is_read_or_refused(seed):
    drawn = random.Random(seed)
    for _ in range(40):
        mutant = bytearray(WHOLE)
        for place in drawn.sample(range(len(mutant)), drawn.choice((1, 1, 2, 8))):
            mutant[place] = drawn.randrange(256)
        outcome("a.parquet", bytes(mutant))


def test_a_column_whose_name_is_no_text_is_refused():
    assert outcome("a.parquet", WHOLE) is not None
    assert outcome("a.parquet", WHOLE.replace("sätze".encode(), b"s\xff\xfetze"[:6])) is None


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("wide.csv", ",".join(f"c{place}" for place in range(WIDE)) + "\n" + ",".join(["x"] * WIDE) + "\n"),
        ("wide.tsv", "\t".join(f"c{place}" for place in range(WIDE)) + "\n" + "\t".join(["x"] * WIDE) + "\n"),
        ("keys.jsonl", "".join(f'{{"key {place}": "text"}}\n' for place in range(2_000))),
        ("keys.json", "[" + ",".join(f'{{"key {place}": "text"}}' for place in range(2_000)) + "]"),
    ],
)
def test_a_file_of_too_many_columns_is_refused(name, data):
    with pytest.raises(UnreadableFile, match=f"at most {MOST_COLUMNS:,} are allowed"):
        read_bytes(name, data.encode())


def test_as_many_columns_as_allowed_are_read():
    header = ",".join(f"c{place}" for place in range(MOST_COLUMNS))
    table = read_bytes("a.csv", f"{header}\n{','.join(['some text'] * MOST_COLUMNS)}\n".encode())
    assert len(table.columns) == MOST_COLUMNS
    with pytest.raises(WrongColumns, match=f"and {MOST_COLUMNS - LISTED:,} more"):
        table.column("none such")


def test_a_column_name_over_two_lines_is_one_line_in_a_message():
    table = read_bytes("a.csv", b'"first\nhalf",score\nA long sentence is here.,1\nAnother one is here.,2\n')
    assert table.columns == ("first half", "score")
