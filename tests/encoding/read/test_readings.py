import pytest

from explorer.encoding.read.readings import Reading, Row, pair_name, parse, readings, rows
from explorer.errors import BadChoice


def test_rows_are_the_layers_and_the_pairs_of_the_papers():
    assert [row.label for row in rows(3)] == ["0", "1", "2", "3", "0+3", "1+3", "2+3"]


def test_a_small_model_has_each_pair_once():
    assert [row.label for row in rows(2)] == ["0", "1", "2", "0+2", "1+2"]
    assert [row.label for row in rows(1)] == ["0", "1", "0+1"]


def test_the_two_first_last_are_named_apart():
    names = [pair_name(row, 12) for row in rows(12) if len(row.layers) == 2]
    assert names == ["first-last, from layer 0", "first-last, from layer 1", "last two"]


@pytest.mark.parametrize("reading", readings(6), ids=lambda reading: reading.title)
def test_a_title_leads_back_to_its_reading(reading):
    assert parse(reading.title, 6) == reading


def test_a_reading_says_what_it_is():
    assert Reading(Row((0, 6)), "mean").title == "mean of layers 0 + 6"


WRONG = ["", "mean", "mean of layer 7", "median of layer 3", "mean of layers 2 + 6", "mean of layers 6 + 0", "<b>"]


@pytest.mark.parametrize("title", WRONG)
def test_a_wrong_title_is_refused_with_what_is_allowed(title):
    with pytest.raises(BadChoice, match=r"Give a pooling \(cls, mean, max\) and a layer from 0 to 6"):
        parse(title, 6)
