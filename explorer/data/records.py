"""Which rows does a jsonl, json or parquet file hold? Records of named values become rows of text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from explorer.data.cells import Table, named
from explorer.errors import UnreadableFile

Record = tuple[int, dict[str, Any]]  # (line it stands on, its values by field)


def jsonl_table(name: str, text: str) -> Table:
    """One JSON object a line."""
    return _table(name, tuple(_lines(name, text)))


def json_table(name: str, text: str) -> Table:
    """A JSON list of objects; or one object a line, which many call .json too."""
    if not text.lstrip().startswith("["):
        return jsonl_table(name, text)
    try:
        values = json.loads(text)
    except json.JSONDecodeError as error:
        raise UnreadableFile(f"{name} is not JSON: {error.msg}, line {error.lineno}. Mend that line.") from None
    return _table(name, tuple((at, _object(name, at, value)) for at, value in enumerate(values, start=1)))


def parquet_table(name: str, data: bytes) -> Table:
    """A Parquet file; columns of lists, such as ready-made vectors, are set aside unread."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        fields = [field for field in file.schema_arrow if not field.name.startswith("__index_level_")]
        nested = [field.name for field in fields if pa.types.is_nested(field.type) or _is_bytes(field.type)]
        flat = [field.name for field in fields if field.name not in nested]
        columns = file.read(columns=flat).columns if flat else []
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise UnreadableFile(
            f"{name} is no readable Parquet file ({reason}). Write it again, or export it as .csv."
        ) from None
    _some_flat(name, flat, nested)
    rows = tuple(zip(*([_cell(value) for value in column.to_pylist()] for column in columns), strict=True))
    return Table(name, named(flat), rows, lines=tuple(range(1, len(rows) + 1)), set_aside=tuple(nested))


def _is_bytes(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


def _lines(name: str, text: str) -> Iterator[Record]:
    for at, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            raise UnreadableFile(
                f"{name}, line {at} is not JSON: {error.msg} at character {error.pos + 1}. "
                'Each line must be one object, such as {"sentence1": "…", "sentence2": "…", "score": 3.5}.'
            ) from None
        yield at, _object(name, at, value)


def _object(name: str, at: int, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UnreadableFile(
            f"{name}, record {at} is a {type(value).__name__}, not an object with named fields. "
            'Write {"text": "…"} instead.'
        )
    return value


def _table(name: str, records: Sequence[Record]) -> Table:
    fields = tuple(dict.fromkeys(field for _, record in records for field in record))
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


def _some_flat(name: str, flat: Sequence[str], nested: Iterable[str]) -> None:
    if not flat:
        raise UnreadableFile(
            f"{name} has only columns of lists, objects or bytes ({', '.join(nested) or 'none at all'}). "
            "Flatten it: one plain text or number a field, one sentence a column."
        )


def _cell(value: object) -> str:
    if value is None:
        return ""
    # JSON may carry half a surrogate pair, on which tokenizers stumble: it becomes "?"
    return str(value).encode("utf-8", "replace").decode("utf-8")
