"""Every metric of an evaluation set's cosines or items: one row of a table for each.

Pages, intervals, verdicts, results, commands and help read the table. A metric that is not in it is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.errors import BadChoice
from explorer.measuring.scores import binary_metrics, correlation
from explorer.measuring.scores.binary_metrics import AVERAGE_PRECISION, F1, OfColumn, is_binary

Floats = NDArray[np.float64]

AGGREGATES = ("all", "mean", "wmean")
MEAN = "mean of items"


@dataclass(frozen=True)
class Metric:
    """A number, at most 1, of a column of cosines and the gold scores of their pairs; higher is better.

    `of_pairs` gives it for the last axis of cosines (…, pair). `of_draws` takes gold scores and how often each pair is
    drawn (pair, resample), and gives the function from a column (pair) to its number in every resample. `applies` says
    for which gold scores a set offers it.
    """

    name: str
    of_pairs: Callable[[Floats, NDArray[Any]], Floats]
    of_draws: Callable[[Floats, NDArray[np.float32]], OfColumn]
    help: str  # direction, range and typical values × 100
    applies: Callable[[Floats], bool] = lambda gold: True

    @property
    def key(self) -> str:
        """Its name in results and on the command line."""
        return self.name if self.name.isupper() else self.name.lower()


def _mean_of_draws(gold: Floats, times: NDArray[np.float32]) -> OfColumn:
    wide = times.astype(np.float64)
    return lambda items: np.asarray(items @ wide / len(gold))


_CORRELATION = (
    "{} correlation of cosines with gold scores, × 100. Higher is better, at most 100; 0 is chance; good models reach "
    "75 to 90."
)
METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("Spearman", correlation.spearman, correlation.SpearmanOfDraws, _CORRELATION.format("Spearman")),
        Metric("Pearson", correlation.pearson, correlation.PearsonOfDraws, _CORRELATION.format("Pearson")),
        Metric(
            AVERAGE_PRECISION,
            binary_metrics.average_precision,
            binary_metrics.average_precision_of_draws,
            f"{AVERAGE_PRECISION}: the mean precision over all thresholds, × 100; chance is the share of positive "
            "pairs. Higher is better, at most 100.",
            is_binary,
        ),
        Metric(
            F1,
            binary_metrics.best_f1,
            binary_metrics.best_f1_of_draws,
            f"{F1}: the harmonic mean of precision and recall at the best threshold, × 100. Higher is better, at most "
            "100.",
            is_binary,
        ),
        # of what each query, triplet or row gets: gold scores have no part in it, and no set of pairs offers it
        Metric(MEAN, correlation.mean, _mean_of_draws, "", lambda gold: False),
    )
}


def metrics_of(gold: Floats) -> tuple[str, ...]:
    """The metrics that scored pairs offer; the first is the main one."""
    return tuple(name for name, metric in METRICS.items() if metric.applies(gold))


def ways_of(gold: Floats, parts: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Metric and aggregation of everything that a result holds, by its name: "spearman", "spearman wmean"."""
    aggregates = AGGREGATES if len(set(parts)) > 1 else AGGREGATES[:1]
    return {name_of(metric, way): (metric, way) for way in aggregates for metric in metrics_of(gold)}


def name_of(metric: str, aggregate: str) -> str:
    """The name of a measure of results: "spearman", "spearman wmean"."""
    key = METRICS[metric].key
    return key if aggregate == "all" else f"{key} {aggregate}"


def way_of(name: str) -> tuple[str, str] | None:
    """The metric and the aggregation of a measure of results; None if it is not one of scored pairs."""
    ways = {name_of(metric, way): (metric, way) for way in AGGREGATES for metric in METRICS if metric != MEAN}
    return ways.get(name)


def named(written: str) -> str:
    """The metric with a name, in any case."""
    known = {name.lower(): name for name in METRICS if name != MEAN}
    if written.lower() not in known:
        raise BadChoice(f"There is no metric '{written}'. Choose one of {', '.join(known.values())}.")
    return known[written.lower()]


def check_agreement(metric: str, aggregate: str) -> None:
    """Refuse an unknown metric or aggregation."""
    if metric not in METRICS:
        named(metric)
    if aggregate not in AGGREGATES:
        raise BadChoice(
            f"There is no aggregation '{aggregate}' over sub-corpora. Choose one of {', '.join(AGGREGATES)}."
        )


def agreement(gold: Floats, system: NDArray[Any], parts: Sequence[str], metric: str, aggregate: str) -> Floats:
    """A metric of `gold` (pair) with `system` (…, pair): over all pairs, or averaged over the parts.

    `all` is one correlation of all pairs (SimCSE, ConIsI), `mean` the mean over sub-corpora and `wmean` the mean
    weighted by their sizes (BERT-flow, BERT-whitening); papers often do not say which they report.
    """
    check_agreement(metric, aggregate)
    of_pairs = METRICS[metric].of_pairs
    if aggregate == "all":
        return of_pairs(gold, system)
    names = np.array(parts)
    corpora = [names == name for name in dict.fromkeys(parts)]
    each = np.stack([of_pairs(gold[inside], system[..., inside]) for inside in corpora])
    sizes = None if aggregate == "mean" else [inside.sum() for inside in corpora]
    return np.asarray(np.average(each, axis=0, weights=sizes))
