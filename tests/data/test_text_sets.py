"""Test that a digest depends on the texts and nothing else."""

from dataclasses import replace

import pytest

from explorer.data.text_sets import (
    BACK_TRANSLATIONS,
    KINDS,
    LABELLED_TEXTS,
    SCORED_PAIRS,
    Corpus,
    GradedPairs,
    Labelled,
    Sentences,
    Triplets,
    digest_of,
)
from explorer.data.text_sets import PAIRS as PAIR_ROWS

PAIRS = GradedPairs("mine", ("a", "b"), ("b", "c"), (1.0, 2.0), ("", ""))


def test_borders_kinds_and_columns_of_texts_count_in_a_digest():
    assert digest_of(("ab", "c")) != digest_of(("a", "bc")) != digest_of(("abc",))
    pairs, back = (Corpus("x", kind, (("a",), ("b",))) for kind in (PAIR_ROWS, BACK_TRANSLATIONS))
    assert len({Sentences("x", ("a", "b")).digest, pairs.digest, back.digest, digest_of(("a", "b"))}) == 4
    three = Corpus("x", LABELLED_TEXTS, (("a", "b", "c"), ("0", "1", "1")))
    assert three.digest != Corpus("x", LABELLED_TEXTS, (("a", "b"), ("c", "'0'"), ("1", "1"))).digest
    rows = Corpus("x", LABELLED_TEXTS, (("a", "b"), ("0", "1")))
    uses = [{}, {"validation": rows}, {"test": rows}, {"validation": rows, "test": rows}]
    assert len({replace(rows, **use).digest for use in uses}) == len(uses)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Sentences("x", ("a",)), Sentences("y", ("a",))),
        (Corpus("x", PAIR_ROWS, (("a",), ("b",))), Corpus("y", PAIR_ROWS, (("a",), ("b",)))),
        (Triplets("x", ("a",), ("b",), ("c",)), Triplets("y", ("a",), ("b",), ("c",))),
        (PAIRS, GradedPairs("yours", PAIRS.first, PAIRS.second, PAIRS.gold, PAIRS.parts)),
    ],
)
def test_a_name_does_not_change_a_digest(one, other):
    assert one.digest == other.digest


@pytest.mark.parametrize(
    "other",
    [
        GradedPairs("mine", ("b", "a"), ("b", "c"), (1.0, 2.0), ("", "")),
        GradedPairs("mine", ("a", "b"), ("b", "c"), (1.0, 2.5), ("", "")),
        GradedPairs("mine", ("a", "b"), ("b", "c"), (1.0, 2.0), ("", "news")),
    ],
)
def test_order_grades_and_parts_change_a_digest(other):
    assert other.digest != PAIRS.digest


def test_texts_labels_and_second_sentences_change_the_digest_of_labelled_rows():
    given = Labelled("x", ("a", "b"), ("0", "1"))
    others = [
        Labelled("x", ("b", "a"), ("0", "1")),
        Labelled("x", ("a", "b"), ("1", "0")),
        Labelled("x", ("a",), ("0", "1"), ("b",)),
        Labelled("x", ("a", "b"), ("0", "1"), ("c", "d")),
    ]
    assert given.digest == Labelled("y", ("a", "b"), ("0", "1")).digest
    assert len({given.digest, *(other.digest for other in others)}) == 5
    assert (len(given), given.classes) == (2, ("0", "1"))


def test_every_kind_counts_its_rows_and_each_sentence_of_pairs_is_listed_once():
    assert PAIRS.sentences == ("a", "b", "c")
    assert len(PAIRS) == 2
    assert len(Sentences("x", ("a", "b", "c"))) == 3
    assert len(Corpus("x", PAIR_ROWS, (("a",), ("b",)))) == len(Triplets("x", ("a",), ("b",), ("c",))) == 1
    assert len(Corpus("x", BACK_TRANSLATIONS, (("a", "b"), ("c", "d")))) == 2


def test_every_kind_of_rows_has_its_own_name_roles_and_the_digest_of_older_runs():
    assert [kind.name for kind in KINDS] == [
        "sentences", "pairs", "triplets", "back-translations", "graded pairs", "labelled texts", "documents"
    ], "old recipes, digests and commands have these names"  # fmt: skip
    for kind in KINDS:
        assert (len(set(kind.roles)), kind.texts[0].relation) == (len(kind.roles), "")
        assert kind.gives(kind)
    assert Corpus("x", PAIR_ROWS, (("a",), ("b",))).digest == digest_of(("pairs", "a", "b"))
    scored = Corpus("x", SCORED_PAIRS, (("a",), ("b",), (0.5,)))
    assert scored.digest == digest_of(("graded pairs", "a", "b", "0.5"))
