"""Test that scored pairs that share a sentence with dev or test pairs are not trained on."""

import pytest

from explorer.data.corpora import without_evaluated
from explorer.data.text_sets import PAIRS, SCORED_PAIRS, SENTENCES, Corpus, GradedPairs
from explorer.errors import BadScores, TooFewRows

ROWS = Corpus(
    "mine", SCORED_PAIRS, (("a", "c", "e", "g", "i"), ("b", "d", "f", "h", "a"), (0.0, 0.25, 0.25, 0.75, 1.0))
)


def pairs(*rows: tuple[str, str]) -> tuple[str, ...]:
    """The sentences of some scored pairs."""
    first, second = zip(*rows, strict=True)
    return GradedPairs("evaluated", first, second, tuple(map(float, range(len(rows)))), ("",) * len(rows)).sentences


def test_a_row_goes_that_shares_either_sentence_with_either_set():
    left, told = without_evaluated(ROWS, [pairs(("x", "a"), ("y", "z")), pairs(("f", "x"))], 2)
    assert left.columns == (("c", "g"), ("d", "h"), (0.25, 0.75))
    assert (left.name, left.kind) == ("mine", SCORED_PAIRS)
    assert left.digest != ROWS.digest
    assert told.startswith("held out: 3 of 5 rows of mine share a sentence with the dev or test pairs")
    assert "2 rows are left" in told


def test_rows_that_share_nothing_stay_as_they_are():
    assert without_evaluated(ROWS, [pairs(("x", "y"), ("A", "b "))], 5) == (ROWS, "")
    assert without_evaluated(ROWS, [], 6) == (ROWS, ""), (
        "a batch that the text itself does not fill is refused with the text"
    )


def test_other_text_stays_whole():
    for eats, columns in ((SENTENCES, (("a", "b"),)), (PAIRS, (("a",), ("b",)))):
        rows = Corpus("other", eats, columns)
        assert without_evaluated(rows, [pairs(("a", "b"))], 64) == (rows, "")


@pytest.mark.parametrize(
    ("evaluated", "batch", "message"),
    [
        (pairs(("a", "c"), ("e", "g")), 2, "All 5 rows of mine share a sentence .* Choose other dev or test pairs"),
        (pairs(("a", "c")), 3, "3 of 5 rows of mine share.*; 2 are left, but a batch takes 3. Set batch_size to 2 or"),
        (pairs(("a", "c"), ("g", "x")), 2, "1 are left, but a batch takes 2. Choose other dev or test pairs"),
    ],
)
def test_too_little_that_is_left_is_an_error_with_a_way_out(evaluated, batch, message):
    with pytest.raises(TooFewRows, match=message):
        without_evaluated(ROWS, [evaluated], batch)


def test_scores_that_are_all_the_same_in_what_is_left_are_an_error_with_a_way_out():
    with pytest.raises(
        BadScores, match=r"Every score in mine is the same once 3 of 5 rows .* Choose text whose scores"
    ):
        without_evaluated(ROWS, [pairs(("a", "g"))], 2)
