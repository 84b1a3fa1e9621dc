"""Test interval and verdict of a difference against resamples that are drawn and ranked one at a time."""

import numpy as np
import pytest
from scipy.stats import pearsonr, rankdata, spearmanr

from explorer.data.text_sets import GradedPairs
from explorer.measuring.comparing.learned import of_run
from explorer.measuring.scores.bootstrap import difference
from explorer.measuring.scores.judge import PairJudge
from explorer.measuring.scores.verdict import RunVerdict, judged

PAIRS = 60
METRICS = {"Spearman": spearmanr, "Pearson": pearsonr}


def sides(shape=(), seed=0, better=0.4):
    """Gold scores on steps, and the cosines of two models, of which some tie."""
    random = np.random.default_rng(seed)
    gold = random.integers(0, 11, PAIRS) / 2
    one = random.normal(size=(*shape, PAIRS)) + gold * 0.4
    other = np.round(random.normal(size=(*shape, PAIRS)) + gold * (0.4 + better), 1)
    return gold, one, other


def percentiles(numbers):
    """The 2.5th and the 97.5th, between neighbours in proportion."""
    ordered, found = sorted(numbers), []
    for share in (0.025, 0.975):
        place = share * (len(ordered) - 1)
        below = int(place)
        above = min(below + 1, len(ordered) - 1)
        found.append(ordered[below] + (place - below) * (ordered[above] - ordered[below]))
    return found


def gap(correlation, gold, one, other):
    return 100 * (correlation(other, gold)[0] - correlation(one, gold)[0])


@pytest.mark.parametrize("metric", METRICS)
def test_the_interval_is_that_of_scipy_on_every_resample(metric):
    gold, one, other = sides((2,))
    found = difference(gold, one, other, metric=metric, resamples=60, seed=3)
    times = np.random.default_rng(3).multinomial(PAIRS, np.full(PAIRS, 1 / PAIRS), size=60)
    assert (times.sum(1) == PAIRS).all()
    for row in range(2):
        gaps = []
        for counts in times:
            drawn = [pair for pair, count in enumerate(counts) for _ in range(count)]
            gaps.append(gap(METRICS[metric], gold[drawn], one[row][drawn], other[row][drawn]))
        assert found.difference[row] == pytest.approx(gap(METRICS[metric], gold, one[row], other[row]), abs=1e-3)
        assert [found.low[row], found.high[row]] == pytest.approx(percentiles(gaps), abs=1e-3)


@pytest.mark.parametrize("aggregate", ["mean", "wmean"])
def test_sub_corpora_are_resampled_and_averaged_each_by_itself(aggregate):
    gold, one, other = sides()
    parts = ["a" if pair % 3 else "b" for pair in range(PAIRS)]
    found = difference(gold, one, other, parts, aggregate=aggregate, resamples=40, seed=5)
    random, corpora = np.random.default_rng(5), [[p for p in range(PAIRS) if parts[p] == name] for name in ("b", "a")]
    weights = [len(inside) if aggregate == "wmean" else 1 for inside in corpora]
    draws = [random.multinomial(len(one), np.full(len(one), 1 / len(one)), size=40) for one in corpora]
    gaps = []
    for resample in range(40):
        each = []
        for inside, times in zip(corpora, draws, strict=True):
            drawn = np.repeat(inside, times[resample])
            each.append(gap(spearmanr, gold[drawn], one[drawn], other[drawn]))
        gaps.append(sum(w * value for w, value in zip(weights, each, strict=True)) / sum(weights))
    assert [float(found.low), float(found.high)] == pytest.approx(percentiles(gaps), abs=1e-3)


def ranked(values, drawn):
    """Spearman's ρ with every resample (resample, pair) as Pearson's r of ranks."""
    ranks = [rankdata(side[drawn], axis=1) for side in values]
    a, b = (side - side.mean(1, keepdims=True) for side in ranks)
    return (a * b).sum(1) / np.sqrt((a * a).sum(1) * (b * b).sum(1))


@pytest.mark.parametrize(("better", "seed", "kind"), [(0.6, 2, "better"), (-0.5, 1, "worse"), (0.0, 2, "chance")])
def test_a_verdict_is_that_of_an_interval_from_other_draws(better, seed, kind):
    """Pairs are drawn one by one here: only by chance does the interval differ, the less the more resamples."""
    gold, one, other = sides(seed=seed, better=better)
    drawn = np.random.default_rng(99).integers(0, PAIRS, (10_000, PAIRS))
    low, high = percentiles(100 * (ranked((other, gold), drawn) - ranked((one, gold), drawn)))
    pairs = GradedPairs("x", tuple(map(str, range(PAIRS))), ("",) * PAIRS, tuple(gold.tolist()), ("",) * PAIRS)
    found = judged(PairJudge(pairs), np.stack([one, one + gold]), other)
    assert found.declared_base == pytest.approx(100 * spearmanr(one, gold)[0])
    assert found.same_reading_base == pytest.approx(100 * spearmanr(one + gold, gold)[0])
    assert found.exported == pytest.approx(100 * spearmanr(other, gold)[0])
    assert found.difference == pytest.approx(found.exported - found.declared_base)
    many = difference(gold, one, other, resamples=10_000, seed=7)
    assert [float(many.low), float(many.high)] == pytest.approx([low, high], abs=0.03 * (high - low))
    assert [found.low, found.high] == pytest.approx([low, high], abs=0.07 * (high - low))  # a thousand resamples
    expected = "better" if low > 0 else "worse" if high < 0 else "chance"
    assert expected == kind, "the premise"
    assert of_run(RunVerdict(test=found), {"test": "x"}, {"test": PAIRS}, {}).kind == kind
    assert bool(difference(gold, one, other).sure) == (kind != "chance")
