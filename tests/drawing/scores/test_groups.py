"""Test that the figure of groups shows each difference with its interval, and escapes names of a file."""

import math

import pytest

from explorer.drawing.scores.groups import differences_by_group
from explorer.measuring.comparing.splits import GroupChange, SplitChanges
from tests.drawing.made_up import NASTY


def test_every_group_is_where_its_difference_is_with_its_interval():
    changes = (
        GroupChange("en", 90, 70.0, 75.0, 1.0, 9.0),
        GroupChange(NASTY[0], 80, 70.0, 69.0, -4.0, 2.0),
        GroupChange("ja", 7, 70.0, 72.5, math.nan, math.nan, "too few"),
    )
    figure = differences_by_group(SplitChanges("language", "Spearman", changes, 0.975))
    shown = {}
    for trace in figure.data:
        for number, (x, y) in enumerate(zip(trace.x, trace.y, strict=True)):
            bars = trace.error_x.array
            ends = (None, None) if bars is None else (x - trace.error_x.arrayminus[number], x + bars[number])
            shown[y] = trace.name, x, *ends, trace.text[number]
    assert shown[0][:4] == ("significant", 5.0, pytest.approx(1.0), pytest.approx(9.0))
    assert shown[1][:4] == ("could be chance", -1.0, pytest.approx(-4.0), pytest.approx(2.0))
    assert shown[2][:4] == ("without an interval", 2.5, None, None)
    assert "97.50 % CI" in shown[0][4]
    labels = figure.layout.yaxis.ticktext
    assert labels[0] == "en (90)"
    assert "<script>" not in "".join(labels) + "".join(one[4] for one in shown.values())
