"""Test histograms of cosines by gold score, and of neighbours that are kept."""

import numpy as np
import pytest

from explorer.drawing.scores.distributions import cosines_by_gold, neighbours_kept
from explorer.measuring.comparing.pair_changes import gold_bins
from explorer.measuring.neighbours.vector_index import Overlap
from tests.drawing import made_up


@pytest.fixture
def found():
    findings = made_up.findings()
    return findings.comparison.gold_bins()


def test_a_row_for_every_fifth_with_the_lowest_at_the_bottom(found):
    figure = cosines_by_gold(found)
    told = [label.text for label in figure.layout.annotations]
    assert (
        told
        == [f"gold score {label}: {pairs} pairs" for label, pairs in zip(found.labels, found.pairs, strict=True)][::-1]
    )
    assert told[-1].startswith("gold score 0 to below 1")
    outlines = [trace for trace in figure.data if trace.line.shape == "hvh"]
    assert [trace.name for trace in outlines] == ["B", "A"] * 5, "A's line is drawn over B's filled steps"
    assert [trace.legendrank for trace in outlines[:2]] == [1, 0]
    assert sum(trace.showlegend for trace in outlines) == 2
    for place, trace in enumerate(outlines):
        at = 4 - place // 2, 1 - place % 2  # band, side
        assert trace.yaxis == ("y" if place < 2 else f"y{place // 2 + 1}")
        assert list(trace.y) == [0, *found.shares[at], 0]
        assert np.array(trace.x[1:-1]) == pytest.approx((found.edges[1:] + found.edges[:-1]) / 2)
        fullest = int(found.counts[at].argmax())
        assert f"{found.counts[at][fullest]} of {found.pairs[at[0]]} pairs" in trace.hovertext[fullest + 1]
        assert trace.hoverinfo[0] == trace.hoverinfo[-1] == "skip"


def test_a_tick_stands_at_every_median(found):
    ticks = [trace for trace in cosines_by_gold(found).data if trace.line.dash == "dot"]
    medians = found.medians[::-1, ::-1].ravel().tolist()
    assert [trace.x for trace in ticks] == [(median, median) for median in medians]


def test_grades_without_pairs_say_so_and_one_side_stands_alone():
    found = gold_bins(np.array([0.0, 1, 1]), [np.array([0.1, 0.5, 0.7])])
    figure = cosines_by_gold(found)
    told = [label.text for label in figure.layout.annotations]
    assert told == [
        "gold score 0.8 to 1: 2 pairs",
        *(f"gold score {label}: no pairs" for label in found.labels[3:0:-1]),
        told[-1],
    ]
    assert told[-1] == "gold score 0 to below 0.2: 1 pair"
    assert {trace.name for trace in figure.data if trace.showlegend} == {"A"}
    assert len(figure.data) == 4


def test_every_number_of_kept_neighbours_has_its_bar():
    kept = [0, 2, 2, 3, 4, 4, 4]
    bars = neighbours_kept(Overlap(np.array(kept), 4)).data[0]
    assert list(bars.x) == [0, 1, 2, 3, 4]
    assert list(bars.y) == [kept.count(number) for number in range(5)]
    for number, (share, jaccard) in zip(range(5), bars.customdata, strict=True):
        assert share == pytest.approx(100 * kept.count(number) / 7)
        assert jaccard == pytest.approx(number / (8 - number))


def test_the_line_stands_at_the_mean():
    figure = neighbours_kept(Overlap(np.array([1, 2, 3, 3]), 5))
    assert figure.layout.shapes[0].x0 == pytest.approx(2.25)
    assert figure.layout.annotations[0].text == "mean 2.2"
