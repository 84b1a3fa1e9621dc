"""Test the cosine matrices: one scale, one order, texts escaped."""

import numpy as np
import pytest

from explorer.drawing.sentences import heatmaps as drawn
from explorer.measuring.sentences.sentence_vectors import similarities

NASTY = "<b>bold</b> & <br> a line that is long enough to be cut somewhere"


def sides(count):
    chance = np.random.default_rng(0)
    return [similarities(chance.normal(size=(count, 4))) for _ in range(2)]


def test_a_cell_holds_the_cosine_of_the_sentences_its_point_names():
    one, _ = sides(5)
    order = np.array([3, 1, 0, 4, 2])
    figure = drawn.alike(one, tuple("abcde"), order, drawn.span_of(one), (0, 1))
    heat, points, written = figure.data
    names = figure.layout.xaxis2.ticktext
    assert names == figure.layout.yaxis2.ticktext
    cells = zip(points.x, points.y, points.customdata, points.marker.color, written.text, strict=True)
    for x, y, cell, value, text in cells:
        first, second = divmod(cell, 5)
        assert (order[y], order[x]) == (first, second)
        assert heat.z[y][x] == value == pytest.approx(one[first, second], abs=1e-6)
        assert text == f"{one[first, second]:.2f}"
        assert (names[y], names[x]) == tuple(f"{number + 1} · {'abcde'[number]}" for number in (first, second))
    assert np.isnan(np.diag(heat.z)).all()


def test_the_scale_spans_both_sides_and_sentences_that_are_all_the_same_are_drawn_too():
    one, other = sides(6)
    low, high = drawn.span_of(one, other)
    every = [side[i, j] for side in (one, other) for i in range(6) for j in range(i)]
    assert (low, high) == (min(every), max(every))
    heat = drawn.changed(other - one, tuple("abcdef"), np.arange(6), (0, 1)).data[0]
    assert -heat.zmin == heat.zmax == max(abs(other[i, j] - one[i, j]) for i in range(6) for j in range(i))
    one = similarities(np.ones((3, 4)))
    for figure in (
        drawn.alike(one, ("same",) * 3, np.arange(3), drawn.span_of(one), (0, 1)),
        drawn.changed(one - one, ("same",) * 3, np.arange(3), (0, 1)),
    ):
        assert figure.data[0].zmin < figure.data[0].zmax
        assert len(set(figure.layout.yaxis.ticktext)) == 3


@pytest.mark.parametrize("count", [3, drawn.WRITTEN + 1, 200])
def test_no_text_is_read_as_markup_and_every_cell_answers_a_click(count):
    one, _ = sides(count)
    figure = drawn.alike(one, (NASTY,) * count, np.arange(count), drawn.span_of(one), (0, 1))
    text = figure.to_json()
    assert "\\u003cb\\u003ebold" not in text
    assert "<b>bold" not in text
    assert "&lt;b&gt;bold" in text.replace("\\u0026", "&")
    points = figure.data[1]
    assert set(points.customdata) == {row * count + column for row in range(count) for column in range(count)} - {
        row * count + row for row in range(count)
    }
    assert points.marker.maxdisplayed == 1, "what is not seen is not drawn"
    assert figure.layout.xaxis2.range == figure.layout.xaxis.range
    assert figure.layout.yaxis2.range == figure.layout.yaxis.range
    assert len(set(figure.layout.xaxis2.ticktext)) == count


def test_a_missing_cosine_is_an_empty_cell():
    vectors = np.random.default_rng(0).normal(size=(4, 3))
    vectors[1] = 0
    one = similarities(vectors)
    _, known, missing, written = drawn.alike(one, tuple("abcd"), np.arange(4), drawn.span_of(one), (0, 2)).data
    texts = dict(zip(zip(written.y, written.x, strict=True), written.text, strict=True))
    assert (0, 1) not in texts
    assert texts[0, 2] == f"{one[0, 2]:.2f}"
    assert set(missing.customdata) == {1, 4, 6, 7, 9, 13}
    assert "no cosine" in missing.hovertemplate
    assert len(known.customdata) == 4 * 3 - 6
