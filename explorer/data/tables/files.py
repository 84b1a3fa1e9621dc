"""Read a file into a Table by its ending: csv, tsv, txt, jsonl, json or parquet.

pyarrow reads Parquet. CSV and JSON are read by Python's own parsers, for dropped rows are named by their line. pandas
does not say on which line a row starts, fills short rows with empty cells and keeps the second of two equal JSON
fields; pyarrow numbers the rows that it refuses without blank lines and line breaks in quotes, and refuses a JSON field
of two types.
"""

from __future__ import annotations

import csv
import io
import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer import in_words, places
from explorer.data import uploads
from explorer.data.tables.columns import is_mostly_numbers, is_number, is_recognised
from explorer.data.tables.table import Table, check_width, listed, named
from explorer.data.tables.text_files import as_written, decoded, is_tabbed, with_newlines
from explorer.errors import TooFewRows, UnreadableFile
from explorer.escaping import unguarded

if TYPE_CHECKING:
    from _csv import Reader  # the type of csv.reader, without a public name in Python 3.11

LARGEST = 200_000_000  # bytes; about a million long pairs, which have to fit in memory several times
DELIMITERS = (",", ";", "\t", "|")
ALONE = "\x1f"  # the ASCII unit separator, unused in text files: each line is one field
SAMPLE = 100  # rows checked to detect a delimiter or a header
SENTENCE = 5  # words from which on a cell is a sentence, not the name of a column
NO_LIMIT = 2**31 - 1  # characters per field, the maximum of `csv` on all systems; LARGEST limits the whole file
CALLED = {str: "text", int: "a number", float: "a number", bool: "true or false", list: "a list", type(None): "null"}
EXAMPLE = 'Write each record like {"sentence1": "…", "sentence2": "…", "score": 3.5}, one per line or all in one list.'

Row = tuple[int, list[str]]  # (line it starts on, its fields)
Record = tuple[int, dict[str, Any]]  # (its line, its values by field)


def read_file(path: str | Path) -> Table:
    """Read the table in a file on this disk."""
    path = places.given_path(path)
    places.check_regular(path)
    try:
        size = path.stat().st_size
        if path.is_dir():
            raise UnreadableFile(f"{path} is a folder. Choose a file in it that ends in {ALLOWED}.")
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
        table = parquet_table(name, data)
    elif ending == ".csv":  # a cell in quotes keeps its line ends
        table = csv_table(name, as_written(name, data))
    else:
        table = TEXT_FORMATS[ending](name, decoded(name, data))
    if not table.rows:
        raise TooFewRows(f"{name} has column names and no rows; at least one is needed. Add rows.")
    return table


def _check(name: str, size: int) -> None:
    """Refuse a file by its name or size, before it is opened."""
    ending = Path(name).suffix.lower()
    if ending not in ENDINGS:
        found = f"ends in {ending}" if ending else "has no ending"
        raise UnreadableFile(f"{name} {found}. Supported: {ALLOWED}. Export it as one of these.")
    if size == 0:
        raise UnreadableFile(f"{name} is empty. Choose a file with at least one sentence in it.")
    if size > LARGEST:
        raise UnreadableFile(
            f"{name} has {in_words.size(size)}; at most {in_words.size(LARGEST)} are allowed. "
            "Use a part of it, for example its first million lines (head -n 1000000), or drop some columns."
        )


def csv_table(name: str, text: str) -> Table:
    """Read a csv file, with the delimiter between known names of columns, else that which divides it most evenly.

    Without the names, a single long line would leave `sentence1,sentence2` as one column of that name.
    """
    lines = [line for line in with_newlines(text).split("\n", SAMPLE)[:SAMPLE] if line.strip()]

    def are_names(cells: Sequence[str]) -> bool:
        return len(cells) > 1 and all(map(is_recognised, cells))

    def evenness(delimiter: str) -> tuple[float, int]:  # the share of rows with as many fields as the first
        widths = [len(row) for row in _cut(lines, delimiter)]
        return (widths.count(widths[0]) / len(widths), widths[0]) if widths[0] > 1 else (0.0, 0)

    by_names = next((one for one in DELIMITERS if are_names(next(_cut(lines[:1], one)))), None)
    best = by_names or max(DELIMITERS, key=evenness)
    rows = _rows(name, text, best if by_names or evenness(best)[0] > 0.5 else ALONE)
    return _delimited(name, tuple((line, [unguarded(field) for field in fields]) for line, fields in rows))


