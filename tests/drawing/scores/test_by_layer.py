"""Test the geometry figures: values, missing values, and the arrow from A to B."""

from dataclasses import replace

import numpy as np
import pytest

from explorer.drawing.scores.by_layer import alignment_by_uniformity, drift_by_layer, measure_by_layer
from explorer.encoding.read.pooling import OWN
from explorer.measuring.geometry.layer_geometry import MEASURES
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


def test_the_arrow_leads_from_the_reading_of_a_to_that_of_b(looked):
    figure = alignment_by_uniformity(looked)
    (arrow,) = figure.layout.annotations
    assert (arrow.ax, arrow.ay) == (looked.chosen[0].uniformity, looked.chosen[0].alignment)
    assert (arrow.x, arrow.y) == (looked.chosen[1].uniformity, looked.chosen[1].alignment)
    assert [trace.name for trace in figure.data] == ["A", "A: mean of layer 2", "B", f"B: {OWN.title}"]
    assert list(figure.data[0].text) == ["0", "1", "2"]


def test_nothing_points_from_a_place_to_itself_or_to_nowhere(looked):
    one, other = looked.chosen
    stays = replace(looked, chosen=(one, one))
    unknown = replace(looked, chosen=(one, replace(other, alignment=float("nan"))))
    alone = replace(looked, layers=looked.layers[:1], chosen=(one,), alike=(), shift=())
    for which in (stays, unknown, alone):
        assert not alignment_by_uniformity(which).layout.annotations


def test_drift_has_a_panel_for_all_that_is_known(looked):
    alike, shift, between = drift_by_layer(looked, BARS).data
    assert list(alike.y) == list(looked.alike)
    assert list(shift.y) == list(looked.shift)
    assert list(between.y + np.array(between.error_y.array)) == list(BARS.high)
    assert len(drift_by_layer(looked, None).data) == 2
    wide = replace(looked, shift=(float("nan"),) * 3)
    assert len(drift_by_layer(wide, BARS).data) == 2, "no shift between other widths"
