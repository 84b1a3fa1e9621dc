"""Measure how often intervals hold the true difference, and how often the smallest gain is told from chance.

Samples of 20, 60 and 240 items are drawn from populations of items of two models, whose true difference is known. An
interval of 95 % should hold it in 95 % of the samples, and be above 0 in 80 % of them if the true gain is the smallest
one that `power` states. With STRATA_DATA, pairs of STS-B are drawn too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from explorer.measuring.scores import bootstrap, correlation, power
from explorer.measuring.scores.metrics import MEAN, METRICS, SPEARMAN, metrics_of

Floats = NDArray[np.float64]

SIZES = (20, 60, 240)
SAMPLES, TRIED = 2000, 200  # of the tables, and of a search for the gain whose smallest gain it is
POPULATION = 100_000


@dataclass(frozen=True, eq=False)
class Population:
    """Items of two models: cosines of pairs with gold scores, or scores of items from 0 to 1 without."""

    name: str
    one: Floats
    other: Floats
    gold: Floats | None = None

    @cached_property
    def truth(self) -> float:
        """The true difference × 100."""
        if self.gold is None:
            return 100 * float(self.other.mean() - self.one.mean())
        one, other = (METRICS[self.metric].of_pairs(self.gold, side) for side in (self.one, self.other))
        return 100 * float(other - one)

    @cached_property
    def metric(self) -> str:
        """What pairs are scored by: Spearman, or average precision of two labels."""
        return MEAN if self.gold is None else metrics_of(self.gold)[0]

    def as_good(self, name: str) -> Population:
        """Both models in turn as the first, so that none is better."""
        gold = None if self.gold is None else np.tile(self.gold, 2)
        return Population(name, np.concatenate([self.one, self.other]), np.concatenate([self.other, self.one]), gold)

    def samples(self, count: int, samples: int, random: np.random.Generator) -> Iterator[tuple[Floats, ...]]:
        """Gold scores and items of both models of each sample."""
        for _ in range(samples):
            rows = random.integers(len(self.one), size=count)
            gold = np.zeros(count) if self.gold is None else self.gold[rows]
            yield gold, self.one[rows], self.other[rows]

    def intervals(self, count: int, samples: int = SAMPLES, seed: int = 0) -> bootstrap.Interval:
        """The intervals (sample)."""
        drawn = list(self.samples(count, samples, np.random.default_rng(seed)))
        if self.gold is None:
            one, other = (np.stack([sample[side] for sample in drawn]) for side in (1, 2))
            return bootstrap.difference(np.zeros(count), one, other, metric=MEAN)
        found = [bootstrap.difference(*sample, metric=self.metric, seed=number) for number, sample in enumerate(drawn)]
        return bootstrap.Interval(
            *(np.array([getattr(gap, name) for gap in found]) for name in ("difference", "low", "high"))
        )

    def smallest_gains(self, count: int, samples: int, seed: int = 0) -> Floats:
        """The smallest gain × 100 (sample) that is told from chance by the items of each sample; 100 if none is."""
        drawn = self.samples(count, samples, np.random.default_rng(seed))
        spreads = [
            spread(*sample, self.metric) if self.gold is not None else power.of_items(*sample[1:]) for sample in drawn
        ]
        gains = [None if spread is None else spread.smallest_gain() for spread in spreads]
        return np.array([100.0 if gain is None else gain for gain in gains])


def spread(gold: Floats, one: Floats, other: Floats, metric: str = SPEARMAN) -> power.PairSpread | None:
    """The spread of the difference of the cosines of two models in a metric of scored pairs."""
    return power.of_pairs(gold, one, bootstrap.difference(gold, one, other, metric=metric), metric)


def of_pairs(
    less: float = 0.0, error: float = 0.55, own: float = 0.2, step: float = 0.2, seed: int = 0, count: int = POPULATION
) -> Population:
    """Cosines of a model and of a tuned one with the same errors, `less` of them, and some of its own.

    Gold scores go from 0 to 5 in steps, as many of each, and cosines are between 0 and 1 for almost all pairs.
    """
    random = np.random.default_rng(seed)
    truth, errors, *added = random.normal(size=(4, count))
    gold = np.round((correlation.ranks(truth) - 0.5) / count * 5 / step) * step
    sides = [truth + share * error * errors + own * each for share, each in zip((1.0, 1 - less), added, strict=True)]
    one, other = (np.tanh(0.5 + 0.4 * side) for side in sides)
    return Population("", one, other, gold)


def of_labels(share: float, **about: float) -> Population:
    """The same cosines, with two labels: of the pairs with the highest gold scores a share matches."""
    found = of_pairs(step=0.001, **about)
    assert found.gold is not None, "pairs have gold scores"
    return Population("", found.one, found.other, (found.gold > np.quantile(found.gold, 1 - share)).astype(np.float64))


def of_items(gain: float, changed: float, count: int = POPULATION) -> Population:
    """Right and wrong items, of which a share changed; those that improved less those that got worse are the gain.

    Half of those that did not change are right.
    """
    changed = max(changed, gain)
    better, worse = (round(count * (changed + side * gain) / 2) for side in (1, -1))
    one = np.arange(count) % 2.0
    other = one.copy()
    one[:better], other[:better] = 0.0, 1.0
    one[better : better + worse], other[better : better + worse] = 1.0, 0.0
    return Population("", one, other)


def of_ranks(gain: float, passages: int, closeness: float, own: float = 0.3, seed: int = 0) -> Population:
    """1 / rank of the right passage among as many as there are queries, under a model and a tuned one.

    Cosines with wrong passages are normal; that with the right one is `closeness` deviations higher on average, and
    `gain` more under the tuned model. A part `own` of each deviation is of one model alone.
    """
    random = np.random.default_rng(seed)
    queries = POPULATION * 20 // passages // 4
    shared = random.normal(size=(queries, passages - 1)).astype(np.float32)
    right = closeness + random.normal(size=queries)
    found = []
    for better in (0.0, gain):
        wrong = np.sqrt(1 - own**2) * shared + own * random.standard_normal(shared.shape, dtype=np.float32)
        higher = wrong > (right + better + own * random.normal(size=queries))[:, None]
        found.append(1 / (1.0 + higher.sum(axis=1)))
    return Population("", *found)


def of_sts() -> Iterator[Population]:
    """Pairs of STS-B test under the included encoder and the example run, and under another layer."""
    from explorer.data.graded import sts
    from explorer.encoding.load.loading import load
    from explorer.encoding.locate import model_names
    from explorer.encoding.read.pooling import OWN, parse
    from explorer.measuring.scores.layer_scores import score_layers
    from explorer.progress import finish

    pairs = sts.load("STS-B", "test")
    names = "all-MiniLM-L6-v2", "run:example"
    base, tuned = (finish(score_layers(load(model_names.find(name), "float32", "cpu"), pairs)) for name in names)
    defaults = [scores.items_of(OWN, "Spearman") for scores in (base, tuned)]
    before, after = (scores.items_of(parse("mean of layer 5", base.last), "Spearman") for scores in (base, tuned))
    yield Population("STS-B, tuned, as good", *defaults, base.gold).as_good("STS-B, tuned, as good")
    yield Population("STS-B, tuned", *defaults, base.gold)
    yield Population("STS-B, tuned, layer 5", before, after, base.gold)
    yield Population("STS-B, another layer", before, defaults[0], base.gold)


def populations(items: int) -> Iterator[Population]:
    """Every population of samples of so many items."""
    named = partial(_named, of_pairs)
    for step, gold in ((0.2, "26 gold scores"), (1.0, "6 gold scores")):
        yield of_pairs(step=step).as_good(f"Spearman, {gold}, as good")
        yield of_pairs(step=step, own=0.1).as_good(f"Spearman, {gold}, as good, hardly changed")
        yield named(f"Spearman, {gold}, hardly changed, better", less=0.1, own=0.1, step=step)
        yield named(f"Spearman, {gold}, better", less=0.3, step=step)
        yield named(f"Spearman, {gold}, much better", less=0.5, error=0.9, own=0.4, step=step)
    for share in (0.2, 0.5):
        labels = partial(_named, partial(of_labels, share))
        yield of_labels(share).as_good(f"average precision, {share:.0%} match, as good")
        yield labels(f"average precision, {share:.0%} match, better", less=0.3)
        yield labels(f"average precision, {share:.0%} match, much better", less=0.5, error=0.9, own=0.4)
    if os.environ.get("STRATA_DATA"):
        yield from of_sts()
    for changed in (0.05, 0.1, 0.2, 0.3):
        for share, title in ((0.0, "as good"), (0.5, "better"), (1.0, "only better")):
            yield _named(of_items, f"accuracy, {changed:.0%} changed, {title}", gain=share * changed, changed=changed)
    for closeness, title in ((1.5, "hard"), (2.5, "middling"), (3.5, "easy")):
        queries = partial(of_ranks, passages=items, closeness=closeness)
        yield queries(0.0).as_good(f"MRR, {title}, as good")
        yield _named(queries, f"MRR, {title}, better", gain=0.3)
        yield _named(queries, f"MRR, {title}, much better", gain=0.6)


def _named(made: Callable[..., Population], name: str, **about: float) -> Population:
    found = made(**about)
    return Population(name, found.one, found.other, found.gold)


@dataclass(frozen=True)
class Coverage:
    """Shares of samples: whose interval holds the truth, whose excludes 0, and its mean width × 100."""

    held: float
    told: float
    width: float


def coverage(population: Population, items: int, samples: int = SAMPLES, seed: int = 0) -> Coverage:
    """How often the intervals of samples of so many items hold the true difference, and how often they exclude 0."""
    found, truth = population.intervals(items, samples, seed), population.truth
    slack = 1e-9
    held = (found.low <= truth + slack) & (found.high >= truth - slack)
    told = (found.low > slack) | (found.high < -slack)
    return Coverage(float(held.mean()), float(told.mean()), float((found.high - found.low).mean()))


def smallest(family: Callable[[float], Population], items: int, tried: int = TRIED) -> tuple[Population, bool]:
    """The population whose true gain is the median smallest gain of its samples, and whether the family has it.

    The strength of a family is from 0 to 1, and its gain grows with it. If no gain is as large, it is the strongest.
    """
    low, high = 0.0, 1.0
    if not _suffices(family(high), items, tried):
        return family(high), False
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (low, middle) if _suffices(family(middle), items, tried) else (middle, high)
    return family(high), True


def _suffices(population: Population, items: int, tried: int) -> bool:
    return population.truth >= np.median(population.smallest_gains(items, tried))


def families() -> dict[str, Callable[[float, int], Population]]:
    """Populations by the strength of their gain, from 0 to 1, and by the number of items of a sample."""
    return {
        "Spearman, errors become smaller": lambda strength, items: of_pairs(0.95 * strength, error=0.9),
        "Spearman, and others come": lambda strength, items: of_pairs(0.95 * strength, error=1.3, own=0.4),
        "average precision, 20 % match": lambda strength, items: of_labels(0.2, less=0.95 * strength, error=0.9),
        "average precision, 50 % match": lambda strength, items: of_labels(0.5, less=0.95 * strength, error=0.9),
        "accuracy, no item gets worse": lambda strength, items: of_items(strength, 0.0),
        "accuracy, 20 % change": lambda strength, items: of_items(strength, 0.2),
        "MRR, hard": lambda strength, items: of_ranks(3 * strength, items, 0.5),
        "MRR, middling": lambda strength, items: of_ranks(3 * strength, items, 1.5),
    }


def main() -> None:
    for items in SIZES:
        print(f"\n{items} items: how many of {SAMPLES:,} intervals hold the true difference and exclude 0; their width")
        for population in populations(items):
            found = coverage(population, items)
            shares = f"held {100 * found.held:5.1f} %  excludes 0 {100 * found.told:5.1f} %  width {found.width:5.1f}"
            print(f"  {population.name:48} true {population.truth:+6.2f}  {shares}", flush=True)
        print(f"\n{items} items: the smallest gain, and how many of {SAMPLES:,} intervals are above 0 where it is true")
        for name, of_size in families().items():
            population, exists = smallest(partial(of_size, items=items), items)
            told = population.intervals(items, seed=1).low > 0
            gain = f"{population.truth:5.1f} points" if exists else f"none; with {population.truth:.1f} points"
            print(f"  {name:48} {gain}  {100 * float(told.mean()):5.1f} %", flush=True)
