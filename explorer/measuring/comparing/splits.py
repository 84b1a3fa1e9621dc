"""Split a comparison by a column of the evaluation set: the scores of A and B in each group, and their difference.

The intervals are so wide that those of all groups hold together with at least 95 %: each leaves an equal part of the
5 % outside (Bonferroni), as those of the probe packs do. The groups share no item, so their differences are
independent, and a resampling of the largest deviation over all groups would give nearly the same: with 12 groups, 5 %
in place of 4.9 %. Holm's correction finds a little more where several groups differ, but has no intervals that agree
with it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from explorer import in_words
from explorer.data.set_items import Attribute, several
from explorer.encoding.read.pooling import Reading
from explorer.errors import BadChoice
from explorer.in_words import Rows, rounded
from explorer.knobs import Knobs, knob
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.scores import bootstrap, metrics
from explorer.measuring.scores.layer_scores import LayerScores, text_of

Floats = NDArray[np.float64]

BANDS = 4  # of numbers, each with about as many items
LEAST = 10  # items of an interval: that of a few that are all alike would have no width
MISSING = "missing"  # the group of empty cells
MOST_RESAMPLES = 20_000


@dataclass(frozen=True)
class SplitOptions(Knobs):
    """The column whose groups are scored, too."""

    split: str | None = knob(
        None,
        metavar="COLUMN",
        help="Also the scores in each group of a column of the file, such as language or source, or of the length in "
        "words.",
    )


@dataclass(frozen=True, eq=False)
class ItemGroup:
    """Items of a set with one value of a column, or with numbers of one band."""

    name: str
    rows: NDArray[np.intp]


@dataclass(frozen=True)
class GroupChange:
    """The scores × 100 of A and B on the items of a group, and the interval of their difference; NaN if missing."""

    name: str
    items: int
    one: float
    other: float
    low: float
    high: float
    why: str = ""  # why it has no interval

    @property
    def sure(self) -> bool | None:
        """Whether the difference is significant, after the correction; None without an interval."""
        return None if math.isnan(self.low) else self.low > 0 or self.high < 0

    @property
    def difference(self) -> float:
        """B - A, of the scores as they are shown."""
        return in_words.gap(self.one, self.other)


@dataclass(frozen=True)
class SplitChanges:
    """What a comparison is in each group of a column."""

    column: str
    metric: str
    groups: tuple[GroupChange, ...]
    level: float  # of each interval: those of all groups hold together with `bootstrap.LEVEL`

    @property
    def with_intervals(self) -> int:
        """How many groups have an interval."""
        return sum(one.sure is not None for one in self.groups)


def named(attributes: Sequence[Attribute], name: str, of_set: str) -> Attribute:
    """The column with a name, ignoring case; an error that lists all."""
    found = {one.name.casefold(): one for one in reversed(attributes)}
    if name.casefold() not in found:
        listed = ", ".join(one.name for one in attributes)
        raise BadChoice(
            f"{of_set} cannot be split by '{name}'. Choose one of: {listed}."
            if attributes
            else f"{of_set} has no column that divides its items. Choose another set, or leave the split out."
        )
    return found[name.casefold()]


def groups_of(attribute: Attribute) -> tuple[ItemGroup, ...]:
    """The items by value, the largest group first, or by bands of numbers, from the lowest; empty cells are last.

    Equal numbers are in one band.
    """
    cells = attribute.cells
    if not attribute.counts:
        count = Counter(cells)
        names = sorted(count, key=lambda name: (name == "", -count[name], name))
        of_names = np.array(cells, dtype=object)
        return tuple(ItemGroup(str(name) or MISSING, np.flatnonzero(of_names == name)) for name in names)
    numbers = np.array(cells, dtype=np.float64)
    known = np.isfinite(numbers)
    # the number of the largest value of each band but the last; ties can leave fewer bands
    edges = np.unique(np.quantile(numbers[known], np.arange(1, BANDS) / BANDS, method="inverted_cdf"))
    bands = np.searchsorted(edges, numbers, side="left")
    found = []
    for band in np.unique(bands[known]):
        rows = np.flatnonzero(known & (bands == band))
        ends = dict.fromkeys(f"{end:g}" for end in (numbers[rows].min(), numbers[rows].max()))
        found.append(ItemGroup(" to ".join(ends), rows))
    rows = np.flatnonzero(~known)
    return (*found, ItemGroup(MISSING, rows)) if len(rows) else tuple(found)


def split(comparison: Comparison, attribute: Attribute, metric: str, *, intervals: bool = True) -> SplitChanges:
    """Compare A and B, each under its chosen layer & pooling, in each group of a column.

    Without `intervals`, as of a set that chose one of the models, no difference is judged.
    """
    sides = (comparison.one, comparison.one_reading), (comparison.other, comparison.other_reading)
    one, other = (scores.items_of(reading, metric) for scores, reading in sides)
    statistic, groups = comparison.one.statistic(metric), groups_of(attribute)
    gold, seed, resamples = comparison.one.gold, comparison.seed, comparison.resamples if intervals else 0
    changes, level = changes_of(gold, one, other, groups, statistic, resamples=resamples, seed=seed)
    return SplitChanges(attribute.name, metric, changes, level)


def changes_of(
    gold: Floats,
    one: Floats,
    other: Floats,
    groups: Sequence[ItemGroup],
    statistic: str,
    *,
    resamples: int = bootstrap.RESAMPLES,
    seed: int = 0,
) -> tuple[tuple[GroupChange, ...], float]:
    """The change of each group from the cosines or items (item) of both sides, and the level of each interval.

    A metric of pairs is computed from the pairs of a group alone. There are no intervals without resamples.
    """
    of_pairs = metrics.METRICS[statistic].of_pairs
    scored = []
    for group in groups:
        at = group.rows
        before, after = (100 * float(of_pairs(gold[at], side[at])) for side in (one, other))
        why = _why_none(gold[at], (before, after), statistic)
        scored.append(GroupChange(group.name, len(at), before, after, math.nan, math.nan, why))
    judged = sum(not change.why for change in scored)
    level = 1 - (1 - bootstrap.LEVEL) / max(1, judged)
    found = []
    for group, change in zip(groups, scored, strict=True):
        if resamples and not change.why:
            at = group.rows
            # where percentiles count, as many resamples are outside of an interval as of a single one
            by_percentiles = len(at) > bootstrap.FEW or not metrics.METRICS[statistic].smooth
            count = max(resamples, min(MOST_RESAMPLES, judged * resamples)) if by_percentiles else resamples
            about = gold[at], one[at], other[at], (), statistic
            interval = bootstrap.difference(*about, level=level, resamples=count, seed=seed)
            change = replace(change, low=float(interval.low), high=float(interval.high))
        found.append(change)
    return tuple(found), level


def _why_none(gold: Floats, scores: Sequence[float], statistic: str) -> str:
    """Why a group has no interval; "" if it has one."""
    if statistic != metrics.MEAN and (why := metrics.why_no_score(gold, statistic)):
        return metrics.no_score_in_words(why, len(gold))
    if not all(map(math.isfinite, scores)):
        return "a side has no score" if len(scores) > 1 else "no score"
    return f"too few for an interval: fewer than {LEAST}" if len(gold) < LEAST else ""


def rows_of(found: SplitChanges) -> Rows:
    """A row for each group; its name is under that of the column, which may be that of a number, too."""
    numbers = [_numbers(one) for one in found.groups]
    heading = f"{found.column} (group)" if any(found.column in row for row in numbers) else found.column
    return [{heading: one.name, **row} for one, row in zip(found.groups, numbers, strict=True)]


def _numbers(one: GroupChange) -> dict[str, object]:
    """The cells of a group's row besides its name."""
    return {
        "items": one.items,
        "A": rounded(one.one),
        "B": rounded(one.other),
        "difference": rounded(one.difference),
        "low": rounded(one.low),
        "high": rounded(one.high),
        "significant": one.sure,
        "note": one.why or None,
    }


