"""Test that columns of numbers and scores are read in one notation, and faults are named."""

import math
import re

import pytest

from explorer.data import map_sentences
from explorer.data.tables import columns
from explorer.data.tables.number_columns import MISSING, TEXT, check_spread, gold_scores
from explorer.data.tables.table import Table
from explorer.errors import BadScores


def _table(*cells: str, column: str = "score") -> Table:
    return Table("a.csv", (column,), tuple((cell,) for cell in cells), tuple(range(2, 2 + len(cells))))


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
    assert gold_scores(_table(*cells), "score") == (numbers, ("",) * len(cells))


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
        gold_scores(_table(*cells), "score")


@pytest.mark.parametrize("cell", ["1_000", "3_1", "٣", "３", "0x10", "1,00,000", "1,000,00", "1 00", "1,000 000", "½"])
def test_what_is_no_decimal_number_is_text(cell):
    assert gold_scores(_table("1", cell, "2.5"), "score")[1] == ("", TEXT, "")
    assert not columns.is_number(cell)


def test_bad_or_missing_cells_are_faults_beside_the_good_ones_and_decide_no_notation():
    numbers, faults = gold_scores(_table("nan", "1,000", "", "inf", "950", "-NaN"), "score")
    assert [number for number, fault in zip(numbers, faults, strict=True) if not fault] == [1000, 950]
    with pytest.raises(BadScores, match="'1,000' can be 1000"):
        gold_scores(_table("nan", "1,000", "inf", "2,000"), "score")
    cells = ("3.5", "", "nan", "inf", "high", " 4 ", "1e0")
    numbers, faults = gold_scores(_table(*cells), "score")
    assert faults == ("", MISSING, MISSING, MISSING, TEXT, "", "")
    assert [number for number, fault in zip(numbers, faults, strict=True) if not fault] == [3.5, 4.0, 1.0]
    assert math.isnan(numbers[1])
    assert math.isnan(numbers[4])
    numbers, faults = gold_scores(_table("3,5", " 4,25 ", "-0,5", ",5", "4"), "score")
    assert numbers == (3.5, 4.25, -0.5, 0.5, 4.0)
    assert not any(faults)


def test_a_map_takes_a_column_of_two_notations_for_names():
    rows = tuple((f"sentence {place}", f"{place},125") for place in range(1, 12))
    table = Table("a.csv", ("text", "count"), rows, tuple(range(2, 13)))
    assert map_sentences.of_table(table).columns[0].cells == tuple(cell for _, cell in rows)


def test_a_column_without_a_usable_score_is_refused_with_what_it_holds():
    with pytest.raises(BadScores, match="every score in 'score' is missing, NaN or infinite"):
        gold_scores(_table("nan", "", "NaN", "inf"), "score")
    with pytest.raises(BadScores, match=r"a\.csv: no score in 'score' is a number.*'٣', '2 points', '1,0,0'\."):
        gold_scores(_table("٣", "2 points", "1,0,0", "a,2"), "score")
    labels = ("neutral", "entailment", "neutral", "contradiction", "entailment", "neutral")
    message = r"'label' holds classes \(contradiction, entailment, neutral\), not scores.*make triplets"
    with pytest.raises(BadScores, match=message):
        gold_scores(_table(*labels, column="label"), "label")


@pytest.mark.parametrize("codes", [("0", "1", "2"), ("0", "2", "-1", "1", "2")])
def test_codes_of_nli_classes_are_no_scores(codes):
    with pytest.raises(BadScores, match="'label' holds only 0, 1 and 2, like NLI classes"):
        gold_scores(_table(*codes, column="label"), "label")


@pytest.mark.parametrize(
    ("codes", "column"), [(("0", "1", "2"), "score"), (("0", "1"), "label"), (("0", "1", "2", "3"), "label")]
)
def test_other_whole_numbers_are_scores(codes, column):
    numbers, faults = gold_scores(_table(*codes, column=column), column)
    assert numbers == tuple(map(float, codes))
    assert not any(faults)


def test_scores_that_are_all_the_same_are_refused_with_their_value():
    with pytest.raises(BadScores, match=r"every score in 'score' is 2\.5, so a correlation is undefined"):
        check_spread(_table(), "score", (2.5, 2.5, 2.5))
    check_spread(_table(), "score", (2.5, 2.5, 2.6))


@pytest.mark.parametrize(
    ("gold", "apart"),
    [
        ((-1e308, 1e308, 0.0), "far apart"), ((0.0, 1e200), "far apart"), ((0.0, 1e-320), "close together"),
        ((0.0, -1e-200), "close together"), ((1e9, 1e9 + 0.5), "close together"),
        ((-3.0, -3.0 + 4.5e-16), "close together"),
    ],
)  # fmt: skip
def test_scores_that_cannot_be_calculated_with_are_refused_with_their_values(gold, apart):
    low, high = sorted(gold)[0], sorted(gold)[-1]
    assert low < high
    values = rf"from {re.escape(repr(low))} to {re.escape(repr(high))}, too {apart}"
    with pytest.raises(BadScores, match=rf"a\.csv: the scores in 'score' range {values}.*for example to 0 to 5"):
        check_spread(_table(), "score", gold)


@pytest.mark.parametrize("gold", [(0.0, 1e-99, 5e-100), (-1e99, 1e99, 0.0), (1e6, 1e6 + 0.01, 1e6 + 0.02)])
def test_scores_on_any_scale_that_squares_survive_are_taken(gold):
    check_spread(_table(), "score", gold)
    mean = math.fsum(gold) / len(gold)
    assert 0 < sum((grade - mean) ** 2 for grade in gold) < math.inf
