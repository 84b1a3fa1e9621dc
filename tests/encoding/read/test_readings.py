import pytest

from explorer.encoding.read.pooling import (
    DECODER_POOLINGS,
    GRID_POOLINGS,
    Reading,
    Row,
    cell_of,
    pair_name,
    parse,
    readings,
    rows,
)
from explorer.errors import BadChoice


def test_rows_are_the_layers_and_the_pairs_of_the_papers():
    assert [row.label for row in rows(3)] == ["0", "1", "2", "3", "0+3", "1+3", "2+3"]


def test_a_small_model_has_each_pair_once():
    assert [row.label for row in rows(2)] == ["0", "1", "2", "0+2", "1+2"]
    assert [row.label for row in rows(1)] == ["0", "1", "0+1"]


def test_the_two_first_last_are_named_apart():
    names = [pair_name(row, 12) for row in rows(12) if len(row.layers) == 2]
    assert names == ["first-last, from layer 0", "first-last, from layer 1", "last two"]


def test_a_title_leads_back_to_its_reading():
    for reading in readings(6):
        assert parse(reading.title, 6) == reading


def test_a_reading_says_what_it_is():
    assert Reading(Row((0, 6)), "mean").title == "mean of layers 0 + 6"


OUTSIDE = [((3,), "last"), ((2, 5), "mean"), ((4, 5, 6), "max"), ((0, 1, 2, 3, 4, 5, 6), "weighted mean")]


def test_a_title_outside_of_the_grid_leads_back_to_its_reading():
    for layers, pooling in OUTSIDE:
        reading = Reading(Row(layers), pooling)
        assert parse(reading.title, 6) == reading
        assert cell_of(reading, rows(6), GRID_POOLINGS) is None


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("mean of layers 4-6", "mean of layers 4-6"),
        ("mean of layers 5-6", "mean of layers 5 + 6"),
        ("mean of layers 6 + 0", "mean of layers 0 + 6"),
        ("last of layers 3-3", "last of layer 3"),
        ("sqrt mean of layer 03", "sqrt mean of layer 3"),
    ],
)
def test_every_way_to_write_a_reading_has_one_title(written, title):
    assert parse(written, 6).title == title


def test_the_label_on_an_axis_is_short():
    assert [Row(layers).label for layers in ((6,), (0, 6), (4, 5, 6))] == ["6", "0+6", "4-6"]


def test_the_cells_of_a_grid_are_in_its_order():
    for poolings in [GRID_POOLINGS, DECODER_POOLINGS]:
        width = len(poolings)
        for place, reading in enumerate(readings(3, poolings)):
            assert cell_of(reading, rows(3), poolings) == divmod(place, width)


WRONG = {
    "": "",
    "mean": "",
    "first-last mean": "",
    "<b>": "",
    "mean of layers 1, 2": "",
    "mean of layer 12345678901234567890": "",
    "mean of layer 7": ", since the last layer is 6",
    "mean of layers 4-7": ", since the last layer is 6",
    "median of layer 3": ", since there is no pooling 'median'",
    "mean of layers 6-4": ", since a range of layers starts with the lower one",
    "mean of layers 2 + 2": ", since both layers are the same",
}


def test_a_wrong_title_is_refused_with_what_is_allowed():
    for title, why in WRONG.items():
        with pytest.raises(BadChoice) as refused:
            parse(title, 6)
        told = str(refused.value)
        assert (
            f"'{title}' here{why}. Give a pooling (cls, mean, max, last, weighted mean, sqrt mean) and a layer" in told
        )
        assert "from 0 to 6, two layers, or a range of layers" in told