def as_json(found: SplitChanges) -> dict[str, object]:
    """The column, the metric, and what each group has."""
    return {
        "column": found.column,
        "metric": found.metric,
        "level_of_each": round(found.level, 6),
        "level_of_all": bootstrap.LEVEL,
        "groups": [{"group": one.name, **_numbers(one)} for one in found.groups],
    }


def how_judged(found: SplitChanges) -> str:
    """How the intervals are corrected for so many groups, in words."""
    if not found.with_intervals:
        return ""
    text = f"The intervals of all {found.with_intervals} groups hold together with 95 %"
    if found.with_intervals == 1:
        return "The interval is the 95 % CI. A difference is significant if it excludes 0."
    each = f"each is a {100 * found.level:.2f} % CI (Bonferroni)"
    return f"{text}: {each}. A difference is significant if its own excludes 0."


def as_text(found: SplitChanges, item: str) -> list[str]:
    """A line for each group, for the terminal."""
    name = max([len(found.column), *(len(one.name) for one in found.groups)])
    count = max(len(item), 7)
    lines = [f"{found.column:<{name}}  {item:>{count}}{'A':>9}{'B':>9}{'B - A':>9}"]
    for one in found.groups:
        line = f"{one.name:<{name}}  {one.items:>{count},}{text_of(one.one):>9}{text_of(one.other):>9}"
        if math.isfinite(one.difference):
            line += f"{in_words.signed(one.difference):>9}{'*' if one.sure else ' '}"
        if one.sure is not None:
            line += f" ({in_words.ends(one.difference, one.low, one.high)})"
        lines.append(f"{line.rstrip()}{f'  {one.why}' * bool(one.why)}")
    marked = " * marks a significant one." if any(one.sure for one in found.groups) else ""
    return [*lines, *filter(None, [how_judged(found) + marked])]


