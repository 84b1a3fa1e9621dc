"""Test that scores are finite numbers or named faults, and that unusable columns are refused."""

import math
import re

import pytest

from explorer.data.tables.grades import MISSING, TEXT, check_spread, grades
from explorer.data.tables.table import Table
from explorer.errors import BadScores


def _table(*cells: str, column: str = "score") -> Table:
    return Table("a.csv", (column,), tuple((cell,) for cell in cells), tuple(range(2, 2 + len(cells))))


def test_bad_cells_are_faults_beside_the_good_ones() -> None:
    cells = ("3.5", "", "nan", "inf", "high", " 4 ", "1e0")
    numbers, faults = grades(_table(*cells), "score")
    assert faults == ("", MISSING, MISSING, MISSING, TEXT, "", "")
    assert [number for number, fault in zip(numbers, faults, strict=True) if not fault] == [3.5, 4.0, 1.0]
    assert math.isnan(numbers[1])
    assert math.isnan(numbers[4])


def test_a_column_without_a_single_score_is_refused() -> None:
    with pytest.raises(BadScores, match="every score in 'score' is missing, NaN or infinite"):
        grades(_table("nan", "", "NaN", "inf"), "score")


def test_scores_that_are_text_are_shown() -> None:
    with pytest.raises(BadScores, match=r"a\.csv: no score in 'score' is a number.*'٣', '2 points', '1,0,0'\."):
        grades(_table("٣", "2 points", "1,0,0", "a,2"), "score")


def test_scores_may_have_a_decimal_comma() -> None:
    numbers, faults = grades(_table("3,5", " 4,25 ", "-0,5", ",5", "4"), "score")
    assert numbers == (3.5, 4.25, -0.5, 0.5, 4.0)
    assert not any(faults)


def test_classes_are_told_from_scores_and_sent_to_triplets() -> None:
    labels = ("neutral", "entailment", "neutral", "contradiction", "entailment", "neutral")
    message = r"'label' holds classes \(contradiction, entailment, neutral\), not scores.*make triplets"
    with pytest.raises(BadScores, match=message):
        grades(_table(*labels, column="label"), "label")


@pytest.mark.parametrize("codes", [("0", "1", "2"), ("0", "2", "-1", "1", "2")])
def test_codes_of_nli_classes_are_no_scores(codes: tuple[str, ...]) -> None:
    with pytest.raises(BadScores, match="'label' holds only 0, 1 and 2, like NLI classes"):
        grades(_table(*codes, column="label"), "label")


@pytest.mark.parametrize(
    ("codes", "column"), [(("0", "1", "2"), "score"), (("0", "1"), "label"), (("0", "1", "2", "3"), "label")]
)
def test_other_whole_numbers_are_scores(codes: tuple[str, ...], column: str) -> None:
    numbers, faults = grades(_table(*codes, column=column), column)
    assert numbers == tuple(map(float, codes))
    assert not any(faults)


def test_scores_that_are_all_the_same_are_refused_with_their_value() -> None:
    with pytest.raises(BadScores, match=r"every score in 'score' is 2\.5, so a correlation is undefined"):
        check_spread(_table(), "score", (2.5, 2.5, 2.5))
    check_spread(_table(), "score", (2.5, 2.5, 2.6))


@pytest.mark.parametrize(
    ("gold", "apart"),
    [
        ((-1e308, 1e308, 0.0), "far apart"),
        ((0.0, 1e200), "far apart"),
        ((0.0, 1e-320), "close together"),
        ((0.0, -1e-200), "close together"),
        ((1e9, 1e9 + 0.5), "close together"),
        ((-3.0, -3.0 + 4.5e-16), "close together"),
    ],
)
def test_scores_that_cannot_be_calculated_with_are_refused_with_their_values(
    gold: tuple[float, ...], apart: str
) -> None:
    low, high = sorted(gold)[0], sorted(gold)[-1]
    assert low < high
    values = rf"from {re.escape(repr(low))} to {re.escape(repr(high))}, too {apart}"
    with pytest.raises(BadScores, match=rf"a\.csv: the scores in 'score' range {values}.*for example to 0 to 5"):
        check_spread(_table(), "score", gold)


@pytest.mark.parametrize("gold", [(0.0, 1e-99, 5e-100), (-1e99, 1e99, 0.0), (1e6, 1e6 + 0.01, 1e6 + 0.02)])
def test_scores_on_any_scale_that_squares_survive_are_taken(gold: tuple[float, ...]) -> None:
    check_spread(_table(), "score", gold)
    mean = math.fsum(gold) / len(gold)
    assert 0 < sum((grade - mean) ** 2 for grade in gold) < math.inf
