"""Test which items improved and which got worse, in which order, with their ranks."""

import numpy as np

from explorer.measuring.comparing.item_changes import ItemChanges

NONE = np.nan
BEFORE, AFTER = np.array([1.0, 0.5, 0.0, 0.0, 0.5, 1.0]), np.array([1.0, 1.0, 0.0, 0.0, 0.2, 0.1])
RANKS = np.array([1, 2, 60, NONE, 2, 1]), np.array([1, 1, 20, NONE, 5, 10])
QUERIES = tuple("abcdef")


def changes(ranks=RANKS):
    return ItemChanges({"query": QUERIES}, BEFORE, AFTER, ranks)


def test_the_most_changed_come_first_and_a_rank_counts_where_the_score_is_the_same():
    assert [QUERIES[item] for item in changes().changed(improved=True)] == ["b", "c"]
    assert [QUERIES[item] for item in changes().changed(improved=False)] == ["f", "e"]
    assert changes().counts == (2, 2, 2)


def test_without_ranks_the_scores_alone_count():
    assert changes(None).counts == (1, 2, 3)
    assert changes(None).told_ranks(1) == ""


def test_ranks_are_told_before_and_after_and_what_is_not_found_says_so():
    assert changes().told_ranks(1) == "rank 2 → 1"
    assert changes().told_ranks(3) == "rank > 100 → > 100"


def test_rows_go_from_the_most_improved_to_the_most_worsened():
    rows = changes().rows("MRR@10")
    assert [row["query"] for row in rows] == ["b", "c", "a", "d", "e", "f"]
    assert rows[0] == {"query": "b", "rank before": 2, "rank after": 1, "MRR@10 before": 50.0, "MRR@10 after": 100.0}
    assert rows[3]["rank after"] is None
