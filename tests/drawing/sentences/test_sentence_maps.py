"""Test maps of sentences, and what the canvas of very many points is given."""

import base64
import json
import math

import numpy as np

from explorer.data.set_items import Attribute
from explorer.data.text_sets import Sentences
from explorer.drawing.sentences import sentence_maps as drawing

PLACES = np.array([[0, 0], [1, 2], [2, 1], [3, 3]], dtype=np.float32)
TEXTS = ("<b>bold</b>", "two\nlines", "x" * 5000, "שלום & $y$")
NAMES = Attribute("kind", ("one", "other", "one", ""))
NUMBERS = Attribute("<i>weight</i>", (1.0, math.nan, 3.0, 2.0))
SENTENCES = Sentences("four", TEXTS, (NAMES, NUMBERS), lines=((0, 2), (1, 3)))
NASTY = "<img src=x onerror=alert(1)> & more"


def flat(colour=NAMES, selected=None, described=SENTENCES):
    return drawing.flat_map(PLACES, drawing.spans(PLACES), described, colour, selected)


def marks(figure):
    return [trace for trace in figure.data if "markers" in trace.mode]


def test_a_point_for_every_sentence_with_its_number_and_a_few_are_written_there():
    found = {}
    for trace in marks(flat()):
        for place, x, y in zip(trace.customdata, trace.x, trace.y, strict=True):
            found[int(place)] = (x, y)
    assert found == {place: tuple(PLACES[place]) for place in range(4)}
    (written,) = (trace for trace in flat().data if trace.mode == "text")
    assert [*zip(written.x, written.y, strict=True)] == [tuple(place) for place in PLACES]
    assert len(written.text) == len(TEXTS)
    assert "<b>" not in written.text[0]
    assert max(map(len, written.text)) < 60


def test_what_is_missing_has_no_colour_of_the_scale_and_of_many_numbers_the_ends_have_one():
    figure = flat(NUMBERS)
    assert [(trace.name, list(trace.customdata)) for trace in marks(figure)][1] == ("missing", [1])
    numbers = marks(figure)[0]
    assert list(numbers.marker.color) == [1.0, 3.0, 2.0]
    assert (numbers.marker.cmin, numbers.marker.cmax) == (1.0, 3.0)
    assert numbers.marker.colorbar.title.text == "&lt;i&gt;weight&lt;/i&gt;"
    cells = (*(float(number) for number in range(299)), 1e6)
    many = Sentences("many", ("text",) * 300, (Attribute("weight", cells),))
    places = np.zeros((300, 2), dtype=np.float32)
    (points,) = drawing.flat_map(places, drawing.spans(places), many, many.columns[0], None).data
    assert points.marker.cmax < 300
    assert points.marker.colorbar.title.text == "weight, middle 96 %"


def test_markup_in_a_sentence_is_shown_as_it_is_typed():
    told = [text for colour in (NAMES, NUMBERS) for trace in marks(flat(colour)) for text in trace.hovertext]
    assert any("&lt;b&gt;bold&lt;/b&gt;" in text for text in told)
    assert not any("<b>bold" in text or "<i>" in text for text in told)
    assert max(map(len, told)) < 600


def test_selected_sentences_are_lit_in_whatever_group_they_are_and_drawn_once_more_in_three_dimensions():
    assert {int(t.customdata[row]) for t in marks(flat(selected=(2, 3))) for row in t.selectedpoints} == {2, 3}
    assert all(trace.selectedpoints is None for trace in marks(flat()))
    assert all(trace.selectedpoints == () for trace in marks(flat(selected=())))
    deep = np.c_[PLACES, PLACES[:, 0]]
    figure = drawing.deep_map(deep, drawing.spans(deep), SENTENCES, NAMES, (1,))
    assert (figure.data[-1].x[0], figure.data[-1].z[0]) == (1, 1)
    assert len(figure.data) == 2 + 3 + 1


def test_lines_join_the_sentences_of_a_pair_and_names_stand_at_the_centres_of_clusters():
    lines = [trace for trace in flat().data if trace.mode == "lines"]
    assert [(list(line.x[:2]), list(line.y[:2])) for line in lines] == [([0, 2], [0, 1]), ([1, 3], [2, 3])]
    assert all(math.isnan(line.x[2]) for line in lines)
    boat = "<b>boat</b>, sail", (1.0, 2.0)
    (name,) = drawing.flat_map(PLACES, drawing.spans(PLACES), SENTENCES, NAMES, None, [boat]).layout.annotations
    assert (name.x, name.y) == (1.0, 2.0)
    assert "<b>" not in name.text


def test_names_beyond_the_colours_are_one_group_behind_the_others():
    groups = drawing.groups(Attribute("kind", tuple(f"name {place % 12}" for place in range(100))))
    assert (groups[0].name, len(groups)) == (drawing.OTHERS, 1 + len(drawing.NAME_COLOURS))
    assert sorted(place for group in groups for place in group.members) == list(range(100))
    assert len({group.colour for group in groups}) == len(groups)


def test_both_maps_have_room_for_all_sentences_of_either():
    assert all(low < 0 < 6 < high for low, high in drawing.spans(PLACES, PLACES * 2))
    still = drawing.spans(np.zeros((3, 2), dtype=np.float32))
    assert all(low < high for low, high in still), "sentences on one spot have room round them"
    content = drawing.canvas_content(np.ones((4, 2), dtype=np.float32), ["a"] * 4, [])
    assert all(low < 1 < high for low, high in zip(content["low"], content["high"], strict=True))


def test_many_sentences_are_drawn_as_a_picture():
    count = drawing.SHARP + 1
    many = Sentences("many", ("text",) * count, (Attribute("kind", ("a",) * count),))
    places = np.zeros((count, 2), dtype=np.float32)
    assert drawing.flat_map(places, drawing.spans(places), many, many.columns[0], None).data[0].type == "scattergl"
    assert marks(flat())[0].type == "scatter"


def positions(count, seed=0):
    return np.random.default_rng(seed).normal(size=(count, 2)).astype(np.float32)


def test_the_content_holds_every_position_exactly_and_the_beginning_of_each_sentence():
    places, texts = positions(3), ["short", "word " * 40, NASTY]
    content = json.loads(json.dumps(drawing.canvas_content(places, texts, [("a name", (1.0, 2.0))])))
    found = np.frombuffer(base64.b64decode(content["places"]), dtype="<f4").reshape(-1, 2)
    np.testing.assert_array_equal(found, places)
    assert content["texts"][::2] == ["short", NASTY]
    assert len(content["texts"][1]) <= drawing.LONGEST_TEXT
    assert content["texts"][1].endswith("…")
    assert content["names"] == [["a name", 1.0, 2.0]]
    np.testing.assert_allclose(content["low"], places.min(0), atol=1e-6)
