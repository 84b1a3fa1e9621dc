"""Test figures of sentences by layer, token and word, of attention, and cosine matrices: one scale, texts escaped."""

import numpy as np
import pytest

from explorer.data import sample
from explorer.drawing.sentences import pair_figures
from explorer.drawing.sentences.heatmaps import (
    every_head,
    head_by_token,
    query_by_key,
    token_label,
    weight_history,
    weights_and_scores,
)
from explorer.drawing.sentences.pair_figures import (
    coloured,
    cosines_and_contributions,
    largest,
    packs_side_by_side,
    side_by_side,
)
from explorer.drawing.style import ACCENT, COSINE_RANGE
from explorer.encoding.read.pooling import Reading, Row
from explorer.encoding.read.sentence_pairs import SelfAttention
from explorer.measuring.sentences.probe_cosines import probed, sentences_of
from explorer.measuring.sentences.sentence_pair import pair_layers, token_pair
from explorer.measuring.sentences.word_pairs import WordPair
from explorer.progress import finish
from tests.colours import contrast, parts_of
from tests.tiny_models import LAYERS, SENTENCES


def test_lines_are_cosines_and_bars_sum_to_their_last(tiny_encoder):
    pair = pair_layers(tiny_encoder, *SENTENCES[:2])
    figure = cosines_and_contributions(pair, ("cls", "mean"), (-0.5, 0.5))
    lines = [trace for trace in figure.data if trace.type == "scatter"]
    bars = [trace for trace in figure.data if trace.type == "bar"]
    assert [trace.name for trace in lines] == [trace.name for trace in bars] == ["cls", "mean"]
    for column, (line, bar) in enumerate(zip(lines, bars, strict=True)):
        assert list(line.x) == list(bar.x) == list(range(LAYERS + 1))
        assert np.array(line.y) == pytest.approx(pair.cosines[:, column])
        assert sum(bar.y) == pytest.approx(line.y[-1])
        assert bar.marker.color == line.line.color


READING = Reading(Row((LAYERS,)), "mean")


@pytest.fixture(scope="module")
def pair(tiny_encoder):
    return finish(token_pair(tiny_encoder, "a <b> a", SENTENCES[0], READING))


def test_tokens_have_a_row_each_as_they_are_spelled_and_the_scale_of_all_cosines(pair):
    figure = pair_figures.token_by_token(pair, 1)
    assert list(figure.layout.yaxis.ticktext).count("a") == 2
    assert not any("<" in label for label in figure.layout.yaxis.ticktext)
    assert figure.data[0].z.tolist() == pair.cosines[1].tolist()
    assert (figure.data[0].zmin, figure.data[0].zmax) == COSINE_RANGE


def test_bars_are_the_shares_of_both_sides_and_lines_mark_the_layers_that_are_read(pair):
    figure = pair_figures.token_shares({"A": (pair, pair.shares), "B": (pair, pair.shares)})
    assert [bar.name for bar in figure.data] == ["A", "A", "B", "B"]
    for bar in figure.data:
        assert sum(bar.x) == pytest.approx(pair.cosine, abs=1e-5)
    assert len({bar.marker.color for bar in figure.data}) == 2
    figure = side_by_side({"A": (pair.by_layer, "mean", (0, LAYERS)), "B": (pair.by_layer, "cls", ())})
    one, other = figure.data
    assert one.y.tolist() == pair.by_layer.cosines[:, 1].tolist()
    assert other.y.tolist() == pair.by_layer.cosines[:, 0].tolist()
    assert [size == max(one.marker.size) for size in one.marker.size] == [True, False, True]
    assert len(set(other.marker.size)) == 1


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("Smoking  is not\nallowed.", ("Smoking", "is", "not", "allowed", ".")),
        ("the the, the", ("the", "the", ",", "the")),
        ("cut after two words", ("cut", "after")),
        ("אני לא מעשן 🚭", ("אני", "לא", "מעשן", "🚭")),
        ("of a tokenizer that writes it otherwise", ("OF", "a")),
        ("no words", ()),
    ],
)
def test_words_are_in_their_places_and_the_sentence_is_whole(sentence, words):
    found, rest = coloured(sentence, words, np.linspace(-1, 1, len(words)), 1)
    assert tuple(one.word for one in found) == words
    if words[:1] != ("OF",):
        assert "".join(one.before + one.word for one in found) + rest == sentence


def test_the_sign_decides_the_hue_the_size_its_strength_and_every_text_can_be_read():
    values = np.linspace(-0.8, 0.8, 33)
    found, _ = coloured("x " * 33, ("x",) * 33, values, 0.8)
    assert [one.value for one in found] == pytest.approx(values)
    assert min(contrast(parts_of(one.background), parts_of(one.ink)) for one in found) >= 4.5
    red, blue = ([int(one.background[at : at + 2], 16) for one in found] for at in (1, 5))
    gaps = np.subtract(blue, red)
    assert (np.sign(gaps) == np.sign(values)).all()
    assert (np.diff(gaps) > 0).all()


def test_sentences_and_models_share_the_scale_of_their_largest_word():
    pairs = [
        WordPair((("a",), ("b",)), (np.array([one]), np.array([other])), (0.9, 0.9), 0.0, (1, 1))
        for one, other in ((0.3, 0.2), (-0.6, -0.7))
    ]
    assert largest(*pairs) == pytest.approx(0.7)
    assert largest(WordPair(((), ()), (np.zeros(0), np.zeros(0)), (1.0, 1.0), 1.0, (0, 0))) == 0
    (found,), rest = coloured("a", ("a",), np.zeros(1), 0)
    assert (found.background, rest) == ("#dddddd", "")


def test_bars_are_means_and_points_are_all_pairs_of_both_sides():
    packs = sample.probe_packs()
    chance = np.random.default_rng(0)
    sides = {name: probed(packs, chance.normal(size=(len(sentences_of(packs)), 4))) for name in "AB"}
    figure = packs_side_by_side(sides)
    for name, (bars, points) in zip("AB", (figure.data[:2], figure.data[2:]), strict=True):
        assert bars.name == name
        assert list(bars.y) == pytest.approx([sides[name].mean(pack.name) for pack in packs])
        assert list(points.y) == pytest.approx(np.concatenate(sides[name].cosines).tolist())
        assert not any("<b>" in told for told in points.hovertext)


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
