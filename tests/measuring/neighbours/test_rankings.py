"""Test searches of many queries against a loop over every document, and measures of rankings against an evaluator."""

import math

import faiss
import numpy as np
import pytest
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

from explorer.encoding.read.windows import Windows
from explorer.errors import BadChoice
from explorer.measuring.neighbours import rankings as searching
from explorer.measuring.neighbours.rankings import MEASURES, batch_search, measures, reciprocal_ranks
from explorer.measuring.neighbours.vector_index import IndexSetting
from explorer.measuring.scores.correlation import unit
from explorer.progress import finish

THEIRS = {
    "nDCG@10": ("ndcg@k", 10), "MRR@10": ("mrr@k", 10), "Recall@1": ("recall@k", 1), "Recall@10": ("recall@k", 10),
    "Recall@100": ("recall@k", 100), "MAP@100": ("map@k", 100),
}  # fmt: skip


def drawn(seed, documents=300, queries=40, most=30):
    """Rankings (query, rank) of 100 documents, and the relevant ones of each query, all with grade 1."""
    random = np.random.default_rng(seed)
    places = np.stack([random.permutation(documents)[:100] for _ in range(queries)])
    judged = [dict.fromkeys(random.choice(documents, random.integers(1, most), False).tolist(), 1) for _ in places]
    return places, judged


@pytest.mark.parametrize("seed", range(3))
def test_they_equal_those_of_sentence_transformers(seed):
    places, judged = drawn(seed)
    names = [str(at) for at in range(len(judged))]
    theirs = InformationRetrievalEvaluator(
        dict.fromkeys(names, "a query"),
        {"0": "a document"},
        {name: {str(place) for place in of} for name, of in zip(names, judged, strict=True)},
        precision_recall_at_k=[1, 10, 100],
    )
    hits = [[{"corpus_id": str(at), "score": -rank} for rank, at in enumerate(found)] for found in places]
    expected = theirs.compute_metrics(hits)
    found = dict(zip(MEASURES, measures(places, judged).mean(axis=1), strict=True))
    assert found == pytest.approx({name: expected[kind][k] for name, (kind, k) in THEIRS.items()}, abs=1e-12)


def test_grades_count_in_ndcg_and_what_is_not_among_the_first_ten_for_few_measures():
    judged = [{3: 2, 5: 1, 8: 4}]
    (ndcg,) = measures(np.array([[5, 1, 8, 2]]), judged)[0]
    gained = 1 / math.log2(2) + 4 / math.log2(4)
    assert ndcg == pytest.approx(gained / (4 / math.log2(2) + 2 / math.log2(3) + 1 / math.log2(4)))
    places, judged = drawn(4)
    assert np.array_equal(reciprocal_ranks(places, judged), measures(places, judged)[MEASURES.index("MRR@10")])
    found = dict(zip(MEASURES, measures(np.array([[4, 7, 1, 0]]), [{4: 3, 7: 2}])[:, 0], strict=True))
    assert found == dict.fromkeys(MEASURES, 1.0) | {"Recall@1": 0.5}
    assert not measures(np.array([[1, 2, -1, -1]]), [{7: 1}]).any()
    found = dict(zip(MEASURES, measures(np.arange(50)[None], [{19: 1}])[:, 0], strict=True))
    assert found == dict.fromkeys(MEASURES, 0.0) | {"Recall@100": 1.0, "MAP@100": 0.05}


def vectors(count, width=8, seed=0):
    return unit(np.random.default_rng(seed).normal(size=(count, width)))


def unit_in_float64(vectors):
    exact = vectors.astype(float)
    return exact / np.linalg.norm(exact, axis=1, keepdims=True)


def slow(documents, query, k):
    """The k documents with the highest inner product, by a loop in float64."""
    products = [sum(float(a) * float(b) for a, b in zip(row, query, strict=True)) for row in documents]
    return sorted(range(len(documents)), key=lambda at: -products[at])[:k]


@pytest.mark.parametrize("setting", [IndexSetting("flat"), IndexSetting("ivf", nlist=3, nprobe=3)], ids=["flat", "ivf"])
def test_an_index_that_searches_all_its_lists_finds_what_a_loop_finds(setting, monkeypatch):
    monkeypatch.setattr(searching, "AT_ONCE", 5)
    monkeypatch.setattr(searching, "_ORDERED", 2)
    documents, queries = vectors(150), vectors(13, seed=1)
    found = finish(batch_search(documents, queries, 10, setting))
    assert found.places.tolist() == [slow(documents, query, 10) for query in queries]
    assert found.seconds > 0
    assert found.threads == faiss.omp_get_max_threads()


def test_with_one_probe_only_documents_of_the_nearest_list_are_found():
    documents, queries = vectors(200), vectors(9, seed=1)
    found = finish(batch_search(documents, queries, 10, IndexSetting("ivf", nlist=5, nprobe=1)))
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(8), 8, 5, faiss.METRIC_INNER_PRODUCT)
    index.train(documents)  # its seed is fixed
    centroids = index.quantizer.reconstruct_n(0, 5)
    of_document = [slow(centroids, document, 1)[0] for document in documents]
    for query, places in zip(queries, found.places.tolist(), strict=True):
        (nearest,) = slow(centroids, query, 1)
        assert places == [at for at in slow(documents, query, 200) if of_document[at] == nearest][:10]


