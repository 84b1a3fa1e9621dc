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
from explorer.data.tables.files import read_bytes
from tests.fuzz import mutants
from tests.fuzz.cases import check_line, may_be_refused

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


def prepare(folder: Path) -> None:
    """Need nothing."""


def attempt(seed: int, folder: Path, place: Path) -> None:
    """Change a file, and read it in every way."""
    drawn = Random(seed)
    ending = drawn.choice(("csv", "tsv", "txt", "json", "jsonl", "parquet"))
    table = read_bytes(f"mutant.{ending}", _mutant(drawn, ending))
    mapping = columns.guess(table)
    for reader in READERS:
        with may_be_refused():
            found, report = reader(table, mapping)
            for note in report.notes if hasattr(report, "notes") else ():
                check_line(str(note))
            if reader is text_rows.graded_pairs:
                splitting.halves(found)
    with may_be_refused():
        map_sentences.of_table(table)


def _mutant(drawn: Random, ending: str) -> bytes:
    if ending in ("json", "jsonl") and drawn.random() < 0.6:
        rows = mutants.of_json(drawn, ROWS)
        if ending == "json" or not isinstance(rows, list):
            return mutants.text_of(drawn, rows).encode("utf-8", "surrogatepass")
        return "\n".join(mutants.text_of(drawn, row) for row in rows).encode("utf-8", "surrogatepass")
    return mutants.of_bytes(drawn, _whole(ending))


def _whole(ending: str) -> bytes:
    if ending == "parquet":
        sink = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(ROWS), sink)
        return sink.getvalue()
    if ending == "json":
        return json.dumps(ROWS).encode()
    if ending == "jsonl":
        return "\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS).encode()
    if ending == "txt":
        return "\n".join(row["sentence1"] for row in ROWS).encode()
    mark = "," if ending == "csv" else "\t"
    lines = [[f'"{str(cell).replace(chr(34), chr(34) * 2)}"' for cell in row.values()] for row in ROWS]
    return "\n".join([mark.join(ROWS[0]), *map(mark.join, lines)]).encode("utf-16" if ending == "tsv" else "utf-8")
