"""Choose the best layer & pooling on a dev set, of one model or of two, to report it on a test set.

Of one model it is compared on the test set with the runner-up, the second best on the dev set, and with the model
default; differences come with paired bootstrap intervals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from explorer import in_words
from explorer.data import shared_rows
from explorer.data.set_items import PAIR, ItemSet, counted, several
from explorer.encoding.load import declared
from explorer.encoding.read.pooling import OWN, Reading
from explorer.errors import BadChoice
from explorer.knobs import knob
from explorer.measuring.scores.bootstrap import Interval, difference
from explorer.measuring.scores.layer_scores import ROUNDING, LayerScores, tied_text
from explorer.measuring.scores.metrics import LEAST_PAIRS

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found

CHOSEN_ON = "The layer & pooling of each is the best on {} ({})"


@dataclass(frozen=True)
class ComparedReadings(declared.SideReadings):
    """The layers & poolings under which A and B are compared: by title, by A's model default, or by a dev set."""

    same: bool = knob(
        False, excludes=("reading", "other_reading"), help="One layer & pooling for both: A's model default."
    )
    dev: str | None = knob(
        None,
        metavar="FILE|NAME",
        excludes=("reading", "other_reading", "same"),
        help="Use the layer & pooling of each that is best on this dev set.",
    )

    def of_both(self, one: Found, other: Found) -> tuple[Reading, Reading]:
        """The layer & pooling of A and B, before a dev set chooses."""
        if self.same:
            return replace(self, same=False, reading=declared.default_cell(one.folder).title).of_both(one, other)
        first, second = self.of(one.folder, other.folder)
        return first, second


@dataclass(frozen=True, eq=False)
class BestCell:
    """The best layer & pooling of the dev set, and how much better it is on the test set (scores × 100)."""

    best: Reading
    dev_score: float
    test_score: float
    runner_up: Reading | None  # None if a single cell has a score on the dev set
    over_runner_up: Interval | None
    over_default: Interval | None  # None if the model declares no pooling
    runner_up_score: float = math.nan  # both on the test set
    default_score: float = math.nan
    ties: tuple[Reading, ...] = ()  # others with the same score on the dev set; the runner-up is the first

    @property
    def is_below_default(self) -> bool:
        """Whether the model default has a higher score on the test set."""
        return self.over_default is not None and float(self.over_default.difference) < -ROUNDING

    @property
    def holds(self) -> bool:
        """Whether the best of the dev set is on the test set significantly worse than neither of the two."""
        compared = (self.over_default, self.over_runner_up)
        return not any(one is not None and one.sure and float(one.difference) < 0 for one in compared)


def choose(dev: LayerScores, test: LayerScores, metric: str = "Spearman", aggregate: str = "all") -> BestCell | None:
    """Choose the best cell; None if no cell has a score on the dev set."""
    table = dev.table(metric, aggregate)
    best_first = np.argsort(-table, axis=None, kind="stable")[: np.isfinite(table).sum()]  # NaN sorts last
    ordered = [dev.grid[place] for place in best_first[:2]]
    if not ordered:
        return None
    best, runner_up = ordered[0], ordered[1] if len(ordered) > 1 else None
    rivals: list[NDArray[Any]] = [] if runner_up is None else [test.items_of(runner_up, metric)]
    own = test.own_items(metric)
    if own is not None:
        rivals.append(own)
    found: list[Interval] = []
    if rivals:
        cosines = np.broadcast_to(test.items_of(best, metric), (len(rivals), len(test.gold)))
        about = test.parts, test.statistic(metric), aggregate
        every = difference(test.gold, np.stack(rivals), cosines, *about)
        found = [every.at(rival) for rival in range(len(rivals))]
    return BestCell(
        best,
        dev.score(best, metric, aggregate),
        test.score(best, metric, aggregate),
        runner_up,
        found[0] if runner_up is not None else None,
        found[-1] if own is not None else None,
        math.nan if runner_up is None else test.score(runner_up, metric, aggregate),
        test.score(OWN, metric, aggregate),
        dev.ties(best, metric, aggregate),
    )


def difference_in_words(scores: tuple[float, float], interval: Interval, rival: str) -> str:
    """The difference of the scores of the rival and of the best, as they are shown, with its interval.

    `0.96 above mean of layers 0 + 6 (−0.20 to +2.10), could be chance`.
    """
    difference, low, high = (float(side) for side in (interval.difference, interval.low, interval.high))
    if not np.isfinite(difference):
        return f"without a difference to {rival}, which has no score on the test set"
    if all(abs(side) < ROUNDING for side in (difference, low, high)):
        return f"equal to {rival}"
    gap = in_words.gap(*scores)
    if not gap:
        return f"as high as {rival} ({in_words.ends(gap, low, high)})"
    sure = "significant" if interval.sure else "could be chance"
    side = "below" if difference < 0 else "above"
    return f"{in_words.number(abs(gap))} {side} {rival} ({in_words.ends(gap, low, high)}), {sure}"


def default_title(scores: LayerScores) -> str:
    """`the model default (mean of layer 6)`."""
    return f"the model default ({scores.own_title})" if scores.own_title else f"the model default ({OWN.title})"


@dataclass(frozen=True)
class DevPick:
    """The layer & pooling of A and of B that are best on a dev set."""

    pairs: str
    count: int
    readings: tuple[Reading, Reading]
    scores: tuple[float, float]
    shared: int  # the number of reported items that are in the dev set
    item: str = PAIR
    ties: tuple[tuple[Reading, ...], tuple[Reading, ...]] = ((), ())  # others with the same score on the dev set

    @property
    def words(self) -> str:
        """The choice in words, for pages and reports."""
        sides = ", ".join(
            f"{side} {reading.title} (score {in_words.number(score)}{tied_text(ties)})"
            for side, reading, score, ties in zip("AB", self.readings, self.scores, self.ties, strict=True)
        )
        text, many = f"{CHOSEN_ON.format(self.pairs, counted(self.count, self.item))}: {sides}.", several(self.item)
        if self.shared:
            return f"{text} {self.shared:,} of the {many} scored here are among those: this score is optimistic."
        return f"{text} None of the {many} scored here were used for that choice."


def pick(dev: ItemSet, scores: tuple[LayerScores, LayerScores], reported: ItemSet, metric: str = "") -> DevPick:
    """The best layer & pooling of each, by its score on the dev set; an error if it holds all reported items.

    Without a metric it is the main one of the dev set.
    """
    shared = shared_rows.check(dev, reported)
    metric = metric or scores[0].metrics[0]
    best: list[Reading] = []
    for side, of_side in zip("AB", scores, strict=True):
        reading = of_side.best(metric)
        if reading is None:
            need = f"of at least {LEAST_PAIRS} pairs whose gold scores differ" if dev.item == PAIR else "of other texts"
            raise BadChoice(f"No layer & pooling of {side} has a score on {dev.name}. Use a dev set {need}.")
        best.append(reading)
    one, other = (of_side.score(reading, metric) for of_side, reading in zip(scores, best, strict=True))
    ties, others = (of_side.ties(reading, metric) for of_side, reading in zip(scores, best, strict=True))
    return DevPick(dev.name, len(dev), (best[0], best[1]), (one, other), shared.rows, dev.item, (ties, others))
