from itertools import pairwise

import numpy as np
import pytest

from explorer.errors import BadChoice
from explorer.measuring.neighbours import vector_index
from explorer.measuring.neighbours.nearest import MOST, neighbourhoods
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
    monkeypatch.setattr(vector_index, "_ROWS", 7)
    vectors = drawn()
    near = finish(neighbourhoods(vectors, most=12))
    assert near.places.shape == (40, 12)
    for sentence in range(40):
        places, distances = nearest_by_hand(vectors, sentence, 12)
        assert near.places[sentence].tolist() == places
        assert near.distances[sentence] == pytest.approx(distances, abs=1e-5)


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_a_few_sentences_have_all_the_others_for_neighbours(count):
    assert finish(neighbourhoods(drawn(count))).places.shape == (count, max(0, count - 1))


def test_no_more_are_held_than_are_asked_for():
    assert finish(neighbourhoods(drawn(MOST + 20))).places.shape == (MOST + 20, MOST)
    assert finish(neighbourhoods(drawn(), most=7)).distances.shape == (40, 7)


def test_it_can_be_stopped_between_two_blocks(monkeypatch):
    monkeypatch.setattr(vector_index, "_ROWS", 7)
    told = [progress.done for progress in neighbourhoods(drawn(), most=3)]
    assert told[0] == 0
    assert told[-1] == 40
    assert all(0 < done - before <= 8 for before, done in pairwise(told))


def test_vectors_that_are_no_numbers_are_refused():
    vectors = drawn()
    vectors[5, 2] = np.nan
    with pytest.raises(BadChoice, match="NaN or infinite"):
        finish(neighbourhoods(vectors))


def test_of_sentences_that_are_equally_near_the_first_leads():
    near = finish(neighbourhoods(np.ones((6, 3), dtype=np.float32)))
    assert near.places[4].tolist() == [0, 1, 2, 3, 5]
    assert not near.distances.round(5).any()
