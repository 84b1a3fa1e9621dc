"""Test how many rows a dev set and a test set share, against loops over texts, and which sets are refused."""

from dataclasses import replace

import pytest

from explorer.data import sample, shared_rows
from explorer.data.labelled.labelled_sets import LabelledSet
from explorer.data.retrieval_sets import of_pairs
from explorer.data.shared_rows import UsedRows
from explorer.data.text_sets import (
    LABELLED_TEXTS,
    PAIRS,
    SCORED_PAIRS,
    SENTENCES,
    TRIPLETS,
    Corpus,
    GradedPairs,
    Labelled,
    Triplets,
)
from explorer.errors import BadChoice


def pairs(*rows, name="pairs"):
    first, second = zip(*rows, strict=True)
    return GradedPairs(name, first, second, tuple(map(float, range(len(rows)))), ("",) * len(rows))


def labelled(*texts):
    rows = Labelled("rows", texts, ("a",) * len(texts))
    return LabelledSet("rows", rows, test=rows)


def triplets(*rows):
    return Triplets("triplets", *zip(*rows, strict=True))


@pytest.mark.parametrize(
    ("dev", "test", "shared", "of"),
    [
        (pairs(("a", "b"), ("c", "d")), pairs(("B", "A"), ("a", "c"), ("c", "x")), 1, 3),
        (pairs(("a", "b")), pairs(("a", "c")), 0, 1),
        (triplets(("a", "b", "c")), triplets(("a", "c", "b"), ("a", "b", "c")), 1, 2),
        (of_pairs("one", ["a", "b"], ["p", "q"]), of_pairs("other", ["b", "c"], ["x", "y"]), 1, 2),
        (triplets(("a", "b", "c")), of_pairs("held out", ["a", "d"], ["b", "e"]), 1, 2),
        (labelled("a", "b"), labelled("b", "c", "d"), 1, 3),
        (pairs(("a", "b")), of_pairs("queries", ["a"], ["b"]), 0, 1),
    ],
    ids=["pairs", "sentences alone", "triplets", "queries", "triplet and query", "texts", "two kinds"],
)
def test_rows_are_counted_by_what_they_are(dev, test, shared, of):
    found = shared_rows.shared(dev, test)
    assert (found.rows, found.of, bool(found)) == (shared, of, shared > 0)
    assert shared_rows.check(dev, test) == found


def test_the_sample_shares_its_dev_half_and_halves_share_nothing():
    known = {frozenset(pair) for pair in zip(sample.dev().first, sample.dev().second, strict=True)}
    whole = sample.pairs()
    by_hand = sum(frozenset(pair) in known for pair in zip(whole.first, whole.second, strict=True))
    assert shared_rows.shared(sample.dev(), whole).rows == by_hand == 120
    assert f"{by_hand} of the {len(whole)}" in shared_rows.shared(sample.dev(), whole).words
    assert not shared_rows.shared(sample.dev(), sample.test())


@pytest.mark.parametrize("given", [pairs(("a", "b"), ("c", "d")), triplets(("a", "b", "c")), labelled("a", "b")])
def test_a_test_set_that_the_dev_set_holds_is_refused(given):
    with pytest.raises(BadChoice, match="Name another dev set, or another test set"):
        shared_rows.check(given, given)
    with pytest.raises(BadChoice, match="has all 120 pairs of the test set"):
        shared_rows.check(sample.pairs(), sample.test())


@pytest.mark.parametrize(
    ("kind", "columns", "test", "trained", "seen"),
    [
        (SCORED_PAIRS, (("A", "c"), ("b", "d"), (0.1, 0.2)), pairs(("b", "a"), ("a", "c"), ("x", "y")), {0}, {1}),
        (SCORED_PAIRS, (("a",), ("b",), (0.1,)), pairs(("a", "a")), set(), {0}),
        (TRIPLETS, (("a",), ("b",), ("c",)), pairs(("a", "b"), ("c", "a"), ("b", "c")), {0, 1}, {2}),
        (TRIPLETS, (("a",), ("b",), ("c",)), triplets(("a", "b", "c"), ("a", "c", "x")), {0}, set()),
        (SCORED_PAIRS, (("a", "a"), ("b", "c"), (1.0, 0.0)), triplets(("a", "b", "c")), {0}, set()),
        (PAIRS, (("a", "b"), ("p", "q")), of_pairs("queries", ["a", "b", "x"], ["other", "Q", "p"]), {1}, {0}),
        (LABELLED_TEXTS, (("a", "b"), ("0", "1")), labelled("b", "c"), {0}, set()),
        (PAIRS, (("a",), ("b",)), labelled("b", "c"), set(), {0}),
        (LABELLED_TEXTS, (("a", "b"), ("0", "1")), of_pairs("queries", ["a"], ["b"]), set(), {0}),
        (SENTENCES, (("a", "b", "c"),), pairs(("a", "b"), ("c", "x")), set(), {0}),
        (PAIRS, (("a", "b"), ("c", "d")), pairs(("a", "b"), ("a", "x")), set(), {0}),
    ],
)
def test_rows_that_were_trained_on_are_judged_as_a_row_of_the_text_and_others_are_seen(
    kind, columns, test, trained, seen
):
    assert shared_rows.trained_on([Corpus("text", kind, columns)], test) == (trained, seen)


def test_rows_that_chose_and_rows_that_were_trained_on_leave_none_together():
    test = pairs(("a", "b"), ("c", "d"), ("e", "f"))
    none = UsedRows.of_set(test)
    chosen, trained, seen = (frozenset(places) for places in ({0}, {1, 2}, {0, 1}))
    assert (replace(none, chosen=chosen) | replace(none, trained=trained)).none_left
    assert not replace(none, trained=trained).none_left
    both = replace(none, trained=trained) | replace(none, seen=seen)
    assert (both.trained, both.seen, both.none_left) == (trained, {0}, False)
    assert not replace(none, seen=frozenset(range(3))).none_left, "without their scores"
    assert both.words == (
        "2 of the 3 test pairs are in the training text: this score is optimistic. "
        "1 of the 3 test pairs is in the training text, without their scores: this score is optimistic."
    )
    assert both.as_json == {"in_training_text": 2, "in_training_text_without_scores": 1}
    assert not none.words
    assert "run 'mine' cannot be read as it was" in replace(none, unknown=("mine",)).words
