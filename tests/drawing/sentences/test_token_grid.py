"""Test the token figures: positions as axes, tokens escaped."""

import pytest

from explorer.drawing.sentences import token_grid
from explorer.drawing.sentences.pair_curves import side_by_side
from explorer.encoding.read.readings import Reading, Row
from explorer.measuring.sentences.token_pairs import token_pair
from explorer.progress import finish
from tests.tiny_models import LAYERS, SENTENCES

READING = Reading(Row((LAYERS,)), "mean")


@pytest.fixture(scope="module")
def pair(tiny_encoder):
    return finish(token_pair(tiny_encoder, "a <b> a", SENTENCES[0], READING))


def test_a_token_that_comes_twice_has_two_rows_and_is_shown_as_it_is_spelled(pair):
    figure = token_grid.token_by_token(pair, 1, token_grid.span_of((pair, 1)))
    assert list(figure.layout.yaxis.ticktext).count("a") == 2
    assert not any("<" in label for label in figure.layout.yaxis.ticktext)
    assert figure.data[0].z.tolist() == pair.cosines[1].tolist()


def test_two_sides_have_one_scale(pair):
    low, high = token_grid.span_of((pair, 0), (pair, LAYERS))
    assert low == min(pair.cosines[0].min(), pair.cosines[LAYERS].min())
    assert high == max(pair.cosines[0].max(), pair.cosines[LAYERS].max())


def test_bars_are_the_shares_of_both_sentences_of_each_side(pair):
    figure = token_grid.token_shares({"A": (pair, pair.shares), "B": (pair, pair.shares)})
    assert [bar.name for bar in figure.data] == ["A", "A", "B", "B"]
    for bar in figure.data:
        assert sum(bar.x) == pytest.approx(pair.cosine, abs=1e-5)
    assert len({bar.marker.color for bar in figure.data}) == 2


def test_lines_of_both_sides_mark_the_layers_that_are_read(pair):
    figure = side_by_side({"A": (pair.by_layer, "mean", (0, LAYERS)), "B": (pair.by_layer, "cls", ())})
    one, other = figure.data
    assert one.y.tolist() == pair.by_layer.cosines[:, 1].tolist()
    assert other.y.tolist() == pair.by_layer.cosines[:, 0].tolist()
    assert [size == max(one.marker.size) for size in one.marker.size] == [True, False, True]
    assert len(set(other.marker.size)) == 1
