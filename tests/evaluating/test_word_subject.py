"""Test BM25 against a slow loop over all words, and what it is scored on."""

import math
from collections import Counter

import numpy as np
import pytest

from explorer.data.retrieval_sets import of_pairs
from explorer.data.sample import triplets
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.errors import DataError
from explorer.evaluating.results.scored_task import Options
from explorer.evaluating.tasks.retrieval import Retrieval
from explorer.evaluating.tasks.sts import ScoredPairs
from explorer.evaluating.tasks.word_models import K1, B, WordSubject, bm25, is_word_model
from explorer.measuring.neighbours.ranking_judge import MEASURES, measures
from explorer.progress import finish


@pytest.fixture(scope="module")
def task():
    rows = triplets()
    return of_pairs("Paraphrases", rows.anchors[:80], rows.positives[:80])


def slow_scores(query, documents):
    """Lucene's BM25 of lists of words, from its formula."""
    lengths = [len(words) for words in documents]
    mean = sum(lengths) / len(lengths)
    scores = []
    for words in documents:
        counts, score = Counter(words), 0.0
        for word in query:
            having = sum(word in other for other in documents)
            rarity = math.log(1 + (len(documents) - having + 0.5) / (having + 0.5))
            score += rarity * counts[word] / (counts[word] + K1 * (1 - B + B * len(words) / mean))
        scores.append(score)
    return np.array(scores)


def test_it_equals_a_slow_loop(task):
    from explorer.evaluating.tasks.word_models import word_splitter

    words = word_splitter()
    documents = words(task.documents)
    places = np.full((len(task), len(documents)), -1)
    for query, asked in enumerate(words(task.queries)):
        scores = slow_scores(asked, documents)
        found = [at for at in np.argsort(-scores.round(5), kind="stable") if scores[at] > 0]
        places[query, : len(found)] = found
    expected = measures(places, task.judgements).mean(axis=1)
    found = finish(bm25(task))
    for row, measure in enumerate(MEASURES):
        assert found.score(MODEL_DEFAULT, measure) == pytest.approx(100 * expected[row], abs=1e-6), measure
    assert 20 < found.score() < 100, "the premise: words find some paraphrases, not all"


def test_words_are_compared_by_their_stems_and_stop_words_count_for_nothing():
    task = of_pairs("Three", ["the hunted owls", "of the"], ["An owl is hunting.", "The tax of the year."])
    ndcg = finish(bm25(task)).items.values
    assert ndcg.tolist() == [1, 0]


def test_a_query_of_unknown_words_finds_nothing():
    task = of_pairs("Two", ["zebras", "bread"], ["Owls hunt at night.", "Bread rises."])
    assert finish(bm25(task)).items.values.tolist() == [0, 1]


def test_it_is_a_model_on_retrieval_sets_alone(task, few_pairs):
    assert is_word_model("bm25")
    subject = WordSubject("bm25")
    assert finish(subject.score(Retrieval("Paraphrases", task), Options())).measures[0] == "nDCG@10"
    with pytest.raises(DataError, match="scored on retrieval sets only, not on some pairs"):
        finish(subject.score(ScoredPairs("some pairs", few_pairs), Options()))
    with pytest.raises(DataError, match="bag-of-words is scored on STS sets"):
        finish(WordSubject("bag-of-words").score(Retrieval("Paraphrases", task), Options()))
