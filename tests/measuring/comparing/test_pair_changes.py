"""Test which pairs, items and queries improved or got worse, against loops."""

import numpy as np
import pytest
from scipy.stats import rankdata

from explorer.data.retrieval_sets import of_pairs
from explorer.measuring.comparing import item_changes
from explorer.measuring.comparing.pair_changes import (
    BROKEN,
    FAR,
    FIXED,
    KINDS,
    STILL_WRONG,
    ItemChanges,
    QueryChanges,
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


def test_what_is_mended_is_broken_the_other_way_round_and_nothing_without_cosines():
    swapped = SAME[[4, 1, 2, 3, 0]]
    there, back = rank_errors(GOLD, swapped, SAME), rank_errors(GOLD, SAME, swapped)
    assert there.places(FIXED).tolist() == back.places(BROKEN).tolist() == [0, 4]
    assert there.places(BROKEN).tolist() == back.places(FIXED).tolist() == []
    assert rank_errors(GOLD, swapped, swapped).places(STILL_WRONG).tolist() == [0, 4]
    assert there.change.tolist() == [1, 0, 0, 0, 1]
    missing = np.full(5, np.nan)
    assert np.isnan(errors(GOLD, missing)).all()
    for found in (rank_errors(GOLD, -SAME, missing), rank_errors(GOLD, missing, -SAME)):
        assert [len(found.places(kind)) for kind in KINDS] == [0, 0, 0]


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


# a negation in words and not in parts of them, in both or in one; a number or a capital within a sentence that one has
NEGATED, IN_ONE, NONE_OF_IT = ({"negated": a, "negation": b} for a, b in ((True, True), (False, True), (False,) * 2))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("A dog runs.", "A dog does not run.", NEGATED), ("Nobody sings.", "No one sings, never.", IN_ONE),
        ("He can't swim.", "He swims.", NEGATED), ("He can’t swim.", "He swims.", NEGATED),
        ("A knot in a rope.", "Another notice.", NONE_OF_IT), ("", "", NONE_OF_IT),
        ("Two dogs", "Two cats", {"numbers": False}), ("Two dogs", "Three dogs", {"numbers": True}),
        ("at 5 pm", "at 6 pm", {"numbers": True}), ("a", "b", {"numbers": False}),
        ("Troops leave Mali.", "Troops leave Chad.", {"names": True}),
        ("Troops leave Mali.", "They leave mali, today.", {"names": False}),
        ("A dog runs.", "The cat sleeps. He said: Go.", {"names": False}),
        ("It was John Smith", "It was Smith, John", {"names": False}),
        ("Police Arrest Seven Suspects After Market Bombing", "seven were arrested by police", {"names": False}),
        ("שלום עולם", "", {"names": False}),
    ],
)  # fmt: skip
def test_negations_numbers_and_names_are_found_whichever_sentence_comes_first(first, second, expected):
    for found in (traits(first, second), traits(second, first)):
        assert {name: getattr(found, name) for name in expected} == expected


def test_overlap_is_the_share_of_all_words_that_both_have():
    assert traits("A man plays.", "a Man sings!").overlap == pytest.approx(2 / 4)
    assert traits("same words", "words, same").overlap == 1
    assert traits("one", "two").overlap == 0
    assert traits("", "").overlap == 0
    assert traits("one two three", "one").words == 3
    assert traits("שלום עולם", "שלום").overlap == pytest.approx(1 / 2)


NONE = np.nan
BEFORE, AFTER = np.array([1.0, 0.5, 0.0, 0.0, 0.5, 1.0]), np.array([1.0, 1.0, 0.0, 0.0, 0.2, 0.1])
RANKS = np.array([1, 2, 60, NONE, 2, 1]), np.array([1, 1, 20, NONE, 5, 10])
ITEMS = tuple("abcdef")


def changes(ranks=RANKS):
    return ItemChanges({"query": ITEMS}, BEFORE, AFTER, ranks)


