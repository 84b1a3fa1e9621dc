"""Every metric of an evaluation set, of cosines or items: one row of a table for each.

Pages, intervals, verdicts, results, commands and help read the table. A metric that is not in it is an error. Of labels
with two values, equal cosines are one threshold, as in scikit-learn's precision_recall_curve and
average_precision_score.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.data.set_items import PAIR, QUERY, TRIPLET
from explorer.data.text_sets import SCORED_PAIRS
from explorer.errors import BadChoice
from explorer.measuring.scores import correlation

Floats = NDArray[np.float64]
OfColumn = Callable[[NDArray[Any]], Floats]
OfPairs = Callable[[Floats, NDArray[Any]], Floats]
OfDraws = Callable[[Floats, NDArray[np.float32]], OfColumn]
Measure = Callable[[Floats, Floats], Floats]  # of true and predicted positives (threshold, resample)

AGGREGATES = ("all", "mean", "wmean")
MEAN = "mean of items"
AVERAGE_PRECISION, F1, BEST_ACCURACY = "average precision", "F1", "best accuracy"
# the measures of scored pairs, triplets and probe packs; those of retrieval sets are others, of queries
SPEARMAN, ACCURACY, DISTINGUISHED = "Spearman", "accuracy", "share distinguished"
DECIDED = {0.0: "wrong", 100.0: "right"}  # the accuracy × 100 of an item
LEAST_PAIRS = SCORED_PAIRS.least  # that have a score
HIGH = 90.0  # a score × 100 from which training can hardly show an improvement
TOO_FEW, ALL_EQUAL, NOT_TWO = "too few", "all equal", "not two values"  # why pairs have no score
_WHY = {
    TOO_FEW: "too few pairs: {count:,}, where a score needs at least {least}",
    ALL_EQUAL: "all gold scores are equal",
    NOT_TWO: "it needs gold scores with two values, one for each class",
}


def is_binary(gold: Floats) -> bool:
    """Whether gold scores have two values: the higher one is the positive class."""
    return len(np.unique(gold)) == 2


class Curve:
    """The counts at every threshold of a column of cosines, from the highest on, for any number of resamples."""

    def __init__(self, gold: Floats, cosines: NDArray[Any]) -> None:
        self._order = np.argsort(-cosines, kind="stable")
        ordered = cosines[self._order]
        self._ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
        self.thresholds: Floats = np.asarray(ordered[self._ends], dtype=np.float64)
        self._positive = (gold == gold.max())[self._order]

    def counts(self, times: NDArray[np.float32]) -> tuple[Floats, Floats]:
        """True positives and predicted positives (threshold, resample), each pair drawn so many `times`."""
        # cumulated along rows: down the columns it takes twenty times as long
        drawn = np.ascontiguousarray(times[self._order].T, dtype=np.float64)
        predicted = np.cumsum(drawn, axis=1)[:, self._ends].T
        true = np.cumsum(drawn * self._positive, axis=1)[:, self._ends].T
        return true, predicted


def _average_precision(true: Floats, predicted: Floats) -> Floats:
    """The sum over thresholds of precision times the gain in recall."""
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = np.where(predicted > 0, true / predicted, 0.0)
        gains = np.diff(true, axis=0, prepend=0.0)
        return np.asarray((precision * gains).sum(axis=0) / true[-1])


def _f1(true: Floats, predicted: Floats) -> Floats:
    """The highest F1 of all thresholds."""
    with np.errstate(invalid="ignore", divide="ignore"):
        found = (2 * true / (predicted + true[-1])).max(axis=0)
    return np.asarray(np.where(true[-1] > 0, found, np.nan))


def _best_accuracy(true: Floats, predicted: Floats) -> Floats:
    """The highest share of pairs that one threshold puts on the right side."""
    positive, count = true[-1], predicted[-1]
    rejected = count - positive - (predicted - true)  # negative pairs below the threshold
    return np.asarray((true + rejected).max(axis=0) / count)


def _of_thresholds(measure: Measure) -> tuple[OfPairs, OfDraws]:
    """A measure of every threshold, of pairs and of draws; NaN unless labels have two values, and cosines differ."""

    def of_draws(gold: Floats, times: NDArray[np.float32]) -> OfColumn:
        def of_column(cosines: NDArray[Any]) -> Floats:
            if not is_binary(gold) or not np.ptp(cosines) > correlation.SAME:  # equal, or missing: no order
                return np.full(times.shape[1], np.nan)
            return measure(*Curve(gold, cosines).counts(times))

        return of_column

    def of_pairs(gold: Floats, system: NDArray[Any]) -> Floats:
        of_column = of_draws(gold, np.ones((len(gold), 1), dtype=np.float32))
        found = [float(of_column(column)[0]) for column in system.reshape(-1, system.shape[-1])]
        return np.array(found).reshape(system.shape[:-1])

    return of_pairs, of_draws


@dataclass(frozen=True)
class Metric:
    """A number, at most 1, of a column of cosines and the gold scores of their pairs; higher is better.

    `of_pairs` gives it for the last axis of cosines (…, pair). `of_draws` takes gold scores and how often each pair is
    drawn (pair, resample), and gives the function from a column (pair) to its number in every resample. `applies` says
    for which gold scores a set offers it.
    """

    name: str
    of_pairs: OfPairs
    of_draws: OfDraws
    help: str  # direction, range and typical values × 100
    applies: Callable[[Floats], bool] = lambda gold: True
    leads: bool = False  # whether it comes before the others where it applies: what it is made for, they measure worse
    smooth: bool = False  # whether a pair more or less changes it a little only: the jackknife then knows its variance
    offered: bool = True  # of scored pairs; others are of the sets that have them

    @property
    def key(self) -> str:
        """Its name in results and on the command line."""
        return self.name if self.name.isupper() else self.name.lower()


def _of_enough(of_pairs: OfPairs, of_draws: OfDraws) -> tuple[OfPairs, OfDraws]:
    """A metric of pairs, and of draws of them, that is NaN for fewer than LEAST_PAIRS."""

    def pairs(gold: Floats, system: NDArray[Any]) -> Floats:
        return of_pairs(gold, system) if len(gold) >= LEAST_PAIRS else np.full(system.shape[:-1], np.nan)

    def draws(gold: Floats, times: NDArray[np.float32]) -> OfColumn:
        if len(gold) >= LEAST_PAIRS:
            return of_draws(gold, times)
        return lambda cosines: np.full(times.shape[1], np.nan)

    return pairs, draws


def in_order(nearer: Floats, farther: Floats) -> Floats:
    """1 where a cosine that should be higher is, 0.5 where both are equal, else 0."""
    gaps = nearer - farther
    return np.where(np.abs(gaps) <= correlation.SAME, 0.5, (gaps > 0).astype(np.float64))


def couples(gold: Floats, cosines: NDArray[Any]) -> Floats:
    """Whether a pair of the higher label (row) has a higher cosine than one of the lower label (column)."""
    positive = gold == gold.max()
    return in_order(cosines[positive][:, None], cosines[~positive][None, :])


def item_shares(gold: Floats, cosines: NDArray[Any]) -> Floats:
    """In which share of its couples each pair is right; their means over either label are the share of all couples.

    NaN if a cosine is missing.
    """
    if np.isnan(cosines).any():
        return np.full(len(gold), np.nan)
    right, positive = couples(gold, cosines), gold == gold.max()
    found = np.empty(len(gold))
    found[positive], found[~positive] = right.mean(axis=1), right.mean(axis=0)
    return found


def _distinguished(gold: Floats, system: NDArray[Any]) -> Floats:
    of_column = _distinguished_of_draws(gold, np.ones((len(gold), 1), dtype=np.float32))
    found = [float(of_column(column)[0]) for column in system.reshape(-1, system.shape[-1])]
    return np.array(found).reshape(system.shape[:-1])


def _distinguished_of_draws(gold: Floats, times: NDArray[np.float32]) -> OfColumn:
    positive = gold == gold.max()
    one, other = (times[side].astype(np.float64) for side in (positive, ~positive))

    def of_column(cosines: NDArray[Any]) -> Floats:
        if np.isnan(cosines).any():
            return np.full(times.shape[1], np.nan)
        with np.errstate(invalid="ignore"):  # a draw may have no pair of one label
            right = ((couples(gold, cosines).T @ one) * other).sum(axis=0)
            return np.asarray(right / (one.sum(axis=0) * other.sum(axis=0)))

    return of_column


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
        Metric(
            SPEARMAN,
            *_of_enough(correlation.spearman, correlation.spearman_of_draws),
            _CORRELATION.format(SPEARMAN),
            smooth=True,
        ),
        Metric(
            "Pearson",
            *_of_enough(correlation.pearson, correlation.PearsonOfDraws),
            _CORRELATION.format("Pearson"),
            smooth=True,
        ),
        Metric(
            AVERAGE_PRECISION,
            *_of_enough(*_of_thresholds(_average_precision)),
            f"{AVERAGE_PRECISION}: the mean precision over all thresholds, × 100; chance is the share of positive "
            "pairs. Higher is better, at most 100.",
            is_binary,
            leads=True,
        ),
        Metric(
            F1,
            *_of_enough(*_of_thresholds(_f1)),
            f"{F1}: the harmonic mean of precision and recall at the threshold that is best on these pairs, × 100, so "
            "it is optimistic. Higher is better, at most 100.",
            is_binary,
            leads=True,
        ),
        Metric(
            BEST_ACCURACY,
            *_of_enough(*_of_thresholds(_best_accuracy)),
            f"{BEST_ACCURACY}: the share of pairs that are right at the threshold that is best on these pairs, × 100, "
            "so it is optimistic; chance is the share of the larger class. Higher is better, at most 100.",
            is_binary,
            leads=True,
        ),
        # of what each query, triplet or row gets: gold scores have no part in it
        Metric(MEAN, correlation.mean, _mean_of_draws, "", offered=False),
        Metric(
            DISTINGUISHED,
            _distinguished,
            _distinguished_of_draws,
            f"{DISTINGUISHED}: of all couples of a paraphrase and a pair of another meaning, those in which the "
            "paraphrase has the higher cosine, × 100. Higher is better, at most 100; a coin would get 50.",
            offered=False,
        ),
    )
}


def metrics_of(gold: Floats) -> tuple[str, ...]:
    """The metrics that scored pairs offer; the first is the main one: of two labels, average precision."""
    found = (name for name, metric in METRICS.items() if metric.offered and metric.applies(gold))
    return tuple(sorted(found, key=lambda name: not METRICS[name].leads))


def why_no_score(gold: Floats, metric: str = SPEARMAN) -> str:
    """Why pairs with these gold scores have no score by a metric, whatever their cosines are; "" if they can have one.

    It is one of TOO_FEW, ALL_EQUAL and NOT_TWO.
    """
    if len(gold) < LEAST_PAIRS:
        return TOO_FEW
    if np.ptp(gold) == 0:
        return ALL_EQUAL
    return "" if METRICS[metric].applies(gold) else NOT_TWO


def no_score_in_words(why: str, count: int) -> str:
    """Why so many pairs have no score, in words: `too few pairs: 2, where a score needs at least 5`."""
    return _WHY.get(why, why).format(count=count, least=LEAST_PAIRS)


def measures_of(gold: Floats, parts: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Metric and aggregation of everything that a result holds, by its name: "spearman", "spearman wmean"."""
    aggregates = AGGREGATES if len(set(parts)) > 1 else AGGREGATES[:1]
    return {name_of(metric, one): (metric, one) for one in aggregates for metric in metrics_of(gold)}


