"""Test the groups of a column, their scores and differences, and how often chance alone makes one significant."""

import math

import numpy as np
import pytest
from scipy import stats

from explorer.data.set_items import Attribute
from explorer.encoding.read.pooling import OWN
from explorer.errors import BadChoice
from explorer.measuring.comparing import splits
from explorer.measuring.comparing.comparison import Comparison
from explorer.measuring.scores import bootstrap
from explorer.measuring.scores.metrics import MEAN, SPEARMAN
from tests.drawing import made_up

GROUPS = 12


def by_hand(cells):
    """The rows of each value, one by one."""
    found = {}
    for row, cell in enumerate(cells):
        found.setdefault(cell or "missing", []).append(row)
    return found


def test_names_make_a_group_each_the_largest_first_and_empty_cells_last():
    cells = ("en", "de", "", "en", "", "fr", "de", "en", "")
    groups = splits.groups_of(Attribute("language", cells))
    assert [one.name for one in groups] == ["en", "de", "fr", "missing"]
    assert {one.name: one.rows.tolist() for one in groups} == by_hand(cells)


def test_numbers_make_bands_of_about_as_many_items_and_equal_numbers_stay_together():
    random = np.random.default_rng(0)
    cells = tuple(random.integers(1, 30, size=400).astype(float).tolist())
    groups = splits.groups_of(Attribute("length", cells))
    assert sorted(np.concatenate([one.rows for one in groups]).tolist()) == list(range(400))
    highest = -math.inf
    for one in groups:
        numbers = [cells[row] for row in one.rows]
        assert min(numbers) > highest
        highest = max(numbers)
        assert one.name == f"{min(numbers):g} to {highest:g}"
        assert 80 <= len(numbers) <= 120
    many = splits.groups_of(Attribute("length", (1.0,) * 90 + (2.0, 3.0) * 5 + (math.nan,)))
    assert [(one.name, len(one.rows)) for one in many] == [("1", 90), ("2 to 3", 10), ("missing", 1)]


def compared(count=240):
    """Made-up cosines of two models on pairs, and a column of three languages and one with few pairs."""
    gold = made_up.pairs(count).gold
    one, other = made_up.scores(gold, 1), made_up.scores(gold, 2)
    cells = tuple("abc"[row % 3] if row > 6 else "few" for row in range(count))
    return Comparison(one, other, OWN, OWN), Attribute("language", cells)


def test_the_scores_of_a_group_are_those_of_its_pairs_alone():
    comparison, column = compared()
    found = {one.name: one for one in splits.split(comparison, column, SPEARMAN).groups}
    for name, rows in by_hand(column.cells).items():
        gold = [comparison.one.gold[row] for row in rows]
        sides = (found[name].one, comparison.one.own), (found[name].other, comparison.other.own)
        for score, cosines in sides:
            assert score == pytest.approx(100 * stats.spearmanr(gold, [cosines[row] for row in rows])[0], abs=1e-6)
        assert found[name].items == len(rows)


def test_a_group_that_is_too_small_says_so_and_does_not_count_in_the_correction():
    comparison, column = compared()
    found = splits.split(comparison, column, SPEARMAN)
    few = found.groups[-1]
    assert (few.name, few.items, few.sure) == ("few", 7, None)
    assert few.why == "too few for an interval: fewer than 10"
    assert found.level == pytest.approx(1 - 0.05 / 3)
    assert math.isnan(few.low)
    assert all(math.isfinite(one.low) for one in found.groups[:-1])


def test_of_one_group_the_interval_is_that_of_the_whole_set():
    comparison, column = compared()
    (whole,) = splits.split(comparison, Attribute("all", ("x",) * len(column.cells)), SPEARMAN).groups
    plain = comparison.chosen(SPEARMAN)
    assert (whole.low, whole.high) == (float(plain.low), float(plain.high))


def test_intervals_of_item_means_are_students_t_at_the_corrected_level():
    random = np.random.default_rng(3)
    one, other = random.uniform(size=(2, 90))
    groups = [splits.ItemGroup(str(at), np.arange(30 * at, 30 * at + 30)) for at in range(3)]
    changes, level = splits.changes_of(np.zeros(90), one, other, groups, MEAN)
    for group, change in zip(groups, changes, strict=True):
        gaps = [other[row] - one[row] for row in group.rows]
        # one item that gained and one that lost as much as those that changed did are added
        size = math.sqrt(sum(gap**2 for gap in gaps) / len(gaps))
        every = [*gaps, size, -size]
        mean = sum(every) / 32
        spread = math.sqrt(sum((gap - mean) ** 2 for gap in every) / 32)
        half = stats.t.ppf(1 - 0.05 / 3 / 2, 29) * spread / math.sqrt(32)
        assert (change.low, change.high) == (
            pytest.approx(100 * (mean - half), abs=1e-6),
            pytest.approx(100 * (mean + half), abs=1e-6),
        )
        assert change.other - change.one == pytest.approx(100 * sum(gaps) / 30)
    assert level == 1 - (1 - 0.95) / 3


