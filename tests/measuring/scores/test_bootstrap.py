"""Test intervals of differences against slow code, scipy and their coverage, from few items to many."""

import numpy as np
import pytest
from scipy.stats import multinomial, pearsonr, spearmanr, t, ttest_rel

from benchmarks import coverage
from explorer.errors import BadChoice
from explorer.measuring.scores import bootstrap
from explorer.measuring.scores.bootstrap import FEW, MANY, difference, mean_difference, resampled
from explorer.measuring.scores.metrics import LEAST_PAIRS, MEAN

BY_SCIPY = {"Spearman": spearmanr, "Pearson": pearsonr}


def rows(pairs=60, shape=(2, 3), seed=0, step=0.5):
    """Grades on steps, and two models' cosines, some of them tied."""
    random = np.random.default_rng(seed)
    gold = np.round(random.uniform(0, 5, pairs) / step) * step
    one = random.normal(size=(*shape, pairs)) + gold * 0.4
    other = np.round(random.normal(size=(*shape, pairs)) + gold * 0.8, 1)
    return gold, one.astype(np.float32), other.astype(np.float32)


def ends(found):
    return [float(found.low), float(found.high)]


@pytest.mark.parametrize("metric", BY_SCIPY)
@pytest.mark.parametrize("pairs", [20, 60, (FEW + MANY) // 2, MANY])
def test_an_interval_of_few_pairs_is_by_the_jackknife_and_of_many_by_percentiles(metric, pairs):
    gold, one, other = rows(pairs, (), seed=2)
    found = difference(gold, one, other, metric=metric, resamples=50, seed=3)

    def gap(some):
        one_score, other_score = (BY_SCIPY[metric](gold[some], side[some].astype(float))[0] for side in (one, other))
        return 100 * (other_score - one_score)

    every = np.arange(pairs)
    times = np.random.default_rng(3).multinomial(pairs, np.full(pairs, 1 / pairs), size=50)
    drawn = [gap(np.repeat(every, counts)) for counts in times]
    low, high = np.quantile(drawn, [0.025, 0.975])
    if pairs < MANY:
        left_out = [gap(np.delete(every, pair)) for pair in every]
        jackknife = (pairs - 1) / pairs * sum((one - np.mean(left_out)) ** 2 for one in left_out)
        unbiased = min(max(2 * jackknife - np.var(drawn), jackknife / 2), jackknife)
        near, far = (t.ppf(0.975, pairs - 1) * np.sqrt(variance) for variance in (unbiased, jackknife))
        point = gap(every)
        few_low = point - near if point - near > 0 else point - far
        few_high = point + near if point + near < 0 else point + far
        share = max(0, (pairs - FEW) / (MANY - FEW))
        low, high = (1 - share) * few_low + share * low, (1 - share) * few_high + share * high
    assert float(found.difference) == pytest.approx(gap(every), abs=1e-3)
    assert ends(found) == pytest.approx([low, high], abs=0.01)


def test_each_cell_of_a_grid_has_the_interval_that_it_has_alone():
    gold, one, other = rows()
    grid = difference(gold, one, other, resamples=40)
    for place in np.ndindex(2, 3):
        assert ends(grid.at(place)) == pytest.approx(ends(difference(gold, one[place], other[place], resamples=40)))


def test_a_metric_that_jumps_keeps_its_percentiles():
    gold, one, other = rows(shape=())
    gold = (gold > 2.5).astype(float)
    for metric in ("F1", "average precision", "best accuracy"):
        drawn = resampled(gold, np.stack([one, other]), metric=metric)
        assert ends(difference(gold, one, other, metric=metric)) == pytest.approx(
            np.quantile(drawn[1] - drawn[0], [0.025, 0.975])
        )


def test_a_model_beside_itself_differs_by_nothing_and_a_column_that_never_varies_has_no_interval():
    gold, one, _ = rows()
    found = difference(gold, one, one)
    assert not found.difference.any()
    assert not found.low.any()
    assert not found.high.any()
    assert not found.sure.any()
    gold, one, other = rows()
    one[0, 1] = 0.25
    found = difference(gold, one, other, resamples=20)
    assert np.isnan(found.difference[0, 1])
    assert np.isnan(found.low[0, 1])
    assert not found.sure[0, 1]
    assert np.isfinite(np.delete(found.low.ravel(), 1)).all()
    gold = np.array([1.0, 1, 1, 1, 1, 1, 1, 5])
    one, other = np.linspace(0, 1, 8), np.linspace(1, 0, 8) ** 2
    found = difference(gold, one, other, resamples=200)
    assert np.isfinite([found.low, found.high]).all()


@pytest.mark.parametrize("pairs", [LEAST_PAIRS, LEAST_PAIRS + 1, LEAST_PAIRS + 2])
def test_a_handful_of_pairs_never_has_a_narrow_interval(pairs):
    gold = np.arange(pairs, dtype=float)
    found = difference(gold, gold[::-1].copy(), gold)
    assert -200 <= float(found.low) <= float(found.difference) <= float(found.high) <= 200


def test_the_seed_decides_the_interval_and_parts_of_many_pairs_do_not(monkeypatch):
    gold, one, other = rows()
    first, again, another = (difference(gold, one, other, resamples=50, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.low, again.low)
    assert not np.array_equal(first.low, another.low)
    gold, one, other = rows(MANY)
    items = (rows(MANY, seed=seed)[1].astype(float) for seed in (1, 2))
    whole, of_mean = difference(gold, one, other, resamples=30), difference(gold, *items, metric=MEAN, resamples=30)
    monkeypatch.setattr(bootstrap, "_AT_ONCE", 7 * MANY)
    items = (rows(MANY, seed=seed)[1].astype(float) for seed in (1, 2))
    parts, of_parts = difference(gold, one, other, resamples=30), difference(gold, *items, metric=MEAN, resamples=30)
    assert np.array_equal(whole.low, parts.low)
    assert np.array_equal(whole.high, parts.high)
    assert of_mean.low == pytest.approx(of_parts.low)


@pytest.mark.parametrize("interval", [lambda gold, one, **how: difference(gold, one, one, **how), resampled])
def test_an_unknown_metric_never_gets_the_interval_of_another(interval):
    gold, one, _ = rows(shape=(2,))
    with pytest.raises(
        BadChoice, match=r"no metric 'Kendall'\. Choose one of Spearman, Pearson, average precision, F1"
    ):
        interval(gold, one, metric="Kendall")


def items_of(better, worse, count):
    """Right and wrong items of two models, of which so many became right and so many wrong."""
    one, other = np.ones(count), np.ones(count)
    one[:better], other[better : better + worse] = 0, 0
    return one, other


@pytest.mark.parametrize("count", [20, 60, 240])
@pytest.mark.parametrize(("better", "worse"), [(0, 0), (1, 0), (5, 0), (6, 0), (3, 4), (12, 7)])
def test_right_and_wrong_items_have_the_interval_of_bonett_and_price(better, worse, count):
    gained, lost = (better + 1) / (count + 2), (worse + 1) / (count + 2)
    error = np.sqrt((gained + lost - (gained - lost) ** 2) / (count + 2))
    expected = [100 * (gained - lost + sign * t.ppf(0.975, count - 1) * error) for sign in (-1, 1)]
    found = mean_difference(*items_of(better, worse, count))
    assert float(found.difference) == pytest.approx(100 * (better - worse) / count)
    assert ends(found) == pytest.approx(expected)
    assert bool(found.sure) == (better - worse >= 6 and worse == 0), "five in one direction may be chance"


def test_items_that_change_by_less_are_joined_by_two_that_change_as_they_did():
    random = np.random.default_rng(4)
    one = 1 / random.integers(1, 9, (5, 40))
    other = np.where(random.uniform(size=(5, 40)) < 0.4, 1 / random.integers(1, 9, (5, 40)), one)
    found = difference(np.zeros(40), one, other, metric=MEAN)
    for row in range(5):
        gaps = [after - before for before, after in zip(one[row], other[row], strict=True)]
        changes = [gap for gap in gaps if gap != 0]
        unchanged = 1 - len(changes) / len(gaps)
        size = np.sqrt((sum(gap**2 for gap in changes) + unchanged) / (len(changes) + unchanged))
        joined = np.array([*gaps, size, -size])
        half = t.ppf(0.975, 39) * np.sqrt(joined.var() / len(joined))
        assert ends(found.at(row)) == pytest.approx([100 * (joined.mean() - half), 100 * (joined.mean() + half)])
        assert ends(mean_difference(one[row], other[row])) == pytest.approx(ends(found.at(row)))


def test_other_numbers_have_the_interval_of_student_and_many_that_of_percentiles():
    random = np.random.default_rng(5)
    one, other = random.uniform(size=40), random.uniform(size=40) + 0.1
    found, theirs = mean_difference(one, other, most=0.0), ttest_rel(other, one).confidence_interval()
    assert ends(found) == pytest.approx([100 * theirs.low, 100 * theirs.high])
    one, other = random.uniform(size=MANY), random.uniform(size=MANY)
    times = np.random.default_rng(7).multinomial(MANY, np.full(MANY, 1 / MANY), size=200)
    drawn = [100 * np.repeat(other - one, counts).mean() for counts in times]
    for most in (0.0, 1.0):
        found = mean_difference(one, other, most=most, resamples=200, seed=7)
        assert ends(found) == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=1e-4)


def test_a_mean_beside_itself_differs_by_nothing_and_one_with_a_missing_item_is_missing():
    items = np.random.default_rng(1).uniform(size=30)
    same = mean_difference(items, items, most=0.0)
    assert float(same.difference) == float(same.low) == float(same.high) == 0
    assert np.isnan(mean_difference(items, np.full(30, np.nan)).low)
    assert np.isnan(mean_difference(items[:1], items[1:2], most=0.0).low)


def test_scores_of_which_none_changed_may_change_by_less_the_more_there_are():
    found = [mean_difference(*items_of(0, 0, count)) for count in (5, 20, 60, 240)]
    assert all(float(gap.low) == -float(gap.high) < 0 for gap in found)
    assert [float(gap.high) for gap in found] == sorted((float(gap.high) for gap in found), reverse=True)
    assert float(mean_difference(np.zeros(1), np.ones(1)).high) == 100, "no mean is further from another"


def exact(count, changed, share):
    """Of right and wrong items: the probability that the interval holds the true difference, and that it excludes 0."""
    gain = share * changed
    places = np.array([(better, worse) for better in range(count + 1) for worse in range(count + 1 - better)])
    chances = multinomial.pmf(
        np.column_stack([places, count - places.sum(1)]),
        count,
        [(changed + gain) / 2, (changed - gain) / 2, 1 - changed],
    )
    places, chances = places[chances > 1e-9], chances[chances > 1e-9]
    sides = np.array([items_of(better, worse, count) for better, worse in places])
    found = difference(np.zeros(count), sides[:, 0], sides[:, 1], metric=MEAN)
    held = (found.low <= 100 * gain + 1e-9) & (found.high >= 100 * gain - 1e-9)
    return chances[held].sum(), chances[found.sure].sum()


@pytest.mark.parametrize("count", [20, 60])
@pytest.mark.parametrize("changed", [0.05, 0.1, 0.2, 0.3])
def test_accuracy_is_held_as_often_as_stated_and_chance_is_called_no_more_often(count, changed):
    held, called = zip(*(exact(count, changed, share) for share in (0.0, 0.3, 0.6, 0.9, 1.0)), strict=True)
    assert min(held) >= 0.94, "percentiles hold 51 to 95 % of them"
    assert called[0] <= 0.05


@pytest.mark.parametrize("changed", [4, 5, 6, 11, 14])
def test_few_items_that_changed_at_random_are_rarely_called_better_or_worse(changed):
    random = np.random.default_rng(changed)
    for sizes in (np.ones((2000, changed)), random.uniform(0.1, 1, (2000, changed))):
        gaps = np.zeros((2000, 60))
        gaps[:, :changed] = sizes * random.choice((-1, 1), (2000, changed))
        called = difference(np.zeros(60), np.zeros((2000, 60)), gaps, metric=MEAN).sure.mean()
        assert called <= 0.066 + 3 * np.sqrt(0.066 / 2000), "percentiles call up to 12 %"
        assert changed > 5 or called == 0


@pytest.mark.parametrize("gain", [0.0, 0.3])
@pytest.mark.parametrize("closeness", [1.5, 3.5])
def test_reciprocal_ranks_are_held_as_often_as_stated(closeness, gain):
    population = coverage.of_ranks(gain, 60, closeness)
    population = population if gain else population.as_good("")
    found = coverage.coverage(population, 60, samples=1000)
    assert found.held >= 0.93, "percentiles hold 90 to 96 %"
    assert gain or found.told <= 0.065


@pytest.mark.parametrize(("items", "samples"), [(20, 120), (60, 80)])
def test_spearman_is_held_as_often_as_stated_and_chance_is_called_no_more_often(items, samples):
    as_good = coverage.coverage(coverage.of_pairs(own=0.1).as_good(""), items, samples)
    assert as_good.held >= 0.92
    assert as_good.told <= 0.08
    assert coverage.coverage(coverage.of_pairs(0.3), items, samples).held >= 0.91


def test_a_hardly_changed_model_has_an_interval_that_is_narrower_than_by_percentiles():
    """The bootstrap counts the variance of couples of pairs three times, which most of it is here."""
    widths, by_percentiles = [], []
    for gold, one, other in coverage.of_pairs(own=0.1).samples(60, 20, np.random.default_rng(0)):
        found = difference(gold, one, other)
        drawn = resampled(gold, np.stack([one, other]))
        widths.append(float(found.high - found.low))
        by_percentiles.append(np.ptp(np.quantile(drawn[1] - drawn[0], [0.025, 0.975])))
    assert np.mean(widths) < 0.95 * np.mean(by_percentiles)
