"""Test the traits of a pair that are computed from its words."""

import pytest

from explorer.measuring.comparing.pair_traits import traits


@pytest.mark.parametrize(
    ("first", "second", "negated", "negation"),
    [
        ("A dog runs.", "A dog does not run.", True, True),
        ("Nobody sings.", "No one sings, never.", False, True),
        ("He can't swim.", "He swims.", True, True),
        ("He can’t swim.", "He swims.", True, True),
        ("A knot in a rope.", "Another notice.", False, False),
        ("", "", False, False),
    ],
)
def test_negation_is_found_in_words_and_not_in_parts_of_them(first, second, negated, negation):
    found = traits(first, second)
    assert (found.negated, found.negation) == (negated, negation)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("Two dogs", "Two cats", False),
        ("Two dogs", "Three dogs", True),
        ("at 5 pm", "at 6 pm", True),
        ("a", "b", False),
    ],
)
def test_numbers_that_only_one_has_are_found(first, second, expected):
    assert traits(first, second).numbers == expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("Troops leave Mali.", "Troops leave Chad.", True),
        ("Troops leave Mali.", "They leave mali, today.", False),
        ("A dog runs.", "The cat sleeps. He said: Go.", False),
        ("It was John Smith", "It was Smith, John", False),
        ("Police Arrest Seven Suspects After Market Bombing", "seven were arrested by police", False),
        ("שלום עולם", "", False),
    ],
)
def test_names_are_capitals_within_a_sentence_that_the_other_has_not(first, second, expected):
    assert traits(first, second).names == traits(second, first).names == expected


def test_overlap_is_the_share_of_all_words_that_both_have():
    assert traits("A man plays.", "a Man sings!").overlap == pytest.approx(2 / 4)
    assert traits("same words", "words, same").overlap == 1
    assert traits("one", "two").overlap == 0
    assert traits("", "").overlap == 0
    assert traits("one two three", "one").words == 3
    assert traits("שלום עולם", "שלום").overlap == pytest.approx(1 / 2)
