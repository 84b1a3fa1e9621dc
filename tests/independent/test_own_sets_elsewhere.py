"""Test scores on a visitor's queries and labels against sentence-transformers and scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, precision_recall_curve

from explorer.data import sample
from explorer.data.retrieval_sets import of_pairs
from explorer.data.sources import HELD_OUT
from explorer.encoding.locate.model_names import find
from explorer.evaluating.tasks.judges import judged
from explorer.measuring.scores.bootstrap import difference
from explorer.measuring.scores.measure import Settings
from explorer.measuring.scores.metrics import AVERAGE_PRECISION, F1, METRICS, best_threshold
from explorer.progress import finish
from tests.tiny_models import save_tiny

K = {
    "mrr_at_k": [10],
    "ndcg_at_k": [10],
    "accuracy_at_k": [1],
    "precision_recall_at_k": [1, 10, 100],
    "map_at_k": [100],
}
NAMES = {
    "MRR@10": "mrr@10",
    "nDCG@10": "ndcg@10",
    "Recall@1": "recall@1",
    "Recall@10": "recall@10",
    "Recall@100": "recall@100",
    "MAP@100": "map@100",
}


def test_held_out_queries_have_the_scores_of_sentence_transformers(tmp_path, monkeypatch):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))
    pairs = sample.triplets()
    given = of_pairs("own", pairs.anchors, pairs.positives, pairs.negatives, split=HELD_OUT)
    model = save_tiny("bert", tmp_path / "tiny")
    scores = finish(judged(given).measured(find(str(model)), Settings()))
    evaluator = InformationRetrievalEvaluator(
        {str(number): query for number, query in enumerate(given.queries)},
        {str(number): document for number, document in enumerate(given.documents)},
        {str(number): set(map(str, judged)) for number, judged in enumerate(given.judgements)},
        write_csv=False,
        **K,
    )
    theirs = evaluator(SentenceTransformer(str(model)))
    last = scores.grid[[reading.title for reading in scores.grid].index("mean of layer 2")]
    assert scores.metrics == tuple(NAMES)
    for mine, their in NAMES.items():
        assert scores.score(last, mine) == pytest.approx(100 * theirs[f"cosine_{their}"], abs=1e-4)


@pytest.fixture
def labelled():
    """Labels of 0 and 1, and cosines that agree with them in part; some are equal."""
    random = np.random.default_rng(1)
    gold = (random.random(300) < 0.3).astype(float)
    return gold, np.round(random.normal(size=300) + gold, 2)


def test_average_precision_and_the_threshold_of_the_best_f1_are_those_of_scikit_learn(labelled):
    gold, cosines = labelled
    assert METRICS[AVERAGE_PRECISION].of_pairs(gold, cosines) == pytest.approx(
        average_precision_score(gold, cosines), abs=1e-12
    )
    precision, recall, thresholds = precision_recall_curve(gold, cosines)
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-300)
    found = best_threshold(gold, cosines)
    assert found.f1 == METRICS[F1].of_pairs(gold, cosines) == pytest.approx(f1.max(), abs=1e-12)
    assert found.threshold == thresholds[f1.argmax()]
    assert (found.precision, found.recall) == pytest.approx((precision[f1.argmax()], recall[f1.argmax()]))


def test_labels_have_the_scores_of_the_binary_evaluator_of_sentence_transformers(labelled):
    from sentence_transformers.sentence_transformer.evaluation import BinaryClassificationEvaluator

    gold, cosines = labelled
    distinct = cosines + np.random.default_rng(2).uniform(0, 1e-4, len(cosines))  # it counts equal cosines one by one
    theirs, precision, recall, _ = BinaryClassificationEvaluator.find_best_f1_and_threshold(distinct, gold, True)
    found = best_threshold(gold, distinct)
    assert (found.f1, found.precision, found.recall) == pytest.approx((theirs, precision, recall), abs=1e-12)


@pytest.mark.parametrize(("metric", "theirs"), [(AVERAGE_PRECISION, average_precision_score), (F1, None)])
def test_intervals_of_labels_are_those_of_resamples_that_are_scored_one_by_one(labelled, metric, theirs):
    gold, one = labelled
    other = one + 0.5 * gold
    found = difference(gold, one, other, metric=metric, resamples=200)

    def score(rows, side):
        if theirs is not None:
            return theirs(gold[rows], side[rows])
        precision, recall, _ = precision_recall_curve(gold[rows], side[rows])
        return (2 * precision * recall / np.maximum(precision + recall, 1e-300)).max()

    times = np.random.default_rng(0).multinomial(len(gold), np.full(len(gold), 1 / len(gold)), size=200)
    drawn = [np.repeat(np.arange(len(gold)), of_each) for of_each in times]
    gaps = [100 * (score(rows, other) - score(rows, one)) for rows in drawn]
    assert [float(found.low), float(found.high)] == pytest.approx(np.quantile(gaps, [0.025, 0.975]), abs=1e-6)