def test_the_most_changed_come_first_and_rows_go_to_the_most_worsened():
    assert [ITEMS[item] for item in changes().changed(improved=True)] == ["b", "c"]
    assert [ITEMS[item] for item in changes().changed(improved=False)] == ["f", "e"]
    assert changes().counts == (2, 2, 2)
    assert changes(None).counts == (1, 2, 3)
    assert changes(None).ranks_text(1) == ""
    assert changes().ranks_text(1) == "rank 2 → 1"
    assert changes().ranks_text(3) == "rank > 100 → > 100"
    rows = changes().rows("MRR@10")
    assert [row["query"] for row in rows] == ["b", "c", "a", "d", "e", "f"]
    assert rows[0] == {"query": "b", "rank before": 2, "rank after": 1, "MRR@10 before": 50.0, "MRR@10 after": 100.0}
    assert rows[3]["rank after"] is None


def test_what_took_the_first_rank_is_named_where_the_right_passage_has_not():
    firsts = np.array([0, 3, 3, 2, 3, 5.0]), np.array([0, 1, 4, NONE, 2, 1.0])
    found = ItemChanges({"query": ITEMS}, BEFORE, AFTER, RANKS, None, firsts, tuple("uvwxyz"))
    assert [found.in_place_of(item, after=False) for item in range(6)] == ["", "x", "x", "w", "x", ""]
    assert [found.in_place_of(item, after=True) for item in range(6)] == ["", "", "y", "", "w", "v"]
    row = next(row for row in found.rows("MRR@10") if row["query"] == "f")
    assert (row["rank 1 before"], row["rank 1 after"]) == ("", "v")
    assert changes().in_place_of(1, after=False) == "", "it is not known"


QUERIES = ("where is my dog", "the very old man with the long grey beard and coat", "cats", "who sings here at night?")
DOCUMENTS = ("My dog is where it was.", "A pensioner in winter clothes.", "Cats sleep.", "Owls sing at night.")


@pytest.fixture
def found():
    task = of_pairs("made up", QUERIES, DOCUMENTS)
    return QueryChanges(task, np.array([0.5, 1.0, 0.25, 0.0]), np.array([1.0, 0.5, 0.25, 0.25]))


def test_queries_are_in_the_order_of_their_change_with_the_words_they_share(found):
    assert (found.counts, found.changed(improved=True)) == ((2, 1, 1), [0, 3])
    assert found.changed(improved=False) == [1]
    assert float(found.difference.difference) == pytest.approx(100 * np.mean([0.5, -0.5, 0, 0.25]))
    assert found.words.tolist() == [4, 11, 1, 5]
    assert found.shared.tolist() == pytest.approx([1, 0, 1, 2 / 5])
    assert QueryChanges(of_pairs("two", ("a b", "a b"), ("x", "a y")), np.zeros(1), np.ones(1)).shared.tolist() == [0.5]
    rows = found.query_rows()
    assert [row["query"] for row in rows] == list(QUERIES)
    assert rows[1] == {
        "query": QUERIES[1], "words": 11, "words in a relevant document": 0.0, "A": 100.0, "B": 50.0, "B - A": -50.0,
    }  # fmt: skip


def test_every_query_is_in_one_group_of_either_kind(found):
    groups = {row["queries"]: row for row in found.groups()}
    assert {name: row["number"] for name, row in groups.items()} == {
        "1 to 4 words": 2, "5 to 8 words": 1, "9 words or more": 1, "none of its words in a relevant document": 1,
        "up to half in a relevant document": 1, "more than half in a relevant document": 2,
    }  # fmt: skip
    assert groups["1 to 4 words"]["B - A"] == pytest.approx(25)
    assert (groups["9 words or more"]["A"], groups["9 words or more"]["B"]) == (100, 50)


def test_a_pair_that_changed_little_is_not_shown_as_the_same():
    row = {"first": "a", "second": "b", "rank error A": 0.2496, "rank error B": 0.2504}
    assert "rank error 24.96 → 25.04 %" in item_changes.headline(row)