def tsv_table(name: str, text: str) -> Table:
    """Read a tsv file."""
    return _delimited(name, tuple(_rows(name, text, "\t")))


def txt_table(name: str, text: str) -> Table:
    """Read one sentence per line, without blank lines; or a tsv file with another ending."""
    if is_tabbed(text):
        return tsv_table(name, text)
    found = [(line, row) for line, row in enumerate(text.split("\n"), start=1) if row.strip()]
    rows, lines = tuple((row,) for _, row in found), tuple(line for line, _ in found)
    return Table(name, columns=("sentence",), rows=rows, lines=lines, header=False)


class _Bare(csv.excel_tab):
    """Read tsv without quoting: the STS sets have many unbalanced quotes."""

    quoting = csv.QUOTE_NONE


def _cut(lines: Iterable[str], delimiter: str, *, strict: bool = False) -> Reader:
    # Python's limit of 131,072 characters is global; nothing else in the process reads csv
    csv.field_size_limit(NO_LIMIT)
    dialect = _Bare if delimiter == "\t" else csv.excel
    return csv.reader(lines, dialect, delimiter=delimiter, strict=strict)


def _rows(name: str, text: str, delimiter: str) -> Iterator[Row]:
    # strict: else an unclosed quote would silently include the rest of the file
    reader = _cut(io.StringIO(text, newline=""), delimiter, strict=True)
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


def _delimited(name: str, rows: Sequence[Row]) -> Table:
    """The rows under their header; those of another width are ragged."""
    if not rows:
        raise UnreadableFile(f"{name} has only empty fields. Choose a file with at least one sentence in it.")
    first = [fields for _, fields in rows[:SAMPLE]]
    check_width(name, len(first[0]))
    header = True  # unless its cells are those of data; a column is not called "A man is playing the guitar."
    if not any(map(is_recognised, first[0])):
        columns = zip(*(row for row in first if len(row) == len(first[0])), strict=True)
        of_data = any(is_number(top) and is_mostly_numbers(below) for top, *below in columns)
        header = not of_data and any(len(cell.split()) < SENTENCE for cell in first[0])
    width = len(first[0]) if header else Counter(map(len, first)).most_common(1)[0][0]
    body = rows[1:] if header else rows
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


def jsonl_table(name: str, text: str) -> Table:
    """Read one JSON object per line."""
    lines = ((at, line) for at, line in enumerate(text.split("\n"), start=1) if line.strip())
    return _of_records(name, ((at, _parsed(name, line, at)) for at, line in lines))


def json_table(name: str, text: str) -> Table:
    """Read a JSON list of objects, or one object per line, which is often called .json too."""
    if not text.lstrip().startswith("["):
        return jsonl_table(name, text)
    return _of_records(name, enumerate(_parsed(name, text), start=1))


class _Repeated(dict[str, Any]):
    """An object that states a field twice, so that a choice would be ambiguous."""


