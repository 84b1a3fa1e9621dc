"""Test the self-attention figures: tokens stay separate, even with equal names."""

import numpy as np

from explorer.drawing.sentences.attention_heads import every_head, token_by_token, token_label
from explorer.encoding.read.self_attention import SelfAttention


def attention(tokens):
    chance = np.random.default_rng(0).random((2, 3, len(tokens), len(tokens))).astype(np.float32)
    return SelfAttention(tokens, (False,) * len(tokens), chance / chance.sum(-1, keepdims=True), 0)


def test_two_tokens_with_one_name_are_two_rows():
    figure = token_by_token(attention(("a", "man", "a")), 1, 1)
    assert list(figure.data[0].x) == list(figure.data[0].y) == [0, 1, 2]
    assert list(figure.layout.xaxis.ticktext) == ["a", "man", "a"]


def test_many_tokens_are_all_named_in_rows_and_some_in_columns():
    figure = token_by_token(attention(tuple(map(str, range(64)))), 1, 1)
    assert list(figure.layout.yaxis.ticktext) == [str(place) for place in range(64)]
    assert list(figure.layout.xaxis.ticktext) == [str(place) for place in range(0, 64, 3)]
    assert list(figure.layout.xaxis.tickvals) == list(range(0, 64, 3))


def test_the_chosen_head_is_drawn_and_rows_are_those_that_look():
    shown = attention(("a", "man"))
    heat = token_by_token(shown, 2, 3).data[0]
    assert np.array_equal(np.array(heat.z), shown.weights[1, 2])
    assert heat.text[0][1] == "a → man"


def test_a_token_is_never_markup_and_never_empty():
    assert token_label("<b>") == "&lt;b&gt;"
    assert token_label(" the") == "·the"
    assert token_label("") == "·"
    assert token_label("\x00") == "�"
    assert len(token_label("x" * 500)) <= 24
    figure = token_by_token(attention(("<img src=x>", "&")), 1, 1)
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
