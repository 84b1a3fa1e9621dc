"""Test the figure of score against cost: a marker for each row, its interval, and the base."""

import pytest

from explorer.drawing.scores.score_by_cost import MethodMark, score_by_cost

MARKS = [
    MethodMark("cheap", 10.0, 1.0, -0.5, 2.0, "71.00 ± 0.10"),
    MethodMark("<b>dear</b>", 90.0, 3.0, 2.0, 4.5, "73.00"),
]


def test_each_row_is_a_marker_with_its_interval():
    figure = score_by_cost(MARKS)
    assert [(trace.x[0], trace.y[0]) for trace in figure.data] == [(10.0, 1.0), (90.0, 3.0)]
    assert [(trace.error_y.arrayminus[0], trace.error_y.array[0]) for trace in figure.data] == [(1.5, 1.0), (1.0, 1.5)]
    assert len({trace.marker.symbol for trace in figure.data}) == 2, "rows differ by more than colour"


def test_the_base_is_a_line_at_0():
    (line,) = score_by_cost(MARKS).layout.shapes
    assert (line.y0, line.y1) == (0, 0)


def test_a_label_that_is_markup_stays_text():
    trace = score_by_cost(MARKS).data[1]
    assert "<b>" not in trace.name
    assert "&lt;b&gt;dear" in trace.hovertemplate
    assert "+3.00 (+2.00 to +4.50)" in trace.hovertemplate


@pytest.mark.parametrize(("seconds", "kind"), [(90.0, "linear"), (900.0, "log")])
def test_times_that_are_far_from_one_another_are_on_a_logarithmic_axis(seconds, kind):
    figure = score_by_cost([MARKS[0], MethodMark("dear", seconds, 3.0, 2.0, 4.5, "73.00")])
    assert figure.layout.xaxis.type == kind