def _fields(stated: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(stated)
    return found if len(found) == len(stated) else _Repeated(Counter(field for field, _ in stated))


_DECODER = json.JSONDecoder(object_pairs_hook=_fields)  # made once: it takes longer than to read a short line


def _parsed(name: str, text: str, starts: int = 1) -> Any:
    """Parse a piece of JSON that starts on this line of the file."""
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        line, fault = error.lineno, f"is not JSON: {error.msg} at character {error.colno}. {EXAMPLE}"
    except RecursionError:
        line, fault = _stumble(text), "has lists or objects nested too deeply. Remove that field."
    except ValueError:  # `int` refuses more digits than sys.get_int_max_str_digits()
        line, fault = _stumble(text), "has a number of thousands of digits. Shorten it, or put it in quotes."
    raise UnreadableFile(f"{name}, line {starts + line - 1} {fault}")


def _stumble(text: str) -> int:
    """The line at which the parser fails, found by bisection."""
    lines = text.split("\n")

    def gives_up(count: int) -> bool:
        try:
            json.loads("\n".join(lines[:count]))
        except json.JSONDecodeError:
            return False
        except (RecursionError, ValueError):
            return True
        return False

    counts = range(1, len(lines) + 1)
    return counts[bisect_left(counts, True, hi=len(lines) - 1, key=gives_up)]


def _of_records(name: str, values: Iterable[tuple[int, Any]]) -> Table:
    """The table of JSON values with their lines, each of which has to be an object, or an object of lists."""
    records: list[Record] = []
    for at, value in values:
        if not isinstance(value, dict):
            raise UnreadableFile(
                f"{name}, record {at} holds {CALLED[type(value)]}, not an object with named fields. "
                'Write {"text": "…"} instead.'
            )
        if isinstance(value, _Repeated):
            twice = max(value, key=value.__getitem__)
            raise UnreadableFile(f"{name}, record {at} has {twice!r} twice. Keep one of them.")
        records += [(at, row) for row in _rows_of_lists(value)]
    fields = tuple(dict.fromkeys(field for _, record in records for field in record))
    check_width(name, len(fields))
    nested = {field for _, record in records for field, value in record.items() if isinstance(value, list | dict)}
    flat, set_aside = [field for field in fields if field not in nested], [field for field in fields if field in nested]
    _check_some_flat(name, flat, set_aside)
    rows = tuple(tuple(_cell(record.get(field)) for field in flat) for _, record in records)
    return Table(name, named(flat), rows, lines=tuple(at for at, _ in records), set_aside=tuple(set_aside))


def _rows_of_lists(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of an object whose fields are all lists of one length, as in MTEB's older files; else the object."""
    columns = list(record.values())
    if len(columns) < 2 or not all(isinstance(column, list) and column for column in columns):
        return [record]
    if len({*map(len, columns)}) > 1 or not any(isinstance(column[0], str) for column in columns):
        return [record]
    return [dict(zip(record, row, strict=True)) for row in zip(*columns, strict=True)]


def parquet_table(name: str, data: bytes) -> Table:
    """Read a Parquet file; columns of lists, such as vectors, are set aside unread if there are others."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def is_set_aside(kind: Any) -> bool:
        of_bytes = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
        return bool(of_bytes or pa.types.is_nested(kind))

    def is_of_texts(kind: Any) -> bool:
        is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
        return bool(is_list and (pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type)))

    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        fields = [field for field in file.schema_arrow if not field.name.startswith("__index_level_")]
        set_aside = [field.name for field in fields if is_set_aside(field.type)]
        flat = [field.name for field in fields if field.name not in set_aside]
        check_width(name, len(fields))
        if not flat and any(is_of_texts(field.type) for field in fields):
            return _of_records(name, enumerate(file.read(columns=set_aside).to_pylist(), start=1))
        columns = [column.to_pylist() for column in file.read(columns=flat).columns] if flat else []
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:  # names that are not UTF-8, dates too far
        reason = str(error).partition("\n")[0][:200]
        raise UnreadableFile(
            f"{name} is not a readable Parquet file ({reason}). Write it again, or export it as .csv."
        ) from None
    _check_some_flat(name, flat, set_aside)
    rows = tuple(zip(*(map(_cell, column) for column in columns), strict=True))
    return Table(name, named(flat), rows, lines=tuple(range(1, len(rows) + 1)), set_aside=tuple(set_aside))


def _check_some_flat(name: str, flat: Sequence[str], set_aside: Sequence[str]) -> None:
    if not flat:
        raise UnreadableFile(
            f"{name} has only columns of lists, objects or bytes ({listed(set_aside) or 'none at all'}). "
            "Flatten it: one text or number per field, one sentence per column."
        )


def _cell(value: object) -> str:
    if value is None:
        return ""
    # JSON can hold lone surrogates, which tokenizers refuse: replaced by "?"
    return str(value).encode("utf-8", "replace").decode("utf-8")


TEXT_FORMATS: dict[str, Callable[[str, str], Table]] = {
    ".csv": csv_table,
    ".tsv": tsv_table,
    ".jsonl": jsonl_table,
    ".json": json_table,
    ".txt": txt_table,
}
ENDINGS = (*TEXT_FORMATS, ".parquet")
ALLOWED = f"{', '.join(TEXT_FORMATS)} and .parquet"
