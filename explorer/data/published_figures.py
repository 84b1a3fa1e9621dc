"""The scores that papers publish, by paper, table and row, to compare with measured ones.

Each file in `published/` is one paper: its tables with their captions in other words, metrics, and rows. STS12 to STS16
consist of sub-corpora, over which papers aggregate in three ways: "all" is one correlation of all pairs, "mean" and
"wmean" are averages over sub-corpora, plain or weighted by size. The files also say how a paper's choice is known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from explorer.errors import BadChoice

FOLDER = Path(__file__).parent / "published"
# tasks whose pairs are in sub-corpora, and averages that contain them
AGGREGATED = {*(f"STS{year}" for year in range(12, 17)), "STS average", "SemEval-2014 Spanish"}


@dataclass(frozen=True)
class PublishedPaper:
    """A publication."""

    name: str  # short, as of its method: "SG-BERT"
    title: str
    authors: str
    year: int
    venue: str
    url: str

    @property
    def line(self) -> str:
        """`Kim, Yoo and Lee 2021`."""
        return f"{self.authors} {self.year}"


@dataclass(frozen=True)
class PrintedScore:
    """A printed number; None where the table has none."""

    value: float | None
    std: float | None = None
    delta: Mapping[str, float] = field(default_factory=dict)  # printed differences from other models of the table


@dataclass(frozen=True)
class PrintedRow:
    """One model of a table, with its scores by task or, in a table of one task, by measure."""

    model: str
    scores: Mapping[str, PrintedScore]
    base: str | None = None  # "BERT-base"; None for a model without a transformer
    pooling: str | None = None
    group: str | None = None
    parameters: Mapping[str, float] = field(default_factory=dict)
    reported_by: str | None = None  # the source of a number that the paper did not measure itself
    reimplemented: bool = False  # by the authors of the paper, who ran another paper's method
    aggregation: str | None = None  # if it is not that of the table

    @property
    def label(self) -> str:
        """`SG-OPT (τ 0.1, λ 0.1)`: the model and its parameters."""
        stated = ", ".join(f"{name} {value:g}" for name, value in self.parameters.items())
        return f"{self.model} ({stated})" if stated else self.model


@dataclass(frozen=True)
class PrintedTable:
    """One table of a paper; its columns are tasks under one metric, or measures of one task."""

    paper: PublishedPaper
    number: str
    caption: str
    rows: tuple[PrintedRow, ...]
    # "Spearman", "Pearson" or "accuracy", each × 100, or "unnamed" by the paper; None if the columns are measures
    metric: str | None = None
    task: str | None = None  # if the columns are measures
    kind: str = "scores"  # or "counts"
    aggregation: str | None = None
    aggregation_known_from: str | None = None
    anomalies: tuple[
        Mapping[str, Any], ...
    ] = ()  # known errors as printed: `row`, `column` ("all" for the whole row), `what`


@cache
def tables() -> tuple[PrintedTable, ...]:
    """Every table of every paper, in the order of papers and numbers."""
    stated = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))]
    papers = sorted(((PublishedPaper(**one["paper"]), one["tables"]) for one in stated), key=lambda one: one[0].year)
    return tuple(
        _table(paper, number, numbered[number]) for paper, numbered in papers for number in sorted(numbered, key=int)
    )


def find_table(paper: str, table: str) -> PrintedTable:
    """A table, such as `find_table("SG-BERT", "1")`."""
    found = next((one for one in tables() if (one.paper.name, one.number) == (paper, table)), None)
    if found is None:
        known = ", ".join(f"{one.paper.name} {one.number}" for one in tables())
        raise BadChoice(f"There is no table {table!r} of {paper!r}. Choose one of: {known}.")
    return found


def _table(paper: PublishedPaper, number: str, stated: dict[str, Any]) -> PrintedTable:
    anomalies = tuple(stated.pop("anomalies", ()))
    return PrintedTable(paper, number, rows=tuple(map(_row, stated.pop("rows"))), anomalies=anomalies, **stated)


def _row(stated: dict[str, Any]) -> PrintedRow:
    scores = {column: PrintedScore(**score) for column, score in stated.pop("scores").items()}
    return PrintedRow(scores=scores, **stated)
