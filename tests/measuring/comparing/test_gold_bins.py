"""Test the cosines of models by gold score against loops."""

import statistics

import numpy as np
import pytest

from explorer.measuring.comparing.gold_bins import COSINES, gold_bin_rows, gold_bins, median_rows

LABELS = ["0 to below 1", "1 to below 2", "2 to below 3", "3 to below 4", "4 to 5"]


@pytest.fixture
def drawn():
    random = np.random.default_rng(0)
    gold = np.concatenate([[0, 1, 2, 3, 4, 5], np.round(random.uniform(0, 5, 300), 1)])
    return gold, [random.uniform(low, 1, len(gold)).astype(np.float32) for low in (-0.4, 0.2)]


def test_every_pair_is_counted_in_its_fifth_and_in_its_bin_of_cosines(drawn):
    gold, sides = drawn
    found = gold_bins(gold, sides)
    assert list(found.labels) == LABELS
    low, high = float(min(map(min, sides))), float(max(map(max, sides)))
    step = (high - low) / COSINES
    assert found.edges == pytest.approx([low + step * place for place in range(COSINES + 1)])
    for side, cosines in enumerate(sides):
        counts = [[0] * COSINES for _ in LABELS]
        of_grade = [[] for _ in LABELS]
        for grade, cosine in zip(gold, cosines, strict=True):
            fifth = min(4, int(grade))
            of_grade[fifth].append(float(cosine))
            bins = [place for place in range(COSINES) if found.edges[place] <= cosine < found.edges[place + 1]]
            counts[fifth][bins[0] if bins else COSINES - 1] += 1
        assert found.counts[:, side].tolist() == counts
        assert list(found.pairs) == [len(inside) for inside in of_grade] == [sum(slow) for slow in counts]
        assert found.medians[:, side] == pytest.approx([statistics.median(inside) for inside in of_grade])
        assert found.shares[:, side].sum(axis=1) == pytest.approx(np.ones(5))


def test_a_grade_on_an_edge_begins_the_fifth_above_and_one_without_pairs_has_no_median(drawn):
    found = gold_bins(np.array([1, 1.8, 2.6, 3.4, 4.2, 5]), [np.linspace(0, 1, 6)])
    assert (found.pairs, found.labels[-1]) == ((1, 1, 1, 1, 2), "4.2 to 5")
    found = gold_bins(np.array([0.0, 1, 1]), [np.array([0.1, 0.5, 0.7])])
    assert found.pairs == (1, 0, 0, 0, 2)
    assert np.isnan(found.medians[1:4]).all()
    assert not found.shares[1:4].any()
    assert found.medians[-1].tolist() == [pytest.approx(0.6)]
    assert [row["median cosine A"] for row in median_rows(found)] == [0.1, None, None, None, 0.6]
    assert [row["pairs"] for row in median_rows(found)] == [1, 0, 0, 0, 2]


def test_a_side_without_cosines_is_in_no_bin_and_has_no_median(drawn):
    gold, (one, _) = drawn
    missing = np.full(len(gold), np.nan)
    found = gold_bins(gold, [one, missing])
    alone = gold_bins(gold, [one])
    assert np.array_equal(found.edges, alone.edges)
    assert np.array_equal(found.counts[:, :1], alone.counts)
    assert not found.counts[:, 1].any()
    assert np.isnan(found.medians[:, 1]).all()
    assert [row["median cosine B"] for row in median_rows(found)] == [None] * 5
    assert not gold_bins(gold, [missing]).counts.any()


def test_grades_or_cosines_that_are_all_the_same_have_one_bin_that_holds_them():
    for gold in (np.full(3, 2.5), np.array([2.5, 2.5001, 2.5002])):  # the labels of fifths would be the same
        found = gold_bins(gold, [np.full(3, 0.9, dtype=np.float32)] * 2)
        assert (found.labels, found.pairs) == (("2.5",), (3,))
        assert [sorted(side.tolist())[-2:] for side in found.counts[0]] == [[0, 3]] * 2
    assert found.edges[0] < 0.9 < found.edges[-1]


def test_rows_say_what_the_histograms_say(drawn):
    found = gold_bins(*drawn)
    rows = gold_bin_rows(found)
    assert len(rows) == 5 * COSINES
    assert sum(row["pairs of A"] for row in rows) == sum(row["pairs of B"] for row in rows) == len(drawn[0])
    tops = [row for row in rows if (row["gold score from"], row["gold score to"]) == (4, 5)]
    assert [row["pairs of B"] for row in tops] == found.counts[-1, 1].tolist()
    assert tops[-1]["cosine to"] == pytest.approx(found.edges[-1], abs=1e-6)
    assert "pairs of B" not in gold_bin_rows(gold_bins(drawn[0], drawn[1][:1]))[0]
