"""Test the matrices of cosines of every layer: cells, points, frames, legends, and what is framed."""

import numpy as np
import pytest

from explorer.drawing import style
from explorer.drawing.sentences import layer_matrices as drawn
from explorer.measuring.sentences.sentence_vectors import similarities
from tests.shown_numbers import difference, written

NASTY = "<b>bold</b> & <br> a line that is long enough to be cut somewhere"
STEPS = ["0", "1", "2"]


def sides(count, steps=3, random=True):
    chance = np.random.default_rng(0)

    def side(name):
        cosines = np.stack([similarities(chance.normal(size=(count, 4))) for _ in range(steps)])
        return drawn.LayeredSide(name, "model", cosines, np.linspace(0.5, 0.1, steps) if random else None)

    return [side("A"), side("B")]


def figure(found, order=None, at=2, chosen=(0, 1), texts=None):
    count = found[0].cosines.shape[1]
    labels = list(map(str, range(len(found[0].cosines))))
    texts = texts or [f"sentence {number}" for number in range(count)]
    return drawn.matrices(found, labels, texts, np.arange(count) if order is None else order, at, chosen)


def in_mode(found, mode):
    return [one for one in found.data if one.type == "scatter" and one.mode == mode]


def panels(found):
    """The heatmap and the points of each panel."""
    heats = [one for one in found.data if one.type == "heatmap" and len(one.z) > 1]
    points = in_mode(found, "markers")
    return list(zip(heats, points, strict=True))


def test_a_cell_has_the_cosine_of_the_sentences_that_its_point_names_in_every_frame():
    found, order = sides(5), np.array([3, 1, 0, 4, 2])
    made = figure(found, order)
    number_of = {id(trace): number for number, trace in enumerate(made.data)}
    names = made.layout.xaxis.ticktext
    assert names == made.layout.yaxis.ticktext == tuple(f"{number + 1} · sentence {number}" for number in order)
    for step, frame in enumerate(made.frames):
        changed = dict(zip(frame.traces, frame.data, strict=True))
        for place, (heat, points) in enumerate(panels(made)):
            z, now = changed[number_of[id(heat)]].z, changed[number_of[id(points)]]
            assert np.isnan(np.diag(z)).all()
            for x, y, cell, text in zip(points.x, points.y, now.customdata, now.text, strict=True):
                shown, first, second = drawn.cell_of(cell, 5)
                assert (shown, order[y], order[x]) == (step, first, second)
                one, other = (side.cosines[step, first, second] for side in found)
                value = (one, other, other - one)[place]
                assert z[y][x] == pytest.approx(value, abs=1e-6)
                assert text == (difference(one, other) if place == 2 else written(value, sign=""))


def test_the_figure_is_the_frame_of_its_step():
    made = figure(sides(5), at=1)
    assert made.layout.sliders[0].active == 1
    for number, part in zip(made.frames[1].traces, made.frames[1].data, strict=True):
        trace = made.data[number]
        for name in part.to_plotly_json():
            if name == "textfont":
                assert trace.textfont.color == part.textfont.color
            else:
                assert np.array_equal(np.array(trace[name], dtype=object), np.array(part[name], dtype=object)) or (
                    name == "z" and np.array_equal(trace.z, part.z, equal_nan=True)
                )


def test_scales_are_those_of_all_pages_and_random_pairs_are_marked_in_the_colours_of_their_side():
    made = figure(sides(4))
    scales = [(heat.zmin, heat.zmax) for heat, _ in panels(made)]
    assert scales == [style.COSINE_RANGE, style.COSINE_RANGE, style.DIFFERENCE_RANGE]
    marks = in_mode(made, "markers+text")
    assert [one.marker.color for one in marks] == list(style.SIDES)
    assert [one.x[0] for one in marks] == pytest.approx([0.1, 0.1])
    assert {one.textposition for one in marks} == {"top left", "top right"}, "labels do not cover each other"
    assert not in_mode(figure(sides(4, random=False)), "markers+text")


def test_one_side_has_one_matrix_one_layer_no_slider_and_the_pair_is_framed_in_all():
    alone = figure(sides(4)[:1])
    assert len(panels(alone)) == 1
    assert len(alone.layout.shapes) == 2
    both = figure(sides(4), chosen=(2, 0))
    assert {(shape.xref, shape.x0 + 0.5, shape.y0 + 0.5) for shape in both.layout.shapes} == {
        (axis, x, y) for axis in ("x", "x2", "x3") for x, y in ((0, 2), (2, 0))
    }
    assert not figure(sides(4), chosen=None).layout.shapes
    single = figure(sides(4, steps=1), at=0)
    assert not single.frames
    assert not single.layout.sliders


# of 200 one step: frames repeat the hover texts of 40,000 cells, and have no sentences
@pytest.mark.parametrize(("count", "steps"), [(3, 3), (drawn.WRITTEN + 1, 3), (200, 1)])
def test_no_text_is_read_as_markup_and_every_cell_answers_a_click(count, steps):
    made = figure(sides(count, steps), at=steps - 1, texts=[NASTY] * count)
    text = made.to_json()
    assert "\\u003cb\\u003ebold" not in text
    assert "<b>bold" not in text
    assert "&lt;b&gt;bold" in text.replace("\\u0026", "&")
    every = {(row, column) for row in range(count) for column in range(count) if row != column}
    for _, points in panels(made):
        assert {drawn.cell_of(cell, count)[1:] for cell in points.customdata} == every
        assert points.marker.maxdisplayed == 1, "what is not seen is not drawn"
    assert len(set(made.layout.xaxis.ticktext)) == count


def test_of_many_sentences_some_layers_have_a_frame_with_the_first_the_last_and_the_chosen_one(monkeypatch):
    assert drawn.steps_that_fit(40, 25, 12) == list(range(25))
    some = drawn.steps_that_fit(200, 25, 7)
    assert {0, 7, 24} <= {*some}
    assert len(some) == 4
    monkeypatch.setattr(drawn, "MOST_CELLS", 100)  # as many as have the cells of three steps of six sentences
    assert [frame.name for frame in figure(sides(6, steps=7), at=2).frames] == ["0", "2", "3", "6"]


def test_a_missing_cosine_is_an_empty_cell_that_says_so():
    found = sides(4)
    found[0].cosines[2, 1] = found[0].cosines[2, :, 1] = np.nan
    made = figure(found)
    for place, (heat, points) in enumerate(panels(made)):
        texts = {drawn.cell_of(cell, 4)[1:]: text for cell, text in zip(points.customdata, points.text, strict=True)}
        assert (texts[0, 1] == drawn.MISSING) == (place != 1)
        assert np.isnan(heat.z[0][1]) == (place != 1)
        assert texts[0, 2] != drawn.MISSING
    written_in_cells = [one for one in in_mode(made, "text") if len(one.x) == 12]
    assert [list(one.text).count("") for one in written_in_cells] == [6, 0, 6]
