"""Test that the figure of hard negatives has each where its cosines put it, in the group that the guide says."""

import numpy as np
import pytest

from explorer.drawing.scores import mined_negatives as drawn
from tests.drawing.made_up import NASTY


def test_every_negative_is_where_its_cosines_are_in_the_group_of_the_guide():
    positives, cosines = np.array([0.9, 0.8, 0.7]), np.array([0.5, 0.85, -0.4])
    closer, at_random = np.array([False, True, False]), np.array([False, False, True])
    triplets = [("an anchor", "a positive", one) for one in ("far", NASTY[0], "anywhere")]
    figure = drawn.mined_negatives(positives, cosines, closer, at_random, triplets)
    shown = {trace.name: trace for trace in figure.data if trace.name}
    assert set(shown) == {drawn.FARTHER, drawn.CLOSER, f"{drawn.FARTHER}, {drawn.AT_RANDOM}"}
    for place, name in enumerate((drawn.FARTHER, drawn.CLOSER, f"{drawn.FARTHER}, {drawn.AT_RANDOM}")):
        assert (shown[name].x, shown[name].y) == (
            pytest.approx(positives[place : place + 1]),
            pytest.approx(cosines[place : place + 1]),
        )
    assert figure.layout.yaxis.range[0] < -0.4, "none is cut off"
    assert "<script>" not in shown[drawn.CLOSER].text[0]


def test_of_many_the_mouse_shows_the_cosines_alone():
    none = np.zeros(2, dtype=bool)
    figure = drawn.mined_negatives(np.ones(2), np.ones(2), none, none, ())
    assert [trace.text for trace in figure.data if trace.name] == [None]
