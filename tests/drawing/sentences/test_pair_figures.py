"""Test figures of two sentences by layer, token and word."""

import numpy as np
import pytest

from explorer.data import sample
from explorer.drawing.sentences import pair_figures
from explorer.drawing.sentences.pair_figures import (
    coloured,
    cosines_and_contributions,
    largest,
    packs_side_by_side,
    shares_side_by_side,
    side_by_side,
)
from explorer.encoding.read.pooling import Reading, Row
from explorer.measuring.sentences.probe_cosines import probed, sentences_of
from explorer.measuring.sentences.sentence_pair import pair_layers, token_pair
from explorer.measuring.sentences.word_pairs import WordPair
from explorer.progress import finish
from tests.colours import contrast, parts_of
from tests.tiny_models import LAYERS, SENTENCES


def test_lines_are_cosines_and_bars_sum_to_their_last(tiny_encoder):
    pair = pair_layers(tiny_encoder, *SENTENCES[:2])
    figure = cosines_and_contributions(pair, ("cls", "mean"))
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


def test_tokens_have_a_row_each_as_they_are_spelled_and_two_sides_one_scale(pair):
    figure = pair_figures.token_by_token(pair, 1, pair_figures.span_of((pair, 1)))
    assert list(figure.layout.yaxis.ticktext).count("a") == 2
    assert not any("<" in label for label in figure.layout.yaxis.ticktext)
    assert figure.data[0].z.tolist() == pair.cosines[1].tolist()
    low, high = pair_figures.span_of((pair, 0), (pair, LAYERS))
    assert low == min(pair.cosines[0].min(), pair.cosines[LAYERS].min())
    assert high == max(pair.cosines[0].max(), pair.cosines[LAYERS].max())


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


def test_sentences_and_models_share_the_scale_of_their_largest_word_and_every_bar_is_in_percent():
    pairs = [
        WordPair((("a",), ("b",)), (np.array([one]), np.array([other])), (0.9, 0.9), 0.0, (1, 1))
        for one, other in ((0.3, 0.2), (-0.6, -0.7))
    ]
    assert largest(*pairs) == pytest.approx(0.7)
    assert largest(WordPair(((), ()), (np.zeros(0), np.zeros(0)), (1.0, 1.0), 1.0, (0, 0))) == 0
    (found,), rest = coloured("a", ("a",), np.zeros(1), 0)
    assert (found.background, rest) == ("#dddddd", "")
    shares = {"A": {"negation": 0.125, "number": 1.0}, "B": {"negation": 0.77, "number": 0.0}}
    figure = shares_side_by_side(shares)
    assert {bar.name: dict(zip(bar.x, bar.y, strict=True)) for bar in figure.data} == {
        name: {pack: pytest.approx(100 * share) for pack, share in of_side.items()} for name, of_side in shares.items()
    }
    assert [shape.y0 for shape in figure.layout.shapes] == [50]


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
