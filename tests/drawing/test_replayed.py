"""Pictures of one step among many."""

import numpy as np

from explorer.drawing.replay import alignment_and_uniformity, places
from explorer.measuring.replay import travel

LOOKS = [
    {"step": 0, "alignment": 0.5, "uniformity": -1.0},
    {"step": 4, "uniformity": -1.5},  # no pair was alike there
    {"step": 8, "alignment": 0.3, "uniformity": -2.0},
]


def test_points_are_where_the_sentences_are_and_lines_lead_from_where_they_were():
    way = travel(np.random.default_rng(1).normal(size=(3, 5, 4)))
    figure = places(way, ["<b>one</b>", "two", "three", "four", "five"], 2)
    lines, points = figure.data
    assert np.allclose(np.stack([points.x, points.y], axis=1), way.places[2], atol=1e-6)
    ends = np.stack([lines.x, lines.y], axis=1).reshape(5, 3, 2)
    assert np.allclose(ends[:, 0], way.places[0], atol=1e-6)
    assert np.allclose(ends[:, 1], way.places[2], atol=1e-6)
    assert np.isnan(ends[:, 2]).all()
    assert points.text[0] == "&lt;b&gt;one&lt;/b&gt;"


def test_the_frame_is_the_same_at_every_step():
    way = travel(np.random.default_rng(1).normal(size=(3, 5, 4)))
    frames = {tuple(places(way, ["a"] * 5, at).layout.xaxis.range) for at in range(3)}
    assert len(frames) == 1


def test_the_way_has_the_looks_that_are_known_and_marks_this_one():
    figure = alignment_and_uniformity(LOOKS, 2)
    assert list(figure.data[0].customdata) == [0, 8]
    assert (figure.data[1].x, figure.data[1].y) == ((-2.0,), (0.3,))
    assert len(alignment_and_uniformity(LOOKS, 1).data) == 1