@dataclass(frozen=True)
class GroupScore:
    """The score × 100 of one model on the items of a group, and its 95 % interval; None if it has none."""

    name: str
    items: int
    score: float
    ends: tuple[float, float] | None
    why: str  # why it has no interval


@dataclass(frozen=True)
class ScoreSplit:
    """What one model has in each group of a column, under a layer & pooling."""

    column: str
    metric: str
    reading: str
    item: str  # what its items are
    groups: tuple[GroupScore, ...]


def score_split(scores: LayerScores, attribute: Attribute, reading: Reading, metric: str, item: str) -> ScoreSplit:
    """The score in each group of a column; nothing is judged, so each interval is one of 95 %."""
    groups = group_scores(scores.gold, scores.items_of(reading, metric), groups_of(attribute), scores.statistic(metric))
    return ScoreSplit(attribute.name, metric, reading.title, item, groups)


def group_scores(gold: Floats, items: Floats, groups: Sequence[ItemGroup], statistic: str) -> tuple[GroupScore, ...]:
    """The score of each group from cosines or from what each item gets (item); gold scores have no part in a mean."""
    found = []
    for group in groups:
        gold_here, of_group = gold[group.rows], items[group.rows]
        score = 100 * float(metrics.METRICS[statistic].of_pairs(gold_here, of_group))
        if why := _why_none(gold_here, (score,), statistic):
            ends = None
        elif statistic == metrics.MEAN:
            ends = bootstrap.mean_ends(of_group)
        else:
            ends = bootstrap.agreement_ends(gold_here, of_group, metric=statistic)
        found.append(GroupScore(group.name, len(of_group), score, ends, why))
    return tuple(found)


def scores_as_json(found: ScoreSplit) -> dict[str, object]:
    """The column, the layer & pooling, the metric, and what each group has."""
    rows = [
        {
            "group": one.name,
            several(found.item): one.items,
            "score": rounded(one.score),
            "low": one.ends and rounded(one.ends[0]),
            "high": one.ends and rounded(one.ends[1]),
            "note": one.why or None,
        }
        for one in found.groups
    ]
    return {"column": found.column, "reading": found.reading, "metric": found.metric, "groups": rows}


def scores_as_text(found: ScoreSplit) -> list[str]:
    """A line for each group, for the terminal."""
    name = max([len(found.column), *(len(one.name) for one in found.groups)])
    lines = [f"{found.reading}, {found.metric} × 100 with its 95 % CI"]
    lines.append(f"{found.column:<{name}}  {several(found.item):>7}   score")
    for one in found.groups:
        ends = one.why if one.ends is None else f"({in_words.interval(*one.ends)})"
        lines.append(f"{one.name:<{name}}  {one.items:>7,}{text_of(one.score):>8}  {ends}")
    return lines
