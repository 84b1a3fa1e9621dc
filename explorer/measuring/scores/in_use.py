"""What a product needs to know of two models: precision at a stated recall, or how many queries find their passage.

A threshold is the highest cosine that finds the stated share of the matches of the dev set; without a dev set it is
that of the test pairs themselves. Intervals are those of a bootstrap that draws the pairs of both sets, so they hold
the chance of the threshold, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from explorer.knobs import Knobs, knob
from explorer.measuring.scores import bootstrap
from explorer.measuring.scores.calibration import LEAST, share
from explorer.measuring.scores.judge import Gap, Share
from explorer.measuring.scores.metrics import Curve

Floats = NDArray[np.float64]

MATCH, COSINE, FIRST, TEN = "match", "cosine", "rank 1", "first 10"  # of the items of a set, in the file of a run
BEFORE, AFTER = SIDES = "before", "after"
TEST, DEV = "test", "dev"
_AT_ONCE = 4_000_000  # numbers (pair, resample) in memory


@dataclass(frozen=True)
class InUse(Knobs):
    """What a product needs."""

    recall: float = knob(
        0.9,
        low=0.01,
        high=0.999,
        title="Recall of the answer",
        help="Of pairs with two labels, the answer says the precision at the threshold that finds this share of all "
        "matches.",
    )


@dataclass(frozen=True)
class TooFewMatches:
    """Why there is no precision: a set has too few matches, or too few other pairs."""

    use: str  # dev or test
    matches: int
    others: int


@dataclass(frozen=True)
class AtRecall:
    """The precision of two models on test pairs, at thresholds with a stated recall."""

    recall: float  # asked
    thresholds: tuple[float, float]  # before and after
    precision: tuple[Share, Share]
    found: tuple[float, float]  # the recall on the test pairs
    gap: Gap  # of precision × 100
    pairs: int  # of test
    matches: int
    dev_pairs: int  # 0: the thresholds are of the test pairs


@dataclass(frozen=True)
class FoundFirst:
    """How many queries have a right passage at rank 1 and among the first ten, under two models."""

    queries: int
    first: tuple[Share, Share] | None  # None where the items do not tell it
    first_gap: Gap | None
    ten: tuple[Share, Share]
    ten_gap: Gap | None


def in_use(kept: Mapping[str, Floats], recall: float = 0.9) -> AtRecall | FoundFirst | TooFewMatches | None:
    """What the items that a run keeps say of its base and its model; None if they say nothing of this."""
    if name(TEST, MATCH) in kept:
        uses = [use for use in (TEST, DEV) if name(use, MATCH) in kept]
        for use in uses:
            matches = int(kept[name(use, MATCH)].sum())
            others = len(kept[name(use, MATCH)]) - matches
            if min(matches, others) < LEAST:
                return TooFewMatches(use, matches, others)
        sides = [
            tuple(kept[one].astype(np.float64).tobytes() for one in (name(use, MATCH), *_sides(use, COSINE)))
            for use in uses
        ]
        return _at_recall(sides[0], sides[1] if len(sides) > 1 else None, recall)
    if name(TEST, TEN, BEFORE) in kept:
        ten, ten_gap = _shares(kept, TEN)
        first, first_gap = _shares(kept, FIRST) if name(TEST, FIRST, BEFORE) in kept else (None, None)
        return FoundFirst(len(kept[name(TEST, TEN, BEFORE)]), first, first_gap, ten, ten_gap)
    return None


def name(*parts: str) -> str:
    """The name of an array in the file of a run: `dev cosine before`."""
    return " ".join(parts)


def _sides(use: str, what: str) -> list[str]:
    return [name(use, what, side) for side in SIDES]


def _shares(kept: Mapping[str, Floats], what: str) -> tuple[tuple[Share, Share], Gap | None]:
    before, after = (kept[one].astype(np.float64) for one in _sides(TEST, what))
    shares = (share(int(before.sum()), len(before)), share(int(after.sum()), len(after)))
    return shares, Gap.of(bootstrap.mean_difference(before, after))


@lru_cache(maxsize=64)
def _at_recall(test: tuple[bytes, ...], dev: tuple[bytes, ...] | None, asked: float, seed: int = 0) -> AtRecall:
    """The precision before and after, from the bytes of matches and of both sides' cosines (pair)."""
    matches, *cosines = map(np.frombuffer, test)
    chosen, *of_dev = map(np.frombuffer, test if dev is None else dev)
    test_curves, dev_curves = (
        [Curve(gold, side) for side in sides] for gold, sides in ((matches, cosines), (chosen, of_dev))
    )
    of_all = [
        _precision(one, other, np.ones((len(matches), 1), np.float32), np.ones((len(chosen), 1), np.float32), asked)
        for one, other in zip(test_curves, dev_curves, strict=True)
    ]
    random, drawn = np.random.default_rng(seed), []
    at_once = max(1, _AT_ONCE // max(len(matches), len(chosen)))
    for start in range(0, bootstrap.RESAMPLES, at_once):
        count = min(at_once, bootstrap.RESAMPLES - start)
        of_test = _times(len(matches), count, random)
        of_chosen = of_test if dev is None else _times(len(chosen), count, random)
        drawn.append(
            [
                _precision(one, other, of_test, of_chosen, asked)[1]
                for one, other in zip(test_curves, dev_curves, strict=True)
            ]
        )
    resamples = np.concatenate(drawn, axis=1)  # (side, resample)
    edges = (1 - bootstrap.LEVEL) / 2, (1 + bootstrap.LEVEL) / 2
    lows, highs = np.nanquantile(resamples, edges, axis=1)
    points = [float(one[1][0]) for one in of_all]
    low, high = np.nanquantile(100 * (resamples[1] - resamples[0]), edges)
    sides = [Share(*map(float, one)) for one in zip(points, lows, highs, strict=True)]
    return AtRecall(
        asked,
        (float(of_all[0][0][0]), float(of_all[1][0][0])),
        (sides[0], sides[1]),
        (float(of_all[0][2][0]), float(of_all[1][2][0])),
        Gap(100 * (points[1] - points[0]), float(low), float(high)),
        len(matches),
        int(matches.sum()),
        0 if dev is None else len(chosen),
    )


def _times(count: int, resamples: int, random: np.random.Generator) -> NDArray[np.float32]:
    drawn = random.multinomial(count, np.full(count, 1 / count), size=resamples)
    return np.ascontiguousarray(drawn.T, dtype=np.float32)


def _precision(
    test: Curve, dev: Curve, of_test: NDArray[np.float32], of_dev: NDArray[np.float32], asked: float
) -> tuple[Floats, Floats, Floats]:
    """Threshold, and the precision and recall that it has on test pairs (resample); NaN if it finds no pair."""
    true, _ = dev.counts(of_dev)
    thresholds = dev.thresholds[(true >= asked * true[-1] - 1e-9).argmax(axis=0)]
    # thresholds of test pairs go down: the last one that is not below it
    places = np.searchsorted(-test.thresholds, -thresholds, side="right") - 1
    counts = test.counts(of_test)
    right, called = (np.where(places < 0, 0.0, side[places, np.arange(len(places))]) for side in counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        return thresholds, right / called, right / counts[0][-1]
