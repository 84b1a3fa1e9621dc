"""Scores to compare with: those that papers publish, and what each method scored here with one budget.

`published/` has a file for each paper: its tables with their captions in other words, metrics, and rows. STS12 to STS16
consist of sub-corpora, over which papers aggregate in three ways: "all" is one correlation of all pairs, "mean" and
"wmean" are averages over sub-corpora, plain or weighted by size. The files also say how a paper's choice is known.

`measured/one_budget.yaml` is a plan: the same base, and the same number of updates and of rows per update, for every
method. `measured/one_budget.json` is the table that `python -m explorer plan --json` prints of it, without the names of
the runs. In place of its label a row has its method, and the setting that differs between the rows of a method, such as
the pooling.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from explorer import in_words
from explorer.errors import BadChoice

FOLDER = Path(__file__).parent / "published"
# tasks whose pairs are in sub-corpora, and averages that contain them
AGGREGATED = {*(f"STS{year}" for year in range(12, 17)), "STS average", "SemEval-2014 Spanish"}
MEASURED = Path(__file__).parent / "measured" / "one_budget.json"
MEASURED_SOURCE = (
    "“Measured” is Spearman × 100 on STS-B test, before → after training: all-MiniLM-L6-v2, 200 updates of 16 rows, "
    "best checkpoint on STS-B dev, {seeds}. This encoder was tuned for sentences before, and as people use it, under "
    "its model default, it scores {base:.2f}. Source: docs/results.md, “Every method, 200 updates of 16 rows”."
)


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

    paper: str  # its short name, as of its method: "SG-BERT"; the file also has its title, authors, year and address
    number: str
    caption: str
    rows: tuple[PrintedRow, ...]
    # "Spearman", "Pearson" or "accuracy", each × 100, or "unnamed" by the paper; None if the columns are measures
    metric: str | None = None
    task: str | None = None  # if the columns are measures
    kind: str = "scores"  # or "counts"
    aggregation: str | None = None
    aggregation_known_from: str | None = None
    # known errors as printed: `row`, `column` ("all" for the whole row), `what`
    anomalies: tuple[Mapping[str, Any], ...] = ()


@cache
def tables() -> tuple[PrintedTable, ...]:
    """Every table of every paper, in the order of papers and numbers."""
    stated = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))]
    found = []
    for one in sorted(stated, key=lambda one: one["paper"]["year"]):
        paper = one["paper"]["name"]
        for number, table in sorted(one["tables"].items(), key=lambda numbered: int(numbered[0])):
            rows = []
            for row in table["rows"]:
                scores = {column: PrintedScore(**score) for column, score in row["scores"].items()}
                rows.append(PrintedRow(**{**row, "scores": scores}))
            anomalies = tuple(table.get("anomalies", ()))
            found.append(PrintedTable(paper, number, **{**table, "rows": tuple(rows), "anomalies": anomalies}))
    return tuple(found)


def find_table(paper: str, table: str) -> PrintedTable:
    """A table, such as `find_table("SG-BERT", "1")`."""
    found = next((one for one in tables() if (one.paper, one.number) == (paper, table)), None)
    if found is None:
        known = ", ".join(f"{one.paper} {one.number}" for one in tables())
        raise BadChoice(f"There is no table {table!r} of {paper!r}. Choose one of: {known}.")
    return found


@dataclass(frozen=True)
class MeasuredMethod:
    """A row of the table; scores are × 100."""

    setting: str  # the pooling or what else differs between rows of the method, such as "[CLS]"; may be empty
    before: float | None  # of the base under the layer & pooling that is trained; None if it has no such layer
    after: float  # of the tuned model as it is exported, the mean over seeds
    std: float | None  # over seeds; None for a method without random numbers
    difference: tuple[float, float, float]  # to the base under its model default, with its 95 % interval

    def __str__(self) -> str:
        scores = in_words.number(self.after) if self.before is None else in_words.arrow(self.before, self.after)
        spread = "" if self.std is None else f" ± {in_words.number(self.std)}"
        return f"{self.setting} {scores}{spread}".strip()


def measured_rows(method: str) -> tuple[MeasuredMethod, ...]:
    """The rows of a method; none if it was not measured."""
    return tuple(_measured(row) for row in _rows() if row["method"] == method)


def advice(method: str, when: str) -> str:
    """When to use a method, and its scores if it was measured; empty without the first."""
    rows = "; ".join(map(str, measured_rows(method)))
    scores = f" Measured: {rows}." if rows else ""
    return f"When to use: {when}{scores}" if when else ""


def measured_source() -> str:
    """Which scores these are, and where the whole table is."""
    first, runs = _measured(_rows()[0]), len(_rows()[0]["runs"])
    seeds = f"mean ± standard deviation of {runs} seeds" if runs > 1 else "one seed"
    return MEASURED_SOURCE.format(base=first.after - first.difference[0], seeds=seeds)


@cache
def _rows() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(MEASURED.read_text(encoding="utf-8"))["rows"]
    return found


def _measured(row: dict[str, Any]) -> MeasuredMethod:
    before, (mean, std), (gap, low, high) = row["before"], row["test"], row["difference"]
    return MeasuredMethod(row["setting"], before and before[0], mean, std, (gap, low, high))
