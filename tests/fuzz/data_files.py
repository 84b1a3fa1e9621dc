"""Cases of data files: a table in one of the formats is changed, then read as every kind of text."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from explorer.data import map_sentences, splitting
from explorer.data.tables import columns, text_rows
from explorer.data.tables.files import read_bytes, read_file
from tests.fuzz import mutants, score_columns
from tests.fuzz.cases import Fault, check_line, may_be_refused

ROWS: list[dict[str, Any]] = [
    {"sentence1": f"A sentence, number {number}.", "sentence2": f'The "other" säntence {number}', "score": number / 2}
    for number in range(12)
]
READERS: tuple[Callable[..., Any], ...] = (
    text_rows.sentences,
    text_rows.texts,
    text_rows.triplets,
    text_rows.graded_pairs,
)


def attempt(seed: int, folder: Path, place: Path) -> None:
    """Change a file, and read it in every way."""
    drawn = Random(seed)
    ending = drawn.choice(("csv", "tsv", "txt", "json", "jsonl", "parquet"))
    data = _mutant(drawn, ending)
    with may_be_refused():
        _read_by_name(drawn, place, ending, data)
    table = read_bytes(f"mutant.{ending}", data)
    if ending in ("json", "jsonl"):
        _check_fields(data)
    mapping = columns.guess(table)
    for reader in READERS:
        with may_be_refused():
            found, report = reader(table, mapping)
            for note in report.notes if hasattr(report, "notes") else ():
                check_line(str(note))
            if reader is text_rows.graded_pairs:
                splitting.halves(found)
    if mapping.column("score") in table.columns:
        score_columns.check_column(table, mapping.column("score") or "")
    with may_be_refused():
        map_sentences.of_table(table)


def _read_by_name(drawn: Random, place: Path, ending: str, data: bytes) -> None:
    """Read the file by a path that a user may write."""
    path = place / f"{mutants.OTHER_BYTES}.{ending}"
    path.write_bytes(data)
    read_file(drawn.choice((path, f"{mutants.NO_USER}.{ending}", f"{'x' * 300}.{ending}", f"a\0.{ending}")))
    raise Fault("a path that cannot be looked up was read")


def _check_fields(data: bytes) -> None:
    """Raise if an object that was accepted states a field twice."""
    text = data.decode("utf-8", "surrogatepass").lstrip("\ufeff")
    for line in [text] if text.lstrip().startswith("[") else filter(str.strip, text.split("\n")):
        rows: Any = json.loads(line, object_pairs_hook=lambda fields: [("object", dict), *fields])
        for row in rows if rows[:1] != [("object", dict)] else [rows]:
            names = [name for name, _ in row]
            if len(set(names)) < len(names):
                raise Fault(f"accepted though a record has one of these fields twice: {', '.join(names)[:200]}")


def _mutant(drawn: Random, ending: str) -> bytes:
    rows = ROWS
    if drawn.random() < 0.5:
        scores = score_columns.spelled(drawn, len(ROWS))
        rows = [row | {"score": score} for row, score in zip(ROWS, scores, strict=True)]
        if drawn.random() < 0.7:
            return _whole(ending, rows)
    if ending in ("json", "jsonl") and drawn.random() < 0.6:
        rows = mutants.of_json(drawn, rows)
        if ending == "json" or not isinstance(rows, list):
            return mutants.text_of(drawn, rows).encode("utf-8", "surrogatepass")
        return "\n".join(mutants.text_of(drawn, row) for row in rows).encode("utf-8", "surrogatepass")
    return mutants.of_bytes(drawn, _whole(ending, rows))


def _whole(ending: str, rows: list[dict[str, Any]]) -> bytes:
    if ending == "parquet":
        sink = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows), sink)
        return sink.getvalue()
    if ending == "json":
        return json.dumps(rows).encode()
    if ending == "jsonl":
        return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode()
    if ending == "txt":
        return "\n".join(row["sentence1"] for row in rows).encode()
    mark = "," if ending == "csv" else "\t"
    lines = [[f'"{str(cell).replace(chr(34), chr(34) * 2)}"' for cell in row.values()] for row in rows]
    return "\n".join([mark.join(ROWS[0]), *map(mark.join, lines)]).encode("utf-16" if ending == "tsv" else "utf-8")
