"""Test that an index finds the neighbours that a slow search finds, and what A and B share against sets in a loop."""

import math
import threading
from itertools import pairwise

import numpy as np
import pytest
import torch

from explorer.encoding.read.head import Dense, Head
from explorer.encoding.read.pooling import OWN
from explorer.encoding.read.windows import Windows
from explorer.errors import BadChoice, StrataError
from explorer.measuring.neighbours import vector_index
from explorer.measuring.neighbours.query_results import SearchResults, SearchSide, search, vector_of
from explorer.measuring.neighbours.vector_index import MOST, Index, WindowIndex, neighbourhoods, overlap, overlap_of
from explorer.progress import finish
from tests.spoiling import encoder_of
from tests.tiny_models import WIDTH, save_tiny


def vectors(count=60, width=12, seed=0):
    return np.random.default_rng(seed).normal(size=(count, width)).astype(np.float32)


def slow(corpus, query, k, without=None):
    """Places and cosines, the nearest first, by a loop in float64."""
    cosines = []
    for row in corpus.astype(float):
        lengths = np.sqrt((row**2).sum()) * np.sqrt((query.astype(float) ** 2).sum())
        cosines.append(float((row * query).sum() / lengths) if lengths else 0.0)
    ordered = sorted((place for place in range(len(corpus)) if place != without), key=lambda at: (-cosines[at], at))
    return ordered[:k], [cosines[at] for at in ordered[:k]]


def of_all(index, k):
    """Places and cosines of every sentence, block after block."""
    return [np.concatenate(blocks) for blocks in zip(*index.neighbours_of_all(k), strict=True)]


@pytest.mark.parametrize("rows", [7, 1024])
@pytest.mark.parametrize("k", [1, 5, 59, 100])
def test_neighbours_are_those_of_a_slow_loop(k, rows, monkeypatch):
    monkeypatch.setattr(vector_index, "_ROWS", rows)
    corpus = vectors()
    index = Index(corpus)
    found = of_all(index, k)
    assert len(found[0]) == len(index) == 60
    for place, (of_one, near) in enumerate(zip(*found, strict=True)):
        places, cosines = slow(corpus, corpus[place], k, without=place)
        assert of_one.tolist() == places
        assert near == pytest.approx(cosines, abs=1e-6)
        one = index.found(place, k)
        assert one.places.tolist() == places
        assert one.cosines.tolist() == near.tolist(), "one query or all: the same numbers"


def test_any_vector_finds_all_that_are_near_and_a_rank_is_the_place_in_the_whole_order():
    corpus, query = vectors(), vectors(1, seed=9)[0] * 100
    hits = Index(corpus).found(query, 60)
    places, cosines = slow(corpus, query, 60)
    assert (hits.places.tolist(), hits.cosines) == (places, pytest.approx(cosines, abs=1e-6))
    corpus, query = vectors(), vectors(1, seed=9)[0]
    corpus[[7, 8]] = corpus[7]
    index = Index(corpus)
    ordered, _ = slow(corpus, query, 60)
    assert index.ranks(np.arange(60), query) == [ordered.index(place) + 1 for place in range(60)]
    ordered, _ = slow(corpus, corpus[5], 60, without=5)
    others = np.array([place for place in range(60) if place != 5])
    assert index.ranks(others, 5) == [ordered.index(place) + 1 for place in others]


def test_equal_vectors_stand_in_the_order_of_the_corpus():
    corpus = vectors(40)
    corpus[[3, 11, 25, 39]] = corpus[3]
    corpus[[0, 20]] = 2 * corpus[20]  # a scale is no difference
    index = Index(corpus)
    assert index.found(11, 4).places.tolist()[:3] == [3, 25, 39]
    assert index.found(3, 4).places.tolist()[:3] == [11, 25, 39]
    assert index.found(20, 1).places.tolist() == [0]
    for place in range(40):
        assert index.found(place, 39).places.tolist() == slow(corpus, corpus[place], 39, without=place)[0]
    places, cosines = of_all(Index(np.ones((200, 8), dtype=np.float32)), 10)
    assert places[0].tolist() == list(range(1, 11))
    assert places[5].tolist() == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10]
    assert places[199].tolist() == list(range(10))
    assert np.allclose(cosines, 1)
    near = finish(neighbourhoods(np.ones((6, 3), dtype=np.float32)))
    assert near.places[4].tolist() == [0, 1, 2, 3, 5]
    assert not near.distances.round(5).any()


