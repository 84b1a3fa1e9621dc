"""Test the search of vectors on disk against a slow loop, and that an index is built once and states its recall."""

import json

import numpy as np
import pytest

from explorer.data.vectors import vector_corpus
from explorer.data.vectors.opening import opened
from explorer.errors import BadChoice
from explorer.measuring.neighbours import vector_search
from explorer.measuring.neighbours.vector_index import IndexSetting, suited
from explorer.measuring.neighbours.vector_search import searchable
from explorer.measuring.scores.correlation import unit
from explorer.progress import finish

ROWS, WIDTH = 700, 12


def corpus_of(folder, vectors, name="mine"):
    np.save(folder / f"{name}.npy", vectors)
    (folder / f"{name}.txt").write_text("".join(f"sentence {row}\n" for row in range(len(vectors))))
    return finish(vector_corpus.prepared(opened(folder / f"{name}.npy")))


@pytest.fixture
def vectors():
    drawn = np.random.default_rng(3)
    return (drawn.normal(size=(20, WIDTH)).repeat(ROWS // 20, 0) + drawn.normal(size=(ROWS, WIDTH))).astype(np.float32)


@pytest.fixture
def corpus(tmp_path, vectors, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(vector_search, "AT_ONCE", 64)
    monkeypatch.setattr(vector_search, "ADDED", 64)
    return corpus_of(tmp_path, vectors)


def slow(vectors, query, k, without=None):
    """Rows by their cosine in float64, and the cosines."""
    exact = vectors.astype(float) / np.linalg.norm(vectors.astype(float), axis=1, keepdims=True)
    cosines = exact @ (query.astype(float) / np.linalg.norm(query.astype(float)))
    order = [row for row in np.argsort(-cosines, kind="stable").tolist() if row != without][:k]
    return order, cosines[order]


def test_a_search_of_all_vectors_finds_what_a_slow_loop_finds(corpus, vectors):
    search = finish(searchable(corpus, "flat"))
    query = np.random.default_rng(1).normal(size=WIDTH).astype(np.float32)
    for hits, (places, cosines) in (
        (search.found(query, 10), slow(vectors, query, 10)),
        (search.found(69, 7), slow(vectors, vectors[69], 7, without=69)),
        (search.found(query, 9999), slow(vectors, query, ROWS)),
        (search.found(0, 9999), slow(vectors, vectors[0], ROWS, without=0)),
    ):
        assert hits.places.tolist() == places
        np.testing.assert_allclose(hits.cosines, cosines, atol=1e-6)
    assert search.facts.exact
    assert (search.facts.bytes, search.facts.recall) == (0, None)


@pytest.mark.product(1)
@pytest.mark.parametrize("kind", ["flat", "ivf", "hnsw"])
@pytest.mark.parametrize("factor", [np.float32(1e30), np.float32(1e-30), np.float64(1e300)])
def test_the_size_of_the_numbers_changes_no_result(tmp_path, vectors, kind, factor):
    hits = finish(searchable(corpus_of(tmp_path, vectors * factor), kind)).found(69, 7)
    places, cosines = slow(vectors, vectors[69], 7, without=69)
    assert hits.places.tolist() == places
    np.testing.assert_allclose(hits.cosines, cosines, atol=1e-6)


@pytest.mark.parametrize("kind", ["flat", "ivf", "hnsw"])
def test_a_row_with_a_zero_vector_is_never_a_result(tmp_path, vectors, kind):
    zero = [0, 3, 4, 300, ROWS - 1]
    vectors[zero] = 0
    search = finish(searchable(corpus_of(tmp_path, vectors), kind))
    others = np.setdiff1d(np.arange(ROWS), zero)
    places, cosines = slow(vectors[others], vectors[69], ROWS, without=int(np.searchsorted(others, 69)))
    hits = search.found(69, ROWS)
    near = search.found(69, 7)
    assert near.places.tolist() == others[places][:7].tolist()
    np.testing.assert_allclose(near.cosines, cosines[:7], atol=1e-6)
    assert sorted(hits.places.tolist()) == sorted(others[places].tolist()) or kind != "flat"
    assert not set(hits.places.tolist()) & set(zero)
    with pytest.raises(BadChoice, match=r"row 300 of mine\.npy, whose vector is zero"):
        search.found(300, 5)


def test_equal_vectors_are_found_in_the_order_of_the_rows(tmp_path, vectors):
    vectors[[5, 90, 300]] = vectors[90]
    for kind in ("flat", "ivf", "hnsw"):
        search = finish(searchable(corpus_of(tmp_path, vectors), kind))
        assert search.found(90, 2).places.tolist() == [5, 300]
        assert search.found(3 * vectors[90], 3).places.tolist() == [5, 90, 300]


@pytest.mark.parametrize("kind", ["ivf", "hnsw"])
def test_an_index_states_the_recall_that_a_slow_loop_measures(corpus, vectors, kind, monkeypatch):
    monkeypatch.setattr(vector_search, "LEAST", 1)
    monkeypatch.setattr(vector_search, "CANDIDATES", 1)  # so that some neighbours are missed
    monkeypatch.setattr(vector_search, "QUERIES", 50)
    monkeypatch.setattr(vector_search, "LEAST_PROBES", 2)
    search = finish(searchable(corpus, kind))
    drawn = np.random.default_rng(0).choice(ROWS, 100, replace=False)[50:]
    found = [search.found(int(row), 10).places.tolist() for row in drawn]
    true = [slow(vectors, vectors[row], 10, without=row)[0] for row in drawn]
    shares = [len(set(one) & set(other)) / 10 for one, other in zip(found, true, strict=True)]
    assert search.facts.recall == pytest.approx(np.mean(shares), abs=1e-9)
    assert 0.5 < search.facts.recall < 1
    assert search.facts.queries == 50


def test_more_is_searched_until_the_recall_is_enough(corpus, monkeypatch):
    monkeypatch.setattr(vector_search, "LEAST_PROBES", 1)
    monkeypatch.setattr(vector_search, "ENOUGH", 0.2)
    few = finish(searchable(corpus, "ivf")).facts
    for path in corpus.folder.glob("ivf-*"):
        path.unlink()
    monkeypatch.setattr(vector_search, "ENOUGH", 0.999)
    many = finish(searchable(corpus, "ivf")).facts
    assert few.setting.nprobe < many.setting.nprobe <= many.setting.nlist
    assert few.recall < many.recall


@pytest.mark.parametrize("kind", ["ivf", "hnsw"])
def test_a_saved_index_is_opened_and_a_damaged_one_is_built_again(corpus, kind, monkeypatch):
    first = finish(searchable(corpus, kind))
    counted, real = [], vector_search._built
    monkeypatch.setattr(vector_search, "_built", lambda *given: counted.append(1) or real(*given))
    again = finish(searchable(corpus, kind))
    assert (again.facts, counted) == (first.facts, [])
    assert again.found(3, 5).places.tolist() == first.found(3, 5).places.tolist()
    (path,) = corpus.folder.glob("*.faiss")
    assert first.facts.bytes == path.stat().st_size
    path.write_bytes(path.read_bytes()[:-100])
    assert finish(searchable(corpus, kind)).found(3, 5).places.tolist() == first.found(3, 5).places.tolist()
    assert counted == [1]
    (about,) = corpus.folder.glob(f"{kind}*.json")
    about.write_text(json.dumps({"seconds": 1}))
    finish(searchable(corpus, kind))
    assert counted == [1, 1]


@pytest.mark.parametrize("kind", ["ivf", "hnsw"])
def test_a_build_that_is_stopped_saves_nothing(corpus, kind):
    work = searchable(corpus, kind)
    while next(work).stage != "saving the index":
        pass
    work.close()
    assert not list(corpus.folder.glob(f"{kind}*"))
    assert not list(corpus.folder.glob("*.part"))


@pytest.mark.parametrize("kind", [None, "flat", "ivf", "hnsw"])
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_very_small_corpora_are_searched(tmp_path, vectors, kind, rows):
    search = finish(searchable(corpus_of(tmp_path, vectors[:rows]), kind))
    assert sorted(search.found(vectors[0], 10).places.tolist()) == list(range(rows))
    assert sorted(search.found(0, 10).places.tolist()) == list(range(1, rows))


def test_few_vectors_are_all_searched_and_a_query_of_another_width_is_refused(corpus):
    assert suited(200_000) == suited(200_000, "flat")
    assert suited(200_001).kind == "ivf"
    assert suited(1_000_000) == IndexSetting("ivf", nlist=1000)
    assert suited(50, "ivf").nlist == 1
    with pytest.raises(BadChoice, match=r"3 dimensions and the vectors of mine\.npy 12"):
        finish(searchable(corpus)).found(unit(np.ones((1, 3)))[0], 5)
