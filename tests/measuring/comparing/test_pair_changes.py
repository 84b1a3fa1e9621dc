"""Test improved, worse and still wrong pairs against a slow ranking, and the traits that are computed from words."""

import numpy as np
import pytest
from scipy.stats import rankdata

from explorer.measuring.comparing.pair_changes import (
    BROKEN,
    FAR,
    FIXED,
    KINDS,
    STILL_WRONG,
    errors,
    rank_errors,
    traits,
)

GOLD = np.array([0.0, 1, 2, 3, 4])
SAME = np.array([0.1, 0.2, 0.3, 0.4, 0.5])


def test_a_rank_error_is_how_far_a_pair_is_from_where_people_put_it():
    assert errors(GOLD, SAME).tolist() == [0] * 5
    assert errors(GOLD, -SAME).tolist() == [1, 0.5, 0, 0.5, 1]
    random = np.random.default_rng(0)
    gold, cosines = np.round(random.uniform(0, 5, 40)), np.round(random.normal(size=40), 1)
    slow = [abs(a - b) / 39 for a, b in zip(rankdata(cosines), rankdata(gold), strict=True)]
    assert errors(gold, cosines) == pytest.approx(slow)
    assert errors(np.array([1.0]), np.array([0.5])).tolist() == [0]


def test_without_cosines_no_pair_is_of_any_kind():
    missing = np.full(5, np.nan)
    assert np.isnan(errors(GOLD, missing)).all()
    for found in (rank_errors(GOLD, -SAME, missing), rank_errors(GOLD, missing, -SAME)):
        assert [len(found.places(kind)) for kind in KINDS] == [0, 0, 0]


def test_what_is_mended_is_broken_the_other_way_round():
    swapped = SAME[[4, 1, 2, 3, 0]]
    there, back = rank_errors(GOLD, swapped, SAME), rank_errors(GOLD, SAME, swapped)
    assert there.places(FIXED).tolist() == back.places(BROKEN).tolist() == [0, 4]
    assert there.places(BROKEN).tolist() == back.places(FIXED).tolist() == []
    assert rank_errors(GOLD, swapped, swapped).places(STILL_WRONG).tolist() == [0, 4]
    assert there.change.tolist() == [1, 0, 0, 0, 1]


def test_kinds_do_not_overlap_and_the_largest_comes_first():
    random = np.random.default_rng(0)
    gold = random.uniform(0, 5, 300)
    found = rank_errors(gold, gold + random.normal(size=300) * 2, gold + random.normal(size=300) * 2)
    places = {kind: found.places(kind) for kind in KINDS}
    assert all(len(one) for one in places.values())
    assert len(set(np.concatenate(list(places.values())))) == sum(map(len, places.values()))
    assert sum(map(len, places.values())) == ((found.one > FAR) | (found.other > FAR)).sum()
    assert np.all(np.diff(found.change[places[FIXED]]) <= 0)
    assert np.all(np.diff(found.change[places[BROKEN]]) >= 0)
    assert np.all(np.diff(np.minimum(found.one, found.other)[places[STILL_WRONG]]) <= 0)


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
