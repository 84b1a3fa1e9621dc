"""What each method scored with one budget: the same base, and the same number of updates and of rows per update.

`measured/one_budget.yaml` is the plan, and `measured/one_budget.json` the table that `python -m explorer plan --json`
prints of it, without the names of the runs. In place of its label a row has its method, and the setting that differs
between the rows of a method, such as the pooling.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parent / "measured" / "one_budget.json"
SOURCE = (
    "“Measured” is Spearman × 100 on STS-B test, before → after training: all-MiniLM-L6-v2, 200 updates of 16 rows, "
    "best checkpoint on STS-B dev, {seeds}. This encoder was tuned for sentences before, and as people use it, under "
    "its model default, it scores {base:.2f}. Source: docs/results.md, “Every method, 200 updates of 16 rows”."
)


@dataclass(frozen=True)
class MeasuredMethod:
    """A row of the table; scores are × 100."""

    setting: str  # the pooling or what else differs between rows of the method, such as "[CLS]"; may be empty
    before: float | None  # of the base under the layer & pooling that is trained; None if it has no such layer
    after: float  # of the tuned model as it is exported, the mean over seeds
    std: float | None  # over seeds; None for a method without random numbers
    difference: tuple[float, float, float]  # to the base under its model default, with its 95 % interval

    def __str__(self) -> str:
        before = "" if self.before is None else f"{self.before:.2f} → "
        spread = "" if self.std is None else f" ± {self.std:.2f}"
        return f"{self.setting} {before}{self.after:.2f}{spread}".strip()


def of(method: str) -> tuple[MeasuredMethod, ...]:
    """The rows of a method; none if it was not measured."""
    return tuple(_measured(row) for row in _rows() if row["method"] == method)


def advice(method: str, when: str) -> str:
    """When to use a method, and its scores if it was measured; empty without the first."""
    rows = "; ".join(map(str, of(method)))
    scores = f" Measured: {rows}." if rows else ""
    return f"When to use: {when}{scores}" if when else ""


def source() -> str:
    """Which scores these are, and where the whole table is."""
    first, runs = _measured(_rows()[0]), len(_rows()[0]["runs"])
    seeds = f"mean ± standard deviation of {runs} seeds" if runs > 1 else "one seed"
    return SOURCE.format(base=first.after - first.difference[0], seeds=seeds)


@cache
def _rows() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(TABLE.read_text(encoding="utf-8"))["rows"]
    return found


def _measured(row: dict[str, Any]) -> MeasuredMethod:
    before, (mean, std), (gap, low, high) = row["before"], row["test"], row["difference"]
    return MeasuredMethod(row["setting"], before and before[0], mean, std, (gap, low, high))