@pytest.mark.parametrize("count", [1, 2])
def test_a_corpus_of_one_or_two_sentences_gives_what_there_is(count):
    corpus = vectors(count)
    index = Index(corpus)
    assert (len(index.found(corpus[0], 10)), len(index.found(0, 10))) == (count, count - 1)
    assert of_all(index, 10)[0].shape == (count, count - 1)


def test_what_is_no_number_is_refused_and_a_vector_of_length_0_is_like_no_other():
    corpus = vectors(5)
    corpus[2] = 0
    assert Index(corpus).found(2, 4).cosines.tolist() == [0, 0, 0, 0]
    corpus = vectors(5)
    corpus[2, 3] = np.nan
    with pytest.raises(BadChoice, match="NaN or infinite"):
        Index(corpus)
    with pytest.raises(BadChoice, match="NaN or infinite"):
        finish(neighbourhoods(corpus))


def test_faiss_works_in_a_thread_while_torch_works_in_another():
    import torch

    corpus, matrix = vectors(2000, 64), torch.randn(300, 300)
    index = Index(corpus)
    before = of_all(index, 5)[0].tolist()
    after: list[list[int]] = []
    thread = threading.Thread(target=lambda: after.extend(of_all(index, 5)[0].tolist()))
    product = matrix @ matrix
    thread.start()
    while thread.is_alive():
        assert torch.equal(matrix @ matrix, product)
    thread.join()
    assert after == before


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


def test_it_can_be_stopped_between_two_blocks_and_no_more_are_held_than_are_asked_for(monkeypatch):
    assert finish(neighbourhoods(drawn(MOST + 20))).places.shape == (MOST + 20, MOST)
    assert finish(neighbourhoods(drawn(), most=7)).distances.shape == (40, 7)
    monkeypatch.setattr(vector_index, "_ROWS", 7)
    told = [progress.done for progress in neighbourhoods(drawn(), most=3)]
    assert (told[0], told[-1]) == (0, 40)
    assert all(0 < done - before <= 8 for before, done in pairwise(told))


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
        between = search(*(SearchSide(index, place) for index in indexes), k)
        assert between.jaccard == found.jaccard[place], "one query or all: the same number"
    assert found.mean == pytest.approx(sum(found.jaccard) / 60)
    assert found.counts().tolist() == [list(found.kept).count(kept) for kept in range(found.k + 1)]


def test_the_same_model_on_both_sides_keeps_every_neighbour_and_one_sentence_has_none():
    corpus = vectors(80)
    corpus[40:60] = corpus[0]  # with ties, too
    found = finish(overlap(Index(corpus), Index(corpus.copy()), 10))
    assert (found.jaccard.tolist(), found.mean) == ([1.0] * 80, 1)
    found = finish(overlap(Index(vectors(1)), Index(vectors(1)), 10))
    assert found.k == 0
    assert math.isnan(found.mean)
    assert np.isnan(found.jaccard).all()
    with pytest.raises(BadChoice, match="same corpus"):
        finish(overlap(Index(vectors(5)), Index(vectors(6)), 3))


def test_the_most_changed_come_first_and_equals_in_the_order_of_the_corpus():
    found = finish(overlap(Index(vectors(seed=0)), Index(vectors(seed=1)), 8))
    assert len(set(found.kept.tolist())) < 60, "some are equal"
    changed, same = (found.order(most_changed=way).tolist() for way in (True, False))
    assert changed == sorted(range(60), key=lambda place: (found.kept[place], place))
    assert same == sorted(range(60), key=lambda place: (-found.kept[place], place))


