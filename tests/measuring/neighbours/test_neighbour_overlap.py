"""Test kept, gained and lost neighbours of a corpus against sets in a loop."""

import math

import numpy as np
import pytest

from explorer.errors import BadChoice
from explorer.measuring.neighbours.neighbour_overlap import exchange, overlap, overlap_of
from explorer.measuring.neighbours.vector_index import Index
from explorer.progress import finish
from tests.measuring.neighbours.test_vector_index import slow, vectors


@pytest.mark.parametrize("k", [1, 4, 100])
def test_jaccard_is_that_of_two_sets_of_neighbours(k):
    one, other = vectors(width=12, seed=0), vectors(width=20, seed=1)  # widths need not be equal
    indexes = Index(one), Index(other)
    found = finish(overlap(*indexes, k))
    assert found.k == min(k, 59)
    for place in range(60):
        a, b = (set(slow(side, side[place], k, without=place)[0]) for side in (one, other))
        assert found.kept[place] == len(a & b)
        assert found.jaccard[place] == pytest.approx(len(a & b) / len(a | b))
        between = exchange(*(index.neighbours(place, k).places.tolist() for index in indexes))
        assert between.jaccard == found.jaccard[place], "one query or all: the same number"
    assert found.mean == pytest.approx(sum(found.jaccard) / 60)
    assert found.counts().tolist() == [list(found.kept).count(kept) for kept in range(found.k + 1)]


def test_the_same_model_on_both_sides_keeps_every_neighbour():
    corpus = vectors(80)
    corpus[40:60] = corpus[0]  # with ties, too
    found = finish(overlap(Index(corpus), Index(corpus.copy()), 10))
    assert found.jaccard.tolist() == [1.0] * 80
    assert found.mean == 1


def test_the_most_changed_come_first_and_equals_in_the_order_of_the_corpus():
    found = finish(overlap(Index(vectors(seed=0)), Index(vectors(seed=1)), 8))
    assert len(set(found.kept.tolist())) < 60, "some are equal"
    changed, same = (found.order(most_changed=way).tolist() for way in (True, False))
    assert changed == sorted(range(60), key=lambda place: (found.kept[place], place))
    assert same == sorted(range(60), key=lambda place: (-found.kept[place], place))


def test_a_sentence_alone_has_no_neighbours_to_keep():
    found = finish(overlap(Index(vectors(1)), Index(vectors(1)), 10))
    assert found.k == 0
    assert math.isnan(found.mean)
    assert np.isnan(found.jaccard).all()


def test_two_corpora_are_not_compared():
    with pytest.raises(BadChoice, match="same corpus"):
        finish(overlap(Index(vectors(5)), Index(vectors(6)), 3))


def test_of_neighbours_that_are_known_it_is_the_same():
    one, other = (
        np.array([slow(side, side[at], 5, at)[0] for at in range(60)]) for side in (vectors(), vectors(seed=1))
    )
    found = overlap_of(one, other)
    assert found.k == 5
    assert found.kept.tolist() == [len(set(a) & set(b)) for a, b in zip(one.tolist(), other.tolist(), strict=True)]
    assert overlap_of(one, one[:, ::-1]).jaccard.tolist() == [1.0] * 60, "their order is no matter"


def test_an_exchange_names_what_is_kept_lost_and_gained_nearest_first():
    between = exchange([7, 2, 9, 4], [4, 5, 2, 8])
    assert (between.kept, between.lost, between.gained) == ((2, 4), (7, 9), (5, 8))
    assert between.jaccard == 2 / 6
    assert math.isnan(exchange([], []).jaccard)
