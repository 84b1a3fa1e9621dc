"""Test figures of geometry by layer, of score against cost, and histograms of cosines and of kept neighbours."""

from dataclasses import replace

import numpy as np
import pytest

from explorer.drawing.scores.curves import (
    MethodMark,
    alignment_by_uniformity,
    drift_by_layer,
    measure_by_layer,
    score_by_cost,
)
from explorer.drawing.scores.distributions import cosines_by_gold, neighbours_kept
from explorer.encoding.read.pooling import OWN
from explorer.measuring.comparing.pair_changes import gold_bins
from explorer.measuring.geometry.layer_geometry import MEASURES
from explorer.measuring.neighbours.vector_index import Overlap
from explorer.measuring.scores.bootstrap import Interval
from tests.drawing import made_up

BARS = Interval(np.array([0.0, 1, -2]), np.array([-1.0, 0.5, -3]), np.array([1.0, 1.5, -1]))


@pytest.fixture
def looked():
    return made_up.geometry()


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
def test_lines_are_the_measure_of_both(looked, measure):
    one, other = measure_by_layer(looked, measure).data
    assert list(one.y) == [measure.of(cloud) for cloud in looked.layers[0]]
    assert np.array_equal(other.y, [measure.of(cloud) for cloud in looked.layers[1]], equal_nan=True)
    assert list(one.x) == [0, 1, 2]
    (alone,) = measure_by_layer(replace(looked, layers=looked.layers[:1]), measure).data
    assert (alone.y, alone.name) == (one.y, "A")


def test_the_arrow_leads_from_the_reading_of_a_to_that_of_b_and_never_to_nowhere(looked):
    figure = alignment_by_uniformity(looked)
    (arrow,) = figure.layout.annotations
    assert (arrow.ax, arrow.ay) == (looked.chosen[0].uniformity, looked.chosen[0].alignment)
    assert (arrow.x, arrow.y) == (looked.chosen[1].uniformity, looked.chosen[1].alignment)
    assert [trace.name for trace in figure.data] == ["A", "A: mean of layer 2", "B", f"B: {OWN.title}"]
    assert list(figure.data[0].text) == ["0", "1", "2"]
    one, other = looked.chosen
    stays = replace(looked, chosen=(one, one))
    unknown = replace(looked, chosen=(one, replace(other, alignment=float("nan"))))
    for which in (stays, unknown, replace(looked, layers=looked.layers[:1], chosen=(one,), alike=(), shift=())):
        assert not alignment_by_uniformity(which).layout.annotations


def test_drift_has_a_panel_for_all_that_is_known(looked):
    alike, shift, between = drift_by_layer(looked, BARS).data
    assert list(alike.y) == list(looked.alike)
    assert list(shift.y) == list(looked.shift)
    assert list(between.y + np.array(between.error_y.array)) == list(BARS.high)
    assert len(drift_by_layer(looked, None).data) == 2
    wide = replace(looked, shift=(float("nan"),) * 3)
    assert len(drift_by_layer(wide, BARS).data) == 2, "no shift between other widths"


DEAR = MethodMark("<b>dear</b>", 90.0, 3.0, 2.0, 4.5, "73.00")
MARKS = [MethodMark("cheap", 10.0, 1.0, -0.5, 2.0, "71.00 ± 0.10"), DEAR]


def test_each_row_is_a_marker_with_its_interval_and_label_and_the_base_a_line_at_0():
    figure = score_by_cost(MARKS)
    assert [(trace.x[0], trace.y[0]) for trace in figure.data] == [(10.0, 1.0), (90.0, 3.0)]
    assert [(trace.error_y.arrayminus[0], trace.error_y.array[0]) for trace in figure.data] == [(1.5, 1.0), (1.0, 1.5)]
    assert len({trace.marker.symbol for trace in figure.data}) == 2, "rows differ by more than colour"
    (line,) = score_by_cost(MARKS).layout.shapes
    assert (line.y0, line.y1) == (0, 0)
    trace = score_by_cost(MARKS).data[1]
    assert "<b>" not in trace.name
    assert "&lt;b&gt;dear" in trace.hovertemplate
    assert "+3.00 (+2.00 to +4.50)" in trace.hovertemplate


@pytest.mark.parametrize(("seconds", "kind"), [(90.0, "linear"), (900.0, "log")])
def test_times_that_are_far_from_one_another_are_on_a_logarithmic_axis(seconds, kind):
    figure = score_by_cost([MARKS[0], MethodMark("dear", seconds, 3.0, 2.0, 4.5, "73.00")])
    assert figure.layout.xaxis.type == kind


@pytest.fixture
def found():
    return made_up.findings().comparison.gold_bins()


def test_a_row_for_every_fifth_with_the_lowest_at_the_bottom(found):
    figure = cosines_by_gold(found)
    told = [label.text for label in figure.layout.annotations]
    labels = [f"gold score {label}: {pairs} pairs" for label, pairs in zip(found.labels, found.pairs, strict=True)]
    assert told == labels[::-1]
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
    empty = [f"gold score {label}: no pairs" for label in found.labels[3:0:-1]]
    assert told == ["gold score 0.8 to 1: 2 pairs", *empty, told[-1]]
    assert told[-1] == "gold score 0 to below 0.2: 1 pair"
    assert {trace.name for trace in figure.data if trace.showlegend} == {"A"}
    assert len(figure.data) == 4


def test_every_number_of_kept_neighbours_has_its_bar_and_the_line_stands_at_the_mean():
    kept = [0, 2, 2, 3, 4, 4, 4]
    bars = neighbours_kept(Overlap(np.array(kept), 4)).data[0]
    assert list(bars.x) == [0, 1, 2, 3, 4]
    assert list(bars.y) == [kept.count(number) for number in range(5)]
    for number, (share, jaccard) in zip(range(5), bars.customdata, strict=True):
        assert share == pytest.approx(100 * kept.count(number) / 7)
        assert jaccard == pytest.approx(number / (8 - number))
    figure = neighbours_kept(Overlap(np.array([1, 2, 3, 3]), 5))
    assert figure.layout.shapes[0].x0 == pytest.approx(2.25)
    assert figure.layout.annotations[0].text == "mean 2.2"
