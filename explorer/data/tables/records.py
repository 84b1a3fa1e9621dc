"""Read jsonl, json and parquet: records of named values become rows of text."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from explorer.data.tables.table import Table, check_width, listed, named
from explorer.errors import UnreadableFile

Record = tuple[int, dict[str, Any]]  # (its line, its values by field)
CALLED = {str: "text", int: "a number", float: "a number", bool: "true or false", list: "a list", type(None): "null"}
EXAMPLE = 'Write each record like {"sentence1": "…", "sentence2": "…", "score": 3.5}, one per line or all in one list.'


def jsonl_table(name: str, text: str) -> Table:
    """Read one JSON object per line."""
    return _table(name, tuple(_lines(name, text)))


def json_table(name: str, text: str) -> Table:
    """Read a JSON list of objects, or one object per line, which is often called .json too."""
    if not text.lstrip().startswith("["):
        return jsonl_table(name, text)
    values = enumerate(_parsed(name, text), start=1)
    return _table(name, tuple((at, _object(name, at, value)) for at, value in values))


def parquet_table(name: str, data: bytes) -> Table:
    """Read a Parquet file; columns of lists, such as vectors, are set aside unread."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        fields = [field for field in file.schema_arrow if not field.name.startswith("__index_level_")]
        nested = [field.name for field in fields if pa.types.is_nested(field.type) or _is_bytes(field.type)]
        flat = [field.name for field in fields if field.name not in nested]
        check_width(name, len(fields))
        columns = [column.to_pylist() for column in file.read(columns=flat).columns] if flat else []
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:  # names that are not UTF-8, dates too far
        reason = str(error).partition("\n")[0][:200]
        raise UnreadableFile(
            f"{name} is not a readable Parquet file ({reason}). Write it again, or export it as .csv."
        ) from None
    _some_flat(name, flat, nested)
    rows = tuple(zip(*(map(_cell, column) for column in columns), strict=True))
    return Table(name, named(flat), rows, lines=tuple(range(1, len(rows) + 1)), set_aside=tuple(nested))


def _is_bytes(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


def _lines(name: str, text: str) -> Iterator[Record]:
    for at, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield at, _object(name, at, _parsed(name, line, at))


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


def _object(name: str, at: int, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UnreadableFile(
            f"{name}, record {at} holds {CALLED[type(value)]}, not an object with named fields. "
            'Write {"text": "…"} instead.'
        )
    if isinstance(value, _Repeated):
        field = max(value, key=value.__getitem__)
        raise UnreadableFile(f"{name}, record {at} has {field!r} twice. Keep one of them.")
    return value


def _table(name: str, records: Sequence[Record]) -> Table:
    fields = tuple(dict.fromkeys(field for _, record in records for field in record))
    check_width(name, len(fields))
    nested = {field for _, record in records for field, value in record.items() if _is_nested(value)}
    flat = [field for field in fields if field not in nested]
    _some_flat(name, flat, [field for field in fields if field in nested])
    return Table(
        name,
        columns=named(flat),
        rows=tuple(tuple(_cell(record.get(field)) for field in flat) for _, record in records),
        lines=tuple(at for at, _ in records),
        set_aside=tuple(field for field in fields if field in nested),
    )


def _is_nested(value: object) -> bool:
    return isinstance(value, list | dict)


def _some_flat(name: str, flat: Sequence[str], nested: Sequence[str]) -> None:
    if not flat:
        raise UnreadableFile(
            f"{name} has only columns of lists, objects or bytes ({listed(nested) or 'none at all'}). "
            "Flatten it: one text or number per field, one sentence per column."
        )


def _cell(value: object) -> str:
    if value is None:
        return ""
    # JSON can hold lone surrogates, which tokenizers refuse: replaced by "?"
    return str(value).encode("utf-8", "replace").decode("utf-8")
