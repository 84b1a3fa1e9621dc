"""Test that the figure of groups shows each difference with its interval, and escapes names of a file."""

import math

import pytest

from explorer.drawing import style
from explorer.drawing.scores import changes as drawn
from explorer.drawing.scores.groups import differences_by_group
from explorer.measuring.comparing.splits import GroupChange, SplitChanges
from explorer.measuring.scores.verdict import Verdict
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


def test_the_colour_of_a_difference_says_whether_it_could_be_chance():
    intervals = {(0.1, 2.0): style.GAIN, (-2.0, -0.1): style.LOSS, (-0.1, 0.1): style.CHANCE, (0.0, 1.0): style.CHANCE}
    assert {ends: style.certainty(*ends) for ends in intervals} == intervals
    assert style.certainty(float("nan"), float("nan")) == style.CHANCE, "no interval, no certainty"


def test_the_text_of_a_change_is_above_its_bar_and_its_mark_of_zero():
    name = "A set whose name is much longer than any name that fits beside the figure of the packs"
    figure = drawn.sets_changed([drawn.SetChange(name, Verdict(80.0, None, 82.0, 2.0, 0.5, 3.5))], 380)
    (note,), (zero,) = figure.layout.annotations, figure.layout.shapes
    assert (zero.x0, zero.x1, zero.ysizemode) == (0, 0, "pixel")
    assert note.yshift >= zero.y1
    assert note.yanchor == "bottom"
    shown, numbers = note.text.split("<br>")
    assert len(shown) <= drawn.LONGEST
    assert numbers == "80.00 → 82.00, +2.00 (+0.50 to +3.50)"
    assert figure.data[0].marker.color == style.GAIN
