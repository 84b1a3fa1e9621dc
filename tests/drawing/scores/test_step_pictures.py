"""Test the figures of one step among many."""

import numpy as np

from explorer.drawing.scores.run_figures import alignment_and_uniformity, places, score_by_step
from explorer.measuring.maps.projection import travel
from explorer.measuring.scores.bootstrap import Interval
from explorer.run_folder import Evaluation

LOOKS = [
    Evaluation(1, 1, 0, alignment=0.5, uniformity=-1.0),
    Evaluation(1, 1, 4, uniformity=-1.5),  # no pair was alike there
    Evaluation(1, 1, 8, alignment=0.3, uniformity=-2.0),
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


def interval(*numbers):
    return Interval(*(np.asarray(number, dtype=np.float64) for number in numbers))


def test_a_reading_over_the_steps_has_a_band_from_its_first_score_and_a_gap_where_it_has_none():
    nan = float("nan")
    since = [interval(0, 0, 0), interval(nan, nan, nan), interval(3, 1, 4)]
    high, low, line, star = score_by_step((0, 4, 8), [50.0, nan, 53.0], since, 2, "Spearman", 300).data
    assert list(high.y) == [50, None, 54]
    assert list(low.y) == [50, None, 51]
    assert list(line.y) == [50, None, 53]
    assert "+3.00 since step 0<br>95 % CI: +1.00 to +4.00" in line.customdata[2]
    assert (star.x, star.y) == ((8,), (53.0,))
    figure = score_by_step((0, 4, 8), [50.0, nan, 53.0], since, 1, "Spearman", 300)
    assert len(figure.data) == 3
    assert "no correlation" in figure.layout.annotations[0].text
