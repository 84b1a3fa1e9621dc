import numpy as np
import pytest

from explorer.measuring import neighbourhoods as measured
from explorer.measuring.neighbourhoods import exchange, moved, neighbourhoods, overlap, unit
from explorer.progress import finish


def drawn(count=40, width=6, seed=0):
    return np.random.default_rng(seed).normal(size=(count, width)).astype(np.float32)


def nearest_by_hand(vectors, sentence, most):
    def cosine(other):
        return float(
            vectors[sentence] @ vectors[other] / np.linalg.norm(vectors[sentence]) / np.linalg.norm(vectors[other])
        )

    others = sorted((other for other in range(len(vectors)) if other != sentence), key=lambda other: -cosine(other))
    return others[:most], [1 - cosine(other) for other in others[:most]]


def test_neighbours_are_those_of_a_slow_search_across_the_borders_of_blocks(monkeypatch):
    monkeypatch.setattr(measured, "_ROWS", 7)
    monkeypatch.setattr(measured, "MOST", 12)
    vectors = drawn()
    near = finish(neighbourhoods(vectors))
    assert near.places.shape == (40, 12)
    for sentence in range(40):
        places, distances = nearest_by_hand(vectors, sentence, 12)
        assert near.places[sentence].tolist() == places
        assert near.distances[sentence] == pytest.approx(distances, abs=1e-5)


@pytest.mark.parametrize("count", [2, 3])
def test_a_few_sentences_have_all_the_others_for_neighbours(count):
    assert finish(neighbourhoods(drawn(count))).places.shape == (count, count - 1)


def test_of_sentences_that_are_equally_near_the_first_leads():
    near = finish(neighbourhoods(np.ones((6, 3), dtype=np.float32)))
    assert near.places[4].tolist() == [0, 1, 2, 3, 5]
    assert not near.distances.round(5).any()


def test_overlap_is_the_jaccard_of_two_sets():
    one, other = finish(neighbourhoods(drawn(seed=0))), finish(neighbourhoods(drawn(seed=1)))
    found = overlap(one, other, 5)
    for sentence in range(40):
        before, after = set(one.places[sentence, :5]), set(other.places[sentence, :5])
        assert found[sentence] == pytest.approx(len(before & after) / len(before | after))
    assert overlap(one, one).tolist() == [1.0] * 40


def test_an_exchange_names_what_is_kept_lost_and_gained():
    one, other = finish(neighbourhoods(drawn(seed=0))), finish(neighbourhoods(drawn(seed=1)))
    between = exchange(one, other, 3, nearest=6)
    before, after = one.places[3, :6].tolist(), other.places[3, :6].tolist()
    assert between.kept
    assert between.lost
    assert list(between.kept + between.lost) == sorted(before, key=lambda at: (at not in after, before.index(at)))
    assert set(between.kept + between.gained) == set(after)


def test_how_far_a_sentence_moved_is_1_less_its_cosine_and_missing_without_a_length():
    one, other = drawn(seed=0), drawn(seed=1)
    other[5] = 0
    found = moved(one, other)
    assert np.isnan(found[5])
    assert found[7] == pytest.approx(1 - float(unit(one)[7] @ unit(other)[7]), abs=1e-6)
    assert moved(one, one).round(6).max() == 0
    assert moved(one, drawn(width=7)) is None, "vectors of different widths have no cosine"
