"""What more training rows bring: the curves of a plan over numbers of rows, and the difference of one to the next."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from explorer.data.text_sets import Corpus
from explorer.errors import StrataError
from explorer.evaluating.kinds import JudgedSet, judged, run_set
from explorer.measuring.scores import bootstrap
from explorer.measuring.scores.judge import Gap
from explorer.measuring.scores.verdict import Verdict
from explorer.studies.plans.plan import TRAINING_ROWS
from explorer.studies.plans.plan_table import TEST, PlanRow, PlanTable
from explorer.studies.plans.seeds import over_seeds
from explorer.training.loop.training_texts import read_texts
from explorer.training.recipe import Recipe
from explorer.training.record import recorder


@dataclass(frozen=True)
class RowPoint:
    """A number of training rows: a row of the plan's table whose seeds are all tested."""

    row: PlanRow
    rows: int  # that were trained on
    steps: int  # updates of a training
    verdict: Verdict  # against the base

    @property
    def recipe(self) -> Recipe:
        """The recipe of its first seed."""
        return self.row.cells[0].recipe

    @property
    def stated(self) -> str:
        """`25 %` or `2000`, as the plan has it."""
        return self.recipe.schedule().rows


@dataclass(frozen=True)
class RowCurve:
    """Rows of a table that differ in their number of training rows only, the fewest first.

    A verdict on more rows against fewer has the mean over seeds with the interval of `over_seeds`; of one seed there is
    the difference alone. For each seed, the rows of a smaller number are among those of a larger one.
    """

    label: str  # what they have in common
    points: tuple[RowPoint, ...]
    gains: tuple[Verdict, ...]  # of each number of rows against the one before
    whole: Verdict  # of the most rows against the fewest

    @property
    def doublings(self) -> float:
        """How often the fewest rows are doubled until they are the most."""
        return math.log2(self.points[-1].rows / self.points[0].rows)

    @property
    def per_doubling(self) -> Verdict:
        """The difference that a doubling brought on average, with its interval."""
        if not self.whole.known:
            return Verdict()
        before, _, *gap = self.whole.known
        difference, low, high = (number / self.doublings for number in gap)
        return Verdict(before, None, before + difference, difference, low, high)

    @property
    def seeds(self) -> int:
        """With how many seeds each number of rows is trained."""
        return len(self.points[0].row.cells)

    @property
    def untrained(self) -> tuple[RowPoint, ...]:
        """Of the last two numbers of rows those with which nothing was learned, whatever the seed."""
        return tuple(one for one in self.points[-2:] if one.row.nothing == len(one.row.cells))

    @property
    def fixed_steps(self) -> int:
        """The steps of every training; 0 if there are as many as its epochs need."""
        return self.points[0].recipe.schedule().steps

    @property
    def rows_read(self) -> int:
        """How many rows the fixed steps read, each time that one is read; 0 if there are as many as epochs need."""
        recipe = self.points[0].recipe
        schedule = recipe.schedule()
        return schedule.steps * schedule.batch_size * schedule.accumulate * recipe.kind.rows_each


def curves(found: PlanTable) -> tuple[RowCurve, ...]:
    """Every curve of a plan that has two numbers of rows, as far as they are done."""
    by_recipe: dict[str, list[RowPoint]] = {}
    for row in found.rows:
        recipe, done, verdict = row.cells[0].recipe, row.cells[0].done, row.verdict
        if done is None or verdict is None or not done.facts.rows or not recipe.test:
            continue
        before = [one.steps for result in done.results[:1] for one in result.stages]
        point = RowPoint(row, done.facts.rows, done.total - max(before, default=0), verdict)
        by_recipe.setdefault(repr(of_any_rows(recipe).content()), []).append(point)
    several = ({one.rows: one for one in points} for points in by_recipe.values())
    return tuple(_curve([by_rows[rows] for rows in sorted(by_rows)]) for by_rows in several if len(by_rows) > 1)


def of_any_rows(recipe: Recipe) -> Recipe:
    """The recipe without its number of training rows."""
    others = {name: value for name, value in recipe.settings.items() if name != TRAINING_ROWS.name}
    return replace(recipe, settings=others)


def _curve(points: Sequence[RowPoint]) -> RowCurve:
    steps = list(pairwise(points))
    every = steps if len(steps) == 1 else [*steps, (points[0], points[-1])]
    try:
        test = _test(points[0].recipe)
        *gains, whole = [_gain(test, fewer.row, more.row) for fewer, more in every]
    except StrataError:  # the test set is gone
        *gains, whole = [Verdict()] * len(every)
    return RowCurve(points[0].row.cells[0].line, tuple(points), tuple(gains) or (whole,), whole)


def _test(recipe: Recipe) -> JudgedSet[Any] | None:
    """The test set; None without one, and of labelled rows of the text, whose score is the mean of its items."""
    if recipe.test is None:
        return None
    found = read_texts(recipe).tests[0] if recipe.test.is_own_rows else run_set(recipe.test)
    return None if isinstance(found, Corpus) else judged(found)


def _gain(test: JudgedSet[Any] | None, fewer: PlanRow, more: PlanRow) -> Verdict:
    """The verdict on more rows against fewer; without a difference if a run has no scores of items.

    Of one seed it has no interval: see `ONE_SEED`.
    """
    gaps = []
    for one, other in zip(fewer.cells, more.cells, strict=True):
        sides = [recorder.items(cell.run, cell.seed) for cell in (one, other) if cell.run is not None]
        items = [side for side in sides if side is not None]
        if len(items) < 2 or items[0].shape != items[1].shape:
            return Verdict()
        gaps.append(_difference(test, *(side.astype(np.float64).tobytes() for side in items)))
    before, after = fewer.score(TEST), more.score(TEST)
    if before is None or after is None:
        return Verdict()
    found = over_seeds([Gap(*(float(number) for number in (gap.difference, gap.low, gap.high))) for gap in gaps])
    edges = (found.low, found.high) if len(gaps) > 1 else (None, None)
    return Verdict(before.mean, None, after.mean, found.difference, *edges)


@lru_cache(maxsize=512)
def _difference(test: JudgedSet[Any] | None, one: bytes, other: bytes) -> bootstrap.Interval:
    """The difference of two runs with its paired interval, from the bytes of their items."""
    sides = np.frombuffer(one), np.frombuffer(other)
    return bootstrap.mean_difference(*sides) if test is None else test.difference(*sides)


def as_json(found: Sequence[RowCurve]) -> list[dict[str, Any]]:
    """The numbers of all curves, unrounded."""
    return [
        {
            "rows": curve.label,
            "fixed_steps": curve.fixed_steps or None,
            "points": [
                {
                    "stated": point.stated,
                    "rows": point.rows,
                    "steps": point.steps,
                    "row": point.row.label,
                    "difference": point.verdict.known[2:],
                }
                for point in curve.points
            ],
            "gains": [gain.known[2:] for gain in curve.gains],
            "per_doubling": curve.per_doubling.known[2:],
        }
        for curve in found
    ]
