"""Squares of cosines: one scale, one order, and every text shown as it is typed."""

import numpy as np
import pytest

from explorer.drawing import similarity_grid as drawn
from explorer.measuring.similarities import similarities

NASTY = "<b>bold</b> & <br> a line that is long enough to be cut somewhere"


def sides(count):
    chance = np.random.default_rng(0)
    return [similarities(chance.normal(size=(count, 4))) for _ in range(2)]


def test_a_cell_holds_the_cosine_of_the_sentences_its_point_names():
    one, _ = sides(5)
    order = np.array([3, 1, 0, 4, 2])
    figure = drawn.alike(one, tuple("abcde"), order, drawn.span_of(one), (0, 1))
    heat, points = figure.data
    for x, y, cell, told in zip(points.x, points.y, points.customdata, points.hovertext, strict=True):
        first, second = divmod(cell, 5)
        assert (order[y], order[x]) == (first, second)
        assert heat.z[y][x] == pytest.approx(one[first, second], abs=1e-6)
        assert told.startswith(f"{first + 1} · {'abcde'[first]}<br>{second + 1} · {'abcde'[second]}<br>")
    assert np.isnan(np.diag(heat.z)).all()


def test_the_scale_spans_both_sides_and_that_of_the_difference_is_even_about_nothing():
    one, other = sides(6)
    low, high = drawn.span_of(one, other)
    every = [side[i, j] for side in (one, other) for i in range(6) for j in range(i)]
    assert (low, high) == (min(every), max(every))
    heat = drawn.changed(other - one, tuple("abcdef"), np.arange(6), (0, 1)).data[0]
    assert -heat.zmin == heat.zmax == max(abs(other[i, j] - one[i, j]) for i in range(6) for j in range(i))


def test_sentences_that_are_all_the_same_are_drawn_too():
    one = similarities(np.ones((3, 4)))
    for figure in (
        drawn.alike(one, ("same",) * 3, np.arange(3), drawn.span_of(one), (0, 1)),
        drawn.changed(one - one, ("same",) * 3, np.arange(3), (0, 1)),
    ):
        assert figure.data[0].zmin < figure.data[0].zmax
        assert len(set(figure.layout.yaxis.ticktext)) == 3


@pytest.mark.parametrize("count", [3, drawn.CLICKED, drawn.CLICKED + 1, 200])
def test_no_text_is_read_as_markup_and_many_sentences_have_no_points(count):
    one, _ = sides(count)
    figure = drawn.alike(one, (NASTY,) * count, np.arange(count), drawn.span_of(one), (0, 1))
    text = figure.to_json()
    assert "\\u003cb\\u003ebold" not in text
    assert "<b>bold" not in text
    assert "&lt;b&gt;bold" in text.replace("\\u0026", "&")
    assert (len(figure.data) == 2) == (count <= drawn.CLICKED)
    assert len(figure.data[0].x) == len(set(figure.data[0].x)) == count


def test_a_missing_cosine_is_an_empty_cell():
    vectors = np.random.default_rng(0).normal(size=(4, 3))
    vectors[1] = 0
    one = similarities(vectors)
    points = drawn.alike(one, tuple("abcd"), np.arange(4), drawn.span_of(one), (0, 2)).data[1]
    written = dict(zip(points.customdata, points.text, strict=True))
    assert written[1] == ""
    assert written[2] == f"{one[0, 2]:.2f}"
    assert any("no cosine" in told for told in points.hovertext)
