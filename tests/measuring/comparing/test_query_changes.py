"""Test which judged queries improved or got worse, and the groups by length and shared words."""

import numpy as np
import pytest

from explorer.data.retrieval.retrieval_set import of_pairs
from explorer.measuring.comparing.query_changes import QueryChanges

QUERIES = ("where is my dog", "the very old man with the long grey beard and coat", "cats", "who sings here at night?")
DOCUMENTS = ("My dog is where it was.", "A pensioner in winter clothes.", "Cats sleep.", "Owls sing at night.")


@pytest.fixture
def found():
    task = of_pairs("made up", QUERIES, DOCUMENTS)
    return QueryChanges(task, np.array([0.5, 1.0, 0.25, 0.0]), np.array([1.0, 0.5, 0.25, 0.25]))


def test_queries_that_changed_are_in_the_order_of_their_change(found):
    assert found.counts == (2, 1, 1)
    assert found.changed(improved=True) == [0, 3]
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
    rows = found.rows()
    assert [row["query"] for row in rows] == list(QUERIES)
    assert rows[1] == {
        "query": QUERIES[1],
        "words": 11,
        "words in a relevant document": 0.0,
        "A": 100.0,
        "B": 50.0,
        "B - A": -50.0,
    }
