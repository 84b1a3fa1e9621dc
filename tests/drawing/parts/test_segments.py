"""Test that many lines are joined in one trace."""

import numpy as np

from explorer.drawing.parts.segments import segments


def test_each_line_is_its_two_ends_and_a_gap():
    starts, ends = np.array([[0.0, 1, 2], [3, 4, 5]]), np.array([[6.0, 7, 8], [9, 10, 11]])
    found = segments(starts, ends).tolist()
    assert [found[0], found[1], found[3], found[4]] == [[0, 1, 2], [6, 7, 8], [3, 4, 5], [9, 10, 11]]
    assert all(np.isnan(found[gap]).all() for gap in (2, 5))
    assert segments(starts[:0], ends[:0]).shape == (0, 3)
