"""Which rows does a csv, tsv or plain text file hold? Delimiter, header and ragged rows are found here."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from explorer.data.tables.columns import is_mostly_numbers, is_number, is_recognised
from explorer.data.tables.table import Table, named
from explorer.errors import UnreadableFile

if TYPE_CHECKING:
    from _csv import Reader  # what csv.reader gives, nameless in Python 3.11

DELIMITERS = (",", ";", "\t", "|")
ALONE = "\x1f"  # the ASCII unit separator, which text files do not use: each line is one field
SAMPLE = 100  # rows looked at before a delimiter or a header is believed
SENTENCE = 5  # from so many words on, a cell reads like a sentence and no longer like the name of a column
TABBED = 0.9  # of the lines of a text with as many tabs as its first: it is a table, whatever it is called
NO_LIMIT = 2**31 - 1  # characters a field, the most that `csv` takes everywhere; files.py limits the whole file

Record = tuple[int, list[str]]  # (line it starts on, its fields)


def csv_table(name: str, text: str) -> Table:
    """A csv file, under the delimiter that cuts it most evenly."""
    return _table(name, tuple(_records(name, text, _delimiter(text))))


def tsv_table(name: str, text: str) -> Table:
    """A tsv file."""
    return _table(name, tuple(_records(name, text, "\t")))


def txt_table(name: str, text: str) -> Table:
    """One sentence a line, where blank lines are only layout; or a tsv file under another name."""
    if _is_tabbed(text):
        return tsv_table(name, text)
    records = [(line, row) for line, row in enumerate(text.split("\n"), start=1) if row.strip()]
    return Table(
        name,
        columns=("sentence",),
        rows=tuple((row,) for _, row in records),
        lines=tuple(line for line, _ in records),
        header=False,
    )


def _is_tabbed(text: str) -> bool:
    tabs = [line.strip().count("\t") for line in text.split("\n") if line.strip()]  # outer ones indent
    return len(tabs) > 1 and tabs[0] > 0 and tabs.count(tabs[0]) >= TABBED * len(tabs)


class _Bare(csv.excel_tab):
    """Between tabs a quote is a character like any other: the STS sets are full of unbalanced ones."""

    quoting = csv.QUOTE_NONE


def _cut(lines: Iterable[str], delimiter: str, *, strict: bool = False) -> Reader:
    # Python's own limit of 131,072 characters is one for the whole process, in which nobody else reads csv
    csv.field_size_limit(NO_LIMIT)
    dialect = _Bare if delimiter == "\t" else csv.excel
    return csv.reader(lines, dialect, delimiter=delimiter, strict=strict)


def _delimiter(text: str) -> str:
    """The delimiter that cuts most of the first rows into as many fields as the very first; ALONE if none."""
    lines = [line for line in text.split("\n", SAMPLE)[:SAMPLE] if line.strip()]

    def evenness(delimiter: str) -> tuple[float, int]:
        widths = [len(row) for row in _cut(lines, delimiter)]
        return (widths.count(widths[0]) / len(widths), widths[0]) if widths[0] > 1 else (0.0, 0)

    best = max(DELIMITERS, key=evenness)
    return best if evenness(best)[0] > 0.5 else ALONE


def _records(name: str, text: str, delimiter: str) -> Iterator[Record]:
    # strict: a quote that is never closed would otherwise swallow the rest of the file in silence
    reader = _cut(io.StringIO(text), delimiter, strict=True)
    start = 1
    try:
        for fields in reader:
            if any(fields):  # a blank line is layout; so is the ",,," a spreadsheet leaves at the end
                yield start, fields
            start = reader.line_num + 1
    except csv.Error as error:
        raise UnreadableFile(
            f"{name}, from line {start}: {error}. Inside a quoted field double every quote, "
            "or save the file as .tsv, where quotes need no care."
        ) from None


def _table(name: str, records: Sequence[Record]) -> Table:
    """The records under their header, those of another width counted as ragged."""
    if not records:
        raise UnreadableFile(f"{name} has only empty fields. Choose a file with at least one sentence in it.")
    first = [fields for _, fields in records[:SAMPLE]]
    header = _has_header(first)
    width = len(first[0]) if header else Counter(map(len, first)).most_common(1)[0][0]
    body = records[1:] if header else records
    ragged = tuple(line for line, fields in body if len(fields) != width)
    if 2 * len(ragged) > len(body):
        raise UnreadableFile(
            f"{name}: {len(ragged)} of {len(body)} rows do not have the {width} fields of the "
            f"{'header' if header else 'others'} (the first is on line {ragged[0]}). Is one delimiter used "
            f"throughout, and is every field that contains it in quotes?"
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
    """Whether the first row names columns: yes, unless its own cells speak against it."""
    first = rows[0]
    if any(map(is_recognised, first)):
        return True
    if all(len(cell.split()) >= SENTENCE for cell in first):
        return False  # a column is not called "A man is playing the guitar."
    columns = zip(*(row for row in rows if len(row) == len(first)), strict=True)
    return not any(is_number(top) and is_mostly_numbers(below) for top, *below in columns)
