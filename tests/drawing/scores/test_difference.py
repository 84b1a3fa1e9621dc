"""Test the grid of differences: a number in every cell, hollow if it could be chance."""

from dataclasses import replace

import numpy as np
import pytest

from explorer.drawing.scores.by_layer import compared_by_layer
from explorer.drawing.scores.grid import difference_grid, layer_by_pooling
from explorer.encoding.read.pooling import GRID_POOLINGS, OWN, parse, readings
from explorer.measuring.comparing.comparison import Comparison

LAST = parse("mean of layer 6", 6)


@pytest.fixture
def comparison(bundled_scores):
    noise = np.random.default_rng(0).normal(size=bundled_scores.cosines.shape).astype(np.float32) * 0.1
    return Comparison(bundled_scores, replace(bundled_scores, cosines=bundled_scores.cosines + noise), LAST, LAST)


def test_every_cell_holds_its_difference_and_only_sure_ones_are_filled(comparison):
    grid = comparison.grid(resamples=100)
    assert 0 < grid.sure.sum() < grid.sure.size
    figure = difference_grid(comparison, grid)
    filled = np.concatenate([np.array(trace.z, dtype=float) for trace in figure.data if trace.type == "heatmap"])
    assert np.array_equal(np.isfinite(filled), grid.sure)
    cells = {}
    for trace in figure.data:
        if trace.type == "scatter":
            cells |= dict(zip(trace.customdata, zip(trace.text, trace.hovertext, strict=True), strict=True))
    assert len(cells) == grid.difference.size
    for place, reading in enumerate(readings(6)):
        row, column = comparison.one.place(reading)
        value = grid.difference[row, column]
        assert cells[place][0] == ("n/a" if np.isnan(value) else f"{value:+.2f}")
        assert reading.title in cells[place][1]
    hollow = [shape for shape in figure.layout.shapes if shape.line.width == 1 and not shape.line.dash]
    assert len(hollow) == (np.isfinite(grid.difference) & ~grid.sure).sum()


def test_a_cell_that_a_side_cannot_measure_has_no_number_and_says_why(comparison):
    cosines = comparison.other.cosines.copy()
    cosines[3, 0] = np.nan
    lost = replace(comparison, other=replace(comparison.other, cosines=cosines, precision="bfloat16"))
    grid = lost.grid(resamples=50)
    assert np.isnan([side[3, 0] for side in (grid.difference, grid.low, grid.high)]).all()
    place = readings(6).index(parse("cls of layer 3", 6))
    for figure in (difference_grid(lost, grid), layer_by_pooling(lost.other, "Spearman", "all", LAST)):
        cells = [trace for trace in figure.data if trace.type == "scatter" and place in trace.customdata]
        at = list(cells[0].customdata).index(place)
        assert cells[0].text[at] == "n/a"
        assert "not measurable in bfloat16" in cells[0].hovertext[at]
    assert lost.not_measured_text == ("B: Not measurable in bfloat16: cls of layer 3. Switch precision to float32.",)


@pytest.mark.parametrize("far", [0.0, 0.6])
def test_their_own_readings_stand_above_and_answer_as_the_last_cell(comparison, far):
    noise = np.random.default_rng(1).normal(size=len(comparison.one.gold)).astype(np.float32) * far
    moved = replace(comparison, other=replace(comparison.other, own=comparison.one.own + noise))
    differences = moved.differences(resamples=100)
    assert bool(differences.own.sure) == (far > 0), "the premise"
    plain, figure = (difference_grid(moved, differences.grid, own) for own in (None, differences.own))
    assert figure.layout.yaxis.ticktext == (*plain.layout.yaxis.ticktext, "default")
    own = figure.data[-1]
    assert set(own.customdata) == {differences.grid.difference.size}
    assert f"{float(differences.own.difference):+.2f}" in own.text
    assert "model default" in own.hovertext[0]
    heat = [sum(trace.type == "heatmap" for trace in one.data) for one in (plain, figure)]
    assert heat[1] - heat[0] == (far > 0), "filled only where it is sure"
    chosen = replace(moved, one_reading=OWN, other_reading=OWN)
    framed = difference_grid(chosen, differences.grid, differences.own).layout.shapes
    assert [shape.y1 for shape in framed if shape.line.width == 4] == [own.y[0] + 0.48]


def test_lines_are_the_scores_and_bars_the_intervals(comparison):
    grid = comparison.grid(resamples=50)
    figure = compared_by_layer(comparison, "max", "Spearman", "all", grid)
    one, other, between = figure.data
    column = GRID_POOLINGS.index("max")
    assert np.allclose(one.y, comparison.one.table()[:7, column], equal_nan=True)
    assert np.allclose(other.y, comparison.other.table()[:7, column], equal_nan=True)
    assert np.allclose(between.y + np.array(between.error_y.array), grid.high[:7, column], equal_nan=True)
    assert len(compared_by_layer(comparison, "max", "Spearman", "all", None).data) == 2
