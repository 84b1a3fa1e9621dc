"""Read csv, tsv and plain text: detect delimiter, header and ragged rows."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from explorer.data.tables.columns import is_mostly_numbers, is_recognised
from explorer.data.tables.formula_guard import unguarded
from explorer.data.tables.number_columns import is_number
from explorer.data.tables.table import Table, check_width, named
from explorer.errors import UnreadableFile

if TYPE_CHECKING:
    from _csv import Reader  # the type of csv.reader, without a public name in Python 3.11

DELIMITERS = (",", ";", "\t", "|")
ALONE = "\x1f"  # the ASCII unit separator, unused in text files: each line is one field
SAMPLE = 100  # rows checked to detect a delimiter or a header
SENTENCE = 5  # words from which on a cell is a sentence, not the name of a column
TABBED = 0.9  # share of lines with as many tabs as the first from which on a text is a table
NO_LIMIT = 2**31 - 1  # characters per field, the maximum of `csv` on all systems; files.py limits the whole file

Record = tuple[int, list[str]]  # (line it starts on, its fields)


def csv_table(name: str, text: str) -> Table:
    """Read a csv file, with the delimiter that divides it most evenly."""
    records = _records(name, text, _delimiter(text))
    return _table(name, tuple((line, [unguarded(field) for field in fields]) for line, fields in records))


def tsv_table(name: str, text: str) -> Table:
    """Read a tsv file."""
    return _table(name, tuple(_records(name, text, "\t")))


def txt_table(name: str, text: str) -> Table:
    """Read one sentence per line, without blank lines; or a tsv file with another ending."""
    if is_tabbed(text):
        return tsv_table(name, text)
    records = [(line, row) for line, row in enumerate(text.split("\n"), start=1) if row.strip()]
    return Table(
        name,
        columns=("sentence",),
        rows=tuple((row,) for _, row in records),
        lines=tuple(line for line, _ in records),
        header=False,
    )


def is_tabbed(text: str) -> bool:
    """Whether nearly all lines have as many tabs as the first one, which has some."""
    tabs = [line.strip().count("\t") for line in text.split("\n") if line.strip()]  # outer tabs are indentation
    return len(tabs) > 1 and tabs[0] > 0 and tabs.count(tabs[0]) >= TABBED * len(tabs)


class _Bare(csv.excel_tab):
    """Read tsv without quoting: the STS sets have many unbalanced quotes."""

    quoting = csv.QUOTE_NONE


def _cut(lines: Iterable[str], delimiter: str, *, strict: bool = False) -> Reader:
    # Python's limit of 131,072 characters is global; nothing else in the process reads csv
    csv.field_size_limit(NO_LIMIT)
    dialect = _Bare if delimiter == "\t" else csv.excel
    return csv.reader(lines, dialect, delimiter=delimiter, strict=strict)


def _delimiter(text: str) -> str:
    """The delimiter between known names of columns, else that which divides most rows as evenly as the first.

    Without the names, a single long line would leave `sentence1,sentence2` as one column of that name.
    """
    lines = [line for line in text.split("\n", SAMPLE)[:SAMPLE] if line.strip()]
    for delimiter in DELIMITERS:
        names = next(_cut(lines[:1], delimiter))
        if len(names) > 1 and all(map(is_recognised, names)):
            return delimiter

    def evenness(delimiter: str) -> tuple[float, int]:
        widths = [len(row) for row in _cut(lines, delimiter)]
        return (widths.count(widths[0]) / len(widths), widths[0]) if widths[0] > 1 else (0.0, 0)

    best = max(DELIMITERS, key=evenness)
    return best if evenness(best)[0] > 0.5 else ALONE


def _records(name: str, text: str, delimiter: str) -> Iterator[Record]:
    # strict: else an unclosed quote would silently include the rest of the file
    reader = _cut(io.StringIO(text), delimiter, strict=True)
    start = 1
    try:
        for fields in reader:
            if any(fields):  # skip blank lines and the ",,," at the end of spreadsheets
                yield start, fields
            start = reader.line_num + 1
    except csv.Error as error:
        raise UnreadableFile(
            f"{name}, from line {start}: {error}. Inside a quoted field double every quote, "
            "or save the file as .tsv, where quotes need no escaping."
        ) from None


def _table(name: str, records: Sequence[Record]) -> Table:
    """The records with their header; those of another width are ragged."""
    if not records:
        raise UnreadableFile(f"{name} has only empty fields. Choose a file with at least one sentence in it.")
    first = [fields for _, fields in records[:SAMPLE]]
    check_width(name, len(first[0]))
    header = _has_header(first)
    width = len(first[0]) if header else Counter(map(len, first)).most_common(1)[0][0]
    body = records[1:] if header else records
    ragged = tuple(line for line, fields in body if len(fields) != width)
    if 2 * len(ragged) > len(body):
        raise UnreadableFile(
            f"{name}: {len(ragged)} of {len(body)} rows do not have the {width} fields of the "
            f"{'header' if header else 'others'} (the first is on line {ragged[0]}). Use one delimiter "
            f"throughout, and quote every field that contains it."
        )
    return Table(
        name,
        columns=named(first[0] if header else [""] * width),
        rows=tuple(tuple(fields) for _, fields in body if len(fields) == width),
        lines=tuple(line for line, fields in body if len(fields) == width),
        header=header,
        ragged=ragged,
    )


def _has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row is a header: yes, unless its cells look like data."""
    first = rows[0]
    if any(map(is_recognised, first)):
        return True
    if all(len(cell.split()) >= SENTENCE for cell in first):
        return False  # a column is not called "A man is playing the guitar."
    columns = zip(*(row for row in rows if len(row) == len(first)), strict=True)
    return not any(is_number(top) and is_mostly_numbers(below) for top, *below in columns)
