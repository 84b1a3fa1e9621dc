"""Test that the numbers of a column are read in one notation, which its cells decide together."""

import re

import pytest

from explorer.data import map_sentences
from explorer.data.tables import columns
from explorer.data.tables.grades import TEXT, grades
from explorer.data.tables.table import Table
from explorer.errors import BadScores


def _table(*cells: str) -> Table:
    return Table("a.csv", ("score",), tuple((cell,) for cell in cells), tuple(range(2, 2 + len(cells))))


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (("1,000", "950"), (1000, 950)),
        (("-1,250", "-950"), (-1250, -950)),
        (("1,000", "1,250,000"), (1000, 1250000)),
        (("1,000", "1,000.5"), (1000, 1000.5)),
        (("1,000", ".5"), (1000, 0.5)),
        (("1,000", "0,500", "3,25"), (1.0, 0.5, 3.25)),
        (("1,000", "1234,567"), (1.0, 1234.567)),
        (("1,000", "2,5E-1"), (1.0, 0.25)),
        (("1.000", "1.000,5"), (1000, 1000.5)),
        (("1.000", "1.250.000"), (1000, 1250000)),
        (("1.000", "2.500", "5"), (1.0, 2.5, 5)),
        (("1.250e-05", "12"), (1.25e-05, 12)),
        (("1 000", "1 250 000,5"), (1000, 1250000.5)),
        (("1\u202f000", "1\u00a0000", "2\u2009000"), (1000, 1000, 2000)),
        (("1'000", "1’000.5"), (1000, 1000.5)),
        (("007", "1e3", "+5", "5."), (7, 1000, 5, 5)),
    ],
)
def test_one_notation_is_found_for_the_whole_column(cells, numbers):
    assert grades(_table(*cells), "score") == (numbers, ("",) * len(cells))


@pytest.mark.parametrize(
    ("cells", "readings"),
    [
        (("1,000", "2,000"), "'1,000' can be 1000 or 1.0"),
        (("3,125", "4"), "'3,125' can be 3125 or 3.125"),
        (("100", "87,125"), "'87,125' can be 87125 or 87.125"),
        (("1.000", "950"), "'1.000' can be 1000 or 1.0"),
        (("1.000", "2,000"), "'1.000' can be 1000 or 1.0"),
        (("3,5", "1.5"), "'3,5' has a decimal comma, '1.5' a decimal point"),
        (("1.000,5", "1,000.5"), "'1.000,5' has a decimal comma, '1,000.5' a decimal point"),
    ],
)
def test_a_column_that_can_be_read_in_two_ways_is_refused_with_both(cells, readings):
    with pytest.raises(BadScores, match=rf"a\.csv, 'score': {re.escape(readings)}.*Write "):
        grades(_table(*cells), "score")


@pytest.mark.parametrize("cell", ["1_000", "3_1", "٣", "３", "0x10", "1,00,000", "1,000,00", "1 00", "1,000 000", "½"])
def test_what_is_no_decimal_number_is_text(cell):
    assert grades(_table("1", cell, "2.5"), "score")[1] == ("", TEXT, "")
    assert not columns.is_number(cell)


def test_missing_scores_decide_nothing():
    numbers, faults = grades(_table("nan", "1,000", "", "inf", "950", "-NaN"), "score")
    assert [number for number, fault in zip(numbers, faults, strict=True) if not fault] == [1000, 950]
    with pytest.raises(BadScores, match="'1,000' can be 1000"):
        grades(_table("nan", "1,000", "inf", "2,000"), "score")


def test_a_map_takes_a_column_of_two_notations_for_names():
    rows = tuple((f"sentence {place}", f"{place},125") for place in range(1, 12))
    table = Table("a.csv", ("text", "count"), rows, tuple(range(2, 13)))
    assert map_sentences.of_table(table).columns[0].cells == tuple(cell for _, cell in rows)