def name_of(metric: str, aggregate: str) -> str:
    """The name of a measure of results: "spearman", "spearman wmean"; what judges items alone is in lower case."""
    key = METRICS[metric].key if metric in METRICS else metric.lower()
    return key if aggregate == "all" else f"{key} {aggregate}"


def measure_named(name: str) -> tuple[str, str] | None:
    """The metric and the aggregation of a measure of results; None if it is not one of scored pairs."""
    known = {
        name_of(name, one): (name, one) for one in AGGREGATES for name, metric in METRICS.items() if metric.offered
    }
    return known.get(name)


def measure_in_words(name: str) -> str:
    """A measure of results as people read it: `Spearman`, `Spearman, wmean`; another one has its name."""
    metric, aggregate = measure_named(name) or (name, AGGREGATES[0])
    return metric if aggregate == AGGREGATES[0] else f"{metric}, {aggregate}"


def named(written: str, among: Sequence[str] = (), where: str = "", choices: str = "") -> str:
    """The metric with a name, in any case, among those that a set has; by default those of scored pairs.

    An error offers them all, or the `choices` in words.
    """
    among = among or [name for name, metric in METRICS.items() if metric.offered]
    known = {name.lower(): name for name in among}
    if written.lower() not in known:
        raise BadChoice(f"There is no metric '{written}'{where}. Choose one {choices or 'of ' + ', '.join(among)}.")
    return known[written.lower()]


def check_agreement(metric: str, aggregate: str) -> None:
    """Refuse an unknown metric or aggregation."""
    if metric not in METRICS:
        named(metric)
    check_aggregate(aggregate)


def check_aggregate(aggregate: str) -> None:
    """Refuse an unknown aggregation over sub-corpora."""
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


def item_by_main(measure: str) -> str:
    """What the items of a set are, by its main measure: for runs of versions that stored no more than this."""
    return {SPEARMAN: PAIR, DISTINGUISHED: PAIR, ACCURACY: TRIPLET}.get(measure, QUERY)