def test_of_neighbours_that_are_known_it_is_the_same():
    sides = vectors(), vectors(seed=1)
    one, other = (np.array([slow(side, side[at], 5, at)[0] for at in range(60)]) for side in sides)
    found = overlap_of(one, other)
    assert found.k == 5
    assert found.kept.tolist() == [len(set(a) & set(b)) for a, b in zip(one.tolist(), other.tolist(), strict=True)]
    assert overlap_of(one, one[:, ::-1]).jaccard.tolist() == [1.0] * 60, "their order is no matter"


@pytest.mark.parametrize(("weight", "words"), [(0.0, "gives the query a zero vector under model default"),
                                               (3e38, "infinite numbers under model default")])  # fmt: skip
def test_a_query_without_a_cosine_is_refused(tmp_path, weight, words):
    encoder = encoder_of(save_tiny("bert", tmp_path / "tiny"))
    encoder.head = Head(("mean",), (Dense(torch.full((WIDTH, WIDTH), weight).triu(), None, "Identity"),))
    with pytest.raises(BadChoice if weight == 0 else StrataError, match=words):
        vector_of(encoder, "a man plays", OWN)


def test_results_are_kept_lost_or_gained_nearest_first():
    angles = [(0.1, 0.2, 0.3, 0.9, 1.2), (1.2, 0.1, 0.9, 0.2, 0.3)]  # to the query, of each sentence under A and B
    indexes = [Index(np.array([(math.cos(one), math.sin(one)) for one in side], dtype=np.float32)) for side in angles]
    found = search(*(SearchSide(index, np.array([1.0, 0.0], dtype=np.float32)) for index in indexes), k=3)
    one, other = ([(each.place, each.mark, each.elsewhere) for each in side] for side in (found.one, found.other))
    assert one == [(0, "lost", 5), (1, "kept", 1), (2, "lost", 4)]
    assert other == [(1, "kept", 2), (3, "gained", 4), (4, "gained", 5)]
    assert (found.kept, found.jaccard) == (1, 1 / 5)
    assert math.isnan(SearchResults((), ()).jaccard)


def test_a_passage_in_windows_has_the_cosine_of_its_best_window():
    random = np.random.default_rng(4)
    vectors, query = random.normal(size=(60, 8)).astype(np.float32), random.normal(size=8).astype(np.float32)
    of = np.repeat(np.arange(20), random.permutation([1, 2, 3, 6] * 5))
    windows = Windows(tuple(f"window {number}" for number in range(60)), of)
    index = WindowIndex(vectors, windows)
    for asked, own in ((query, None), (7, 7)):
        vector = vectors[list(of).index(7)] if own is not None else query
        best = {}
        for number, (row, passage) in enumerate(zip(vectors.astype(float), of.tolist(), strict=True)):
            cosine = row @ vector / np.linalg.norm(row) / np.linalg.norm(vector)
            best[passage] = max(best.get(passage, (-2.0, "")), (cosine, f"window {number}"))
        order = sorted((passage for passage in best if passage != own), key=lambda passage: -best[passage][0])
        hits = index.found(asked, 5)
        assert hits.places.tolist() == order[:5]
        assert hits.cosines == pytest.approx([best[passage][0] for passage in order[:5]], abs=1e-6)
        several = [list(of).count(passage) > 1 for passage in order[:5]]
        assert hits.windows == tuple(best[one][1] if cut else "" for one, cut in zip(order, several, strict=False))
        assert index.ranks(np.array(order[3:9]), asked) == [4, 5, 6, 7, 8, 9]
    assert len(index) == 20
    with pytest.raises(BadChoice, match="in windows are not compared with each other"):
        index.neighbours_of_all(3)