def falsely_significant(statistic, items, samples):
    """In which share of samples one of twelve groups is significant, with the correction and without, by chance."""
    random = np.random.default_rng(0)
    groups = [splits.ItemGroup(str(at), np.arange(items * at, items * (at + 1))) for at in range(GROUPS)]
    counts = np.zeros(2)
    for number in range(samples):
        if statistic == MEAN:
            gold = np.zeros(GROUPS * items)
            shared = random.random(GROUPS * items) < 0.7
            one, other = (
                np.where(random.random(GROUPS * items) < 0.3, random.random(GROUPS * items) < 0.7, shared).astype(float)
                for _ in range(2)
            )
        else:
            gold = random.normal(size=GROUPS * items)
            one, other = (gold + random.normal(size=GROUPS * items) for _ in range(2))
        changes, _ = splits.changes_of(gold, one, other, groups, statistic, seed=number)
        alone = [splits.changes_of(gold, one, other, [group], statistic, seed=number)[0][0] for group in groups]
        counts += [any(change.sure for change in some) for some in (changes, alone)]
    return counts / samples


@pytest.mark.parametrize(("statistic", "items", "samples"), [(MEAN, 40, 400), (SPEARMAN, 30, 24)])
def test_of_twelve_groups_that_do_not_differ_one_is_significant_in_at_most_5_percent(statistic, items, samples):
    corrected, alone = falsely_significant(statistic, items, samples)
    assert corrected <= 0.05
    assert alone > 0.15, "the premise: without a correction chance finds something far more often"


def test_a_group_that_differs_is_found_among_twelve():
    random = np.random.default_rng(1)
    right = random.random(GROUPS * 60) < 0.6
    better = right.copy()
    better[:60] |= random.random(60) < 0.6
    groups = [splits.ItemGroup(str(at), np.arange(60 * at, 60 * at + 60)) for at in range(GROUPS)]
    changes, _ = splits.changes_of(np.zeros(GROUPS * 60), right.astype(float), better.astype(float), groups, MEAN)
    assert [change.sure for change in changes] == [True] + [False] * 11


@pytest.mark.parametrize("name", ["note", "A", "items", "language"])
def test_a_column_that_is_called_like_a_number_hides_none(name):
    comparison, column = compared()
    found = splits.split(comparison, Attribute(name, column.cells), SPEARMAN)
    rows, groups = splits.rows_of(found), splits.as_json(found)["groups"]
    heading = name if name == "language" else f"{name} (group)"
    names = [one.name for one in found.groups]
    assert [row.pop(heading) for row in rows] == [group.pop("group") for group in groups] == names
    assert rows == groups
    assert rows[0]["items"] == found.groups[0].items


def test_a_set_that_chose_a_model_has_no_intervals():
    comparison, column = compared()
    found = splits.split(comparison, column, SPEARMAN, intervals=False)
    assert {one.sure for one in found.groups} == {None}
    assert splits.how_judged(found) == ""


def test_a_column_is_named_in_any_case_and_an_unknown_one_lists_all():
    columns = (Attribute("Language", ("a", "b")), Attribute("length", (1.0, 2.0)))
    assert splits.named(columns, "language", "a set") is columns[0]
    with pytest.raises(BadChoice, match=r"a set cannot be split by 'lang'\. Choose one of: Language, length\."):
        splits.named(columns, "lang", "a set")
    with pytest.raises(BadChoice, match="no column that divides its items"):
        splits.named((), "lang", "a set")


def test_a_stricter_level_gives_wider_intervals_around_the_same_difference():
    random = np.random.default_rng(2)
    gold = random.normal(size=600)
    one, other = (gold + random.normal(size=600) for _ in range(2))
    plain, strict = (bootstrap.difference(gold, one, other, level=level) for level in (0.95, 0.99))
    assert strict.low < plain.low < plain.difference == strict.difference < plain.high < strict.high