def test_fewer_documents_than_results_are_all_found_or_leave_places_empty():
    assert sorted(finish(batch_search(vectors(4), vectors(1), 10, IndexSetting())).places[0]) == [0, 1, 2, 3]
    documents = np.repeat(np.eye(4, dtype=np.float32), [40, 40, 40, 3], axis=0)
    found = finish(batch_search(documents, np.eye(4, dtype=np.float32)[3:], 10, IndexSetting("ivf", nlist=4, nprobe=1)))
    assert found.places.tolist() == [[120, 121, 122, *[-1] * 7]]


def test_equal_documents_are_in_their_own_order_and_nearly_equal_ones_by_their_distance():
    documents = vectors(30)
    documents[[4, 9, 21]] = documents[9]
    assert finish(batch_search(documents, documents[[21]], 3, IndexSetting())).places.tolist() == [[4, 9, 21]]
    base = np.zeros(4)
    base[0] = 1
    documents = unit(base + (np.array([5, 1, 4, 2, 3])[:, None] * 1e-5) * np.array([0, 1, 0, 0]))
    query = unit(base[None])
    assert np.unique(documents @ query[0]).size < 5, "their products are the same number"
    assert finish(batch_search(documents, query, 5, IndexSetting())).places.tolist() == [[1, 3, 4, 2, 0]]


def test_nearly_equal_documents_are_found_as_in_float64():
    drawn = np.random.default_rng(0)
    base = drawn.normal(size=16)
    documents, queries = (unit(base + 2e-3 * drawn.normal(size=(count, 16))) for count in (500, 20))
    spread = np.ptp(documents.astype(float) @ queries[0])
    assert spread < 1e-5, "at most 168 steps of float32 near 1, for 500 documents"
    found = finish(batch_search(documents, queries, 10, IndexSetting()))
    exact = unit_in_float64(documents), unit_in_float64(queries)
    assert found.places.tolist() == [np.argsort(-exact[0] @ query)[:10].tolist() for query in exact[1]]


@pytest.mark.parametrize("kind", ["flat", "ivf"])
def test_the_bytes_are_those_of_the_written_index(kind):
    documents, setting = vectors(400, width=32), IndexSetting(kind, nlist=8)
    found = finish(batch_search(documents, documents[:1], 10, setting))
    written = faiss.serialize_index(searching._built(documents, setting)).nbytes
    assert 0 <= written - found.index_bytes < 500, "a header, and no more"


@pytest.mark.parametrize(
    ("documents", "nlist", "nprobe"), [(299_364, 1024, 5), (39_936, 1024, 5), (39_935, 1023, 5), (80, 2, 2), (7, 1, 1)]
)
def test_each_list_has_39_documents_to_train_on(documents, nlist, nprobe):
    assert IndexSetting("ivf").adapted(documents) == IndexSetting("ivf", nlist, nprobe)
    assert IndexSetting("flat").adapted(documents) == IndexSetting("flat")


def test_a_graph_is_built_only_to_be_saved():
    with pytest.raises(BadChoice, match=r"no index 'hnsw'.*flat, ivf"):
        finish(batch_search(vectors(4), vectors(1), 1, IndexSetting("hnsw")))


@pytest.mark.parametrize(
    ("setting", "found"),
    [
        (("pq",), "pq.*flat, ivf, hnsw"),
        (("ivf", 0, 5), "nlist is 0"),
        (("ivf", 5, -1), "nprobe -1"),
        (("hnsw", 5, 1, 1), "links is 1"),
        (("hnsw", 5, 1, 16, 0), "ef 0"),
    ],
)
def test_an_impossible_index_is_refused(setting, found):
    with pytest.raises(BadChoice, match=found):
        IndexSetting(*setting)


@pytest.mark.parametrize("setting", [IndexSetting("flat"), IndexSetting("ivf", nlist=3, nprobe=3)], ids=["flat", "ivf"])
def test_a_passage_ranks_by_the_best_of_its_windows(setting):
    documents, queries = vectors(150), vectors(13, seed=1)
    of = np.sort(np.random.default_rng(2).integers(0, 40, size=150))
    of = np.unique(of, return_inverse=True)[1]
    of[-60:] = of[-60]  # one passage has most windows
    of = np.unique(of, return_inverse=True)[1]
    found = finish(searching.passage_search(documents, queries, 10, setting, Windows(("",) * 150, of)))
    for query, places in zip(queries, found.places.tolist(), strict=True):
        best = {}
        for window, passage in enumerate(of.tolist()):
            product = sum(float(a) * float(b) for a, b in zip(documents[window], query, strict=True))
            best[passage] = max(best.get(passage, -2.0), product)
        assert places == sorted(best, key=lambda passage: -best[passage])[:10]


def test_of_fewer_passages_than_results_all_are_found():
    of = np.array([0, 0, 0, 1, 1, 2])
    found = finish(searching.passage_search(vectors(6), vectors(3), 100, IndexSetting(), Windows(("",) * 6, of)))
    assert [sorted(places) for places in found.places.tolist()] == [[0, 1, 2]] * 3
