"""Test the measures of rankings against sentence-transformers' evaluator, and grades against loops."""

import math

import numpy as np
import pytest
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

from explorer.measuring.neighbours.ranking_judge import MEASURES, measures, reciprocal_ranks

THEIRS = {
    "nDCG@10": ("ndcg@k", 10),
    "MRR@10": ("mrr@k", 10),
    "Recall@1": ("recall@k", 1),
    "Recall@10": ("recall@k", 10),
    "Recall@100": ("recall@k", 100),
    "MAP@100": ("map@k", 100),
}


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


def test_grades_count_in_ndcg_as_a_loop_says():
    judged = [{3: 2, 5: 1, 8: 4}]
    (ndcg,) = measures(np.array([[5, 1, 8, 2]]), judged)[0]
    gained = 1 / math.log2(2) + 4 / math.log2(4)
    assert ndcg == pytest.approx(gained / (4 / math.log2(2) + 2 / math.log2(3) + 1 / math.log2(4)))


def test_a_perfect_ranking_has_every_measure_at_1_but_the_recall_of_less_than_all():
    found = dict(zip(MEASURES, measures(np.array([[4, 7, 1, 0]]), [{4: 3, 7: 2}])[:, 0], strict=True))
    assert found == dict.fromkeys(MEASURES, 1.0) | {"Recall@1": 0.5}


def test_nothing_found_is_0_and_no_error():
    assert not measures(np.array([[1, 2, -1, -1]]), [{7: 1}]).any()


def test_a_relevant_document_after_the_tenth_counts_for_recall_at_100_and_map_alone():
    found = dict(zip(MEASURES, measures(np.arange(50)[None], [{19: 1}])[:, 0], strict=True))
    assert found == dict.fromkeys(MEASURES, 0.0) | {"Recall@100": 1.0, "MAP@100": 0.05}


def test_the_reciprocal_ranks_are_the_same_alone():
    places, judged = drawn(4)
    assert np.array_equal(reciprocal_ranks(places, judged), measures(places, judged)[MEASURES.index("MRR@10")])
