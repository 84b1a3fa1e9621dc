"""Test figures of attention heads and of the weights of layers."""

import numpy as np
import pytest

from explorer.drawing.sentences.heatmaps import (
    every_head,
    head_by_token,
    query_by_key,
    token_label,
    weight_history,
    weights_and_scores,
)
from explorer.drawing.style import ACCENT, POOLING_COLOURS, SIDES
from explorer.encoding.read.sentence_pairs import SelfAttention


def attention(tokens):
    chance = np.random.default_rng(0).random((2, 3, len(tokens), len(tokens))).astype(np.float32)
    return SelfAttention(tokens, (False,) * len(tokens), chance / chance.sum(-1, keepdims=True), 0)


def test_all_tokens_are_named_in_rows_also_those_of_one_name_and_some_in_columns():
    figure = head_by_token(attention(("a", "man", "a")), 1, 1)
    assert list(figure.data[0].x) == list(figure.data[0].y) == [0, 1, 2]
    assert list(figure.layout.xaxis.ticktext) == ["a", "man", "a"]
    figure = head_by_token(attention(tuple(map(str, range(64)))), 1, 1)
    assert list(figure.layout.yaxis.ticktext) == [str(place) for place in range(64)]
    assert list(figure.layout.xaxis.ticktext) == [str(place) for place in range(0, 64, 3)]
    assert list(figure.layout.xaxis.tickvals) == list(range(0, 64, 3))


def test_the_chosen_head_is_drawn_and_a_token_is_never_markup_and_never_empty():
    shown = attention(("a", "man"))
    heat = head_by_token(shown, 2, 3).data[0]
    assert np.array_equal(np.array(heat.z), shown.weights[1, 2])
    assert heat.text[0][1] == "a → man"
    assert token_label("<b>") == "&lt;b&gt;"
    assert token_label(" the") == "·the"
    assert token_label("") == "·"
    assert token_label("\x00") == "�"
    assert len(token_label("x" * 500)) <= 24
    figure = head_by_token(attention(("<img src=x>", "&")), 1, 1)
    assert list(figure.layout.yaxis.ticktext) == ["&lt;img·src=x&gt;", "&amp;"]
    assert figure.data[0].text[0][1] == "&lt;img·src=x&gt; → &amp;"


def test_every_head_has_a_cell_that_answers_with_its_place():
    values = np.arange(6.0).reshape(2, 3)
    figure = every_head(values, "tokens looked at", (2, 1))
    heat, points = figure.data
    assert np.array_equal(np.array(heat.z), values)
    for place, x, y, text in zip(points.customdata, points.x, points.y, points.hovertext, strict=True):
        assert divmod(place, 3) == (y - 1, x - 1)
        assert f"layer {y}, head {x}<br>tokens looked at: {values[y - 1, x - 1]:.2f}" == text
    (frame,) = figure.layout.shapes
    assert frame.x0 < 1 < frame.x1
    assert frame.y0 < 2 < frame.y1


WEIGHTS = np.array([[0.2, 0.8], [0.4, 0.6]])


def test_a_cell_says_who_asks_and_who_answers():
    figure = query_by_key(WEIGHTS, [1, 2], 0.0, 1.0, "cls", "mean")
    heat, numbers = figure.data
    assert np.array_equal(np.array(heat.z, dtype=float), WEIGHTS)
    assert (list(heat.x), list(heat.y), heat.zmin, heat.zmax) == ([1, 2], [1, 2], 0.0, 1.0)
    written = {(x, y): text for x, y, text in zip(numbers.x, numbers.y, numbers.text, strict=True)}
    assert written == {(1, 1): "0.200", (2, 1): "0.800", (1, 2): "0.400", (2, 2): "0.600"}
    assert "key layer (mean)" in figure.layout.xaxis.title.text
    assert "query layer (cls)" in figure.layout.yaxis.title.text


def test_many_layers_leave_no_room_for_numbers_and_what_is_no_number_is_an_empty_cell():
    (heat,) = query_by_key(np.full((13, 13), 1 / 13), range(13), 0.0, 1.0, "cls", "mean").data
    assert heat.type == "heatmap"
    heat, numbers = query_by_key(np.array([[np.inf, 1.0], [0.5, 0.5]]), [0, 1], 0.0, 1.0, "cls", "mean").data
    assert np.isnan(heat.z[0][0])
    written = list(zip(numbers.x, numbers.y, numbers.text, strict=True))
    assert written == [(1, 0, "1.000"), (0, 1, "0.500"), (1, 1, "0.500")]


def test_bars_stand_on_the_weight_that_is_alike_for_all_and_reach_the_layers_own():
    figure = weights_and_scores(np.array([[0.7, 0.3], [0.4, 0.6]]), [0, 1], ("one", "other"), {})
    for bar, shares in zip(figure.data, ([0.7, 0.3], [0.4, 0.6]), strict=True):
        assert bar.base == 0.5
        assert bar.base + np.array(bar.y) == pytest.approx(shares)
        assert list(bar.customdata) == shares
    assert not set(SIDES) & set(POOLING_COLOURS.values()), "a sentence is no pooling"


def test_scores_stand_below_over_the_same_layers_and_a_sentence_in_the_legend_is_text():
    scores = {"mean": np.array([60.0, 70.0]), "cls": np.array([np.nan, 50.0])}
    figure = weights_and_scores(np.array([[0.7, 0.3]]), [1, 2], ("one",), scores)
    lines = [trace for trace in figure.data if trace.type == "scatter"]
    assert [line.name for line in lines] == ["mean, score", "cls, score"]
    assert {line.yaxis for line in lines} == {"y2"}
    assert all(list(line.x) == [1, 2] for line in lines)
    assert np.isnan(lines[1].y[0]), "missing is missing"
    assert figure.layout.xaxis.matches == "x2"
    figure = weights_and_scores(np.array([[0.5, 0.5]]), [0, 1], ("<b>bold</b> & " + "long " * 50,), {})
    assert figure.data[0].name.startswith("&lt;b&gt;bold&lt;/b&gt; &amp; long")
    assert len(figure.data[0].name) < 60
    assert "\n" not in weights_and_scores(np.array([[1.0]]), [0], ("two\nlines",), {}).data[0].name


def test_a_path_is_a_line_a_layer_with_the_best_step_marked_and_of_many_a_row_of_colours_each():
    weights = np.array([[0.5, 0.5], [0.6, 0.4], [0.7, 0.3]])
    figure = weight_history((0, 5, 10), weights, [1, 2], 5)
    assert [line.name for line in figure.data] == ["layer 1", "layer 2"]
    for column, line in enumerate(figure.data):
        assert (list(line.x), list(line.y)) == ([0, 5, 10], weights[:, column].tolist())
    marks = [shape for shape in figure.layout.shapes if shape.line.color == ACCENT]
    assert [mark.x0 for mark in marks] == [5]
    without = weight_history((0,), weights[:1], [1, 2], None)
    assert not [shape for shape in without.layout.shapes if shape.line.color == ACCENT]
    weights = np.random.default_rng(0).random((2, 25))
    figure = weight_history((0, 5), weights, range(25), 5)
    (heat,) = figure.data
    assert np.array_equal(np.array(heat.z), weights.T)
    assert (list(heat.x), list(heat.y)) == ([0, 5], list(range(25)))
    assert [shape.x0 for shape in figure.layout.shapes] == [5]
    assert list(figure.layout.yaxis.tickvals) == list(range(0, 25, 2))
