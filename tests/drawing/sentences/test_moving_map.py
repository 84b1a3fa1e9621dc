"""Test what the browser is given of a map that moves."""

import base64

import numpy as np
import pytest

from explorer.data.set_items import Attribute
from explorer.drawing.sentences import moving_map
from explorer.drawing.style import scale_colours
from explorer.measuring.maps.frames import frames
from explorer.measuring.neighbours.vector_index import neighbourhoods
from explorer.progress import finish


def unpacked(text, kind, shape):
    return np.frombuffer(base64.b64decode(text), dtype=kind).reshape(shape)


def test_positions_neighbours_and_cosines_of_every_frame_are_there_as_they_are():
    drawn = np.random.default_rng(0)
    vectors = [drawn.normal(size=(30, 5)).astype(np.float32) for _ in range(3)]
    found = finish(frames(vectors, [finish(neighbourhoods(one)) for one in vectors]))
    places = drawn.normal(size=(3, 30, 2)).astype(np.float32)
    shades = moving_map.on_scale(np.arange(30.0), 0, 29)
    texts = [f"<b>{at}</b>" for at in range(30)]
    given = moving_map.content(
        "key", texts, ["A", "B", "C"], places, found, shades, title="PCA", most=[1], most_title=""
    )
    assert given["texts"] == texts
    assert np.array_equal(unpacked(given["places"], "<f4", (3, 30, 2)), places)
    assert np.array_equal(unpacked(given["near"], "<i4", (3, 30, 10)), found.near)
    for name, values in (("own", found.cosines), ("before", found.before), ("after", found.after)):
        assert np.array_equal(unpacked(given[name], "<f4", (3, 30, 10)), values)
    assert (np.array(given["low"]) <= places.min((0, 1))).all()
    assert (np.array(given["high"]) >= places.max((0, 1))).all()


def test_numbers_have_the_colours_of_the_scale_and_missing_ones_are_a_group():
    values = (0.0, 1.0, 0.5, float("nan"))
    found = moving_map.shades_of(Attribute("moved", values))
    colours = [found.palette[number] for number in found.numbers]
    assert colours[:2] == scale_colours(np.array([0.0, 1.0]), 0, 1)
    assert [colours[3]] == [shade for name, shade in found.legend["groups"] if name == "missing"]
    assert (found.legend["low"], found.legend["high"]) == ("0.00", "1.00")
    assert found.values == ["0.00", "1.00", "0.50", "none"]


@pytest.mark.parametrize("count", [3, 200])
def test_a_legend_says_where_its_scale_is_clipped(count):
    values = tuple(float(at) ** 4 for at in range(count))
    assert ("middle 96 %" in moving_map.shades_of(Attribute("moved", values)).legend["title"]) is (count == 200)


def test_groups_have_their_colours():
    cells = ("a", "b", "a", "c")
    found = moving_map.shades_of(Attribute("part", cells))
    shade = dict(found.legend["groups"])
    assert [found.palette[number] for number in found.numbers] == [shade[cell] for cell in cells]
    assert len({*shade.values()}) == 3
