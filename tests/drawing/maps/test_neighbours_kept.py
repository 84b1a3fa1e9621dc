"""Test the histogram of preserved neighbours: a bar for each number, with the Jaccard index on hover."""

import numpy as np
import pytest

from explorer.drawing.maps.neighbours_kept import neighbours_kept
from explorer.measuring.neighbours.neighbour_overlap import Overlap


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
