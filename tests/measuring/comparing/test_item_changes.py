"""Test which items and judged queries improved or got worse, in which order, with their ranks and groups."""

import numpy as np
import pytest

from explorer.data.retrieval_sets import of_pairs
from explorer.measuring.comparing.pair_changes import ItemChanges, QueryChanges

NONE = np.nan
BEFORE, AFTER = np.array([1.0, 0.5, 0.0, 0.0, 0.5, 1.0]), np.array([1.0, 1.0, 0.0, 0.0, 0.2, 0.1])
RANKS = np.array([1, 2, 60, NONE, 2, 1]), np.array([1, 1, 20, NONE, 5, 10])
ITEMS = tuple("abcdef")


def changes(ranks=RANKS):
    return ItemChanges({"query": ITEMS}, BEFORE, AFTER, ranks)


def test_the_most_changed_come_first_and_a_rank_counts_where_the_score_is_the_same():
    assert [ITEMS[item] for item in changes().changed(improved=True)] == ["b", "c"]
    assert [ITEMS[item] for item in changes().changed(improved=False)] == ["f", "e"]
    assert changes().counts == (2, 2, 2)


def test_without_ranks_the_scores_alone_count():
    assert changes(None).counts == (1, 2, 3)
    assert changes(None).ranks_text(1) == ""


def test_ranks_are_told_before_and_after_and_what_is_not_found_says_so():
    assert changes().ranks_text(1) == "rank 2 → 1"
    assert changes().ranks_text(3) == "rank > 100 → > 100"


def test_rows_go_from_the_most_improved_to_the_most_worsened():
    rows = changes().rows("MRR@10")
    assert [row["query"] for row in rows] == ["b", "c", "a", "d", "e", "f"]
    assert rows[0] == {"query": "b", "rank before": 2, "rank after": 1, "MRR@10 before": 50.0, "MRR@10 after": 100.0}
    assert rows[3]["rank after"] is None


QUERIES = ("where is my dog", "the very old man with the long grey beard and coat", "cats", "who sings here at night?")
DOCUMENTS = ("My dog is where it was.", "A pensioner in winter clothes.", "Cats sleep.", "Owls sing at night.")


@pytest.fixture
def found():
    task = of_pairs("made up", QUERIES, DOCUMENTS)
    return QueryChanges(task, np.array([0.5, 1.0, 0.25, 0.0]), np.array([1.0, 0.5, 0.25, 0.25]))


def test_queries_that_changed_are_in_the_order_of_their_change(found):
    assert (found.counts, found.changed(improved=True)) == ((2, 1, 1), [0, 3])
    assert found.changed(improved=False) == [1]
    assert float(found.difference.difference) == pytest.approx(100 * np.mean([0.5, -0.5, 0, 0.25]))


def test_words_are_counted_and_shared_words_are_those_of_the_nearest_relevant_document(found):
    assert found.words.tolist() == [4, 11, 1, 5]
    assert found.shared.tolist() == pytest.approx([1, 0, 1, 2 / 5])
    two = of_pairs("two", ("a b", "a b"), ("x", "a y"))
    assert QueryChanges(two, np.zeros(1), np.ones(1)).shared.tolist() == [0.5]


def test_every_query_is_in_one_group_of_either_kind(found):
    groups = {row["queries"]: row for row in found.groups()}
    assert {name: row["number"] for name, row in groups.items()} == {
        "1 to 4 words": 2,
        "5 to 8 words": 1,
        "9 words or more": 1,
        "none of its words in a relevant document": 1,
        "up to half in a relevant document": 1,
        "more than half in a relevant document": 2,
    }
    assert groups["1 to 4 words"]["B - A"] == pytest.approx(25)
    assert (groups["9 words or more"]["A"], groups["9 words or more"]["B"]) == (100, 50)


def test_the_table_has_a_row_for_each_query_and_is_plain(found):
    rows = found.query_rows()
    assert [row["query"] for row in rows] == list(QUERIES)
    assert rows[1] == {
        "query": QUERIES[1],
        "words": 11,
        "words in a relevant document": 0.0,
        "A": 100.0,
        "B": 50.0,
        "B - A": -50.0,
    }
