"""Test the confidence interval of every measure against a bootstrap in plain loops, and that it holds its own score."""

import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import f1_score

from explorer.data.retrieval_sets import retrieval_set
from explorer.data.text_sets import GradedPairs
from explorer.evaluating.probes.class_scores import macro_f1_ends
from explorer.evaluating.results.scored_task import agreement_ends, measures_of
from explorer.evaluating.tasks.retrieval import retrieval
from explorer.measuring.neighbours.rankings import MEASURES
from explorer.measuring.scores.bootstrap import mean_ends
from explorer.measuring.scores.metrics import agreement
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish
from tests.tiny_models import SENTENCES

RESAMPLES, ROUNDED = 1000, 1e-4  # results have four digits
SCIPY = {"Spearman": stats.spearmanr, "Pearson": stats.pearsonr}
PART = {"a": 40, "b": 25, "c": 15}


def drawn_pairs(random):
    parts = np.repeat(list(PART), list(PART.values()))
    gold = random.integers(0, 6, len(parts)).astype(float)
    return gold, gold / 5 + random.normal(scale=0.4, size=len(gold)), tuple(map(str, parts))


@pytest.mark.product(1)
@pytest.mark.parametrize("metric", SCIPY)
@pytest.mark.parametrize("aggregate", ["all", "mean", "wmean"])
def test_an_interval_of_pairs_is_the_middle_of_resamples_within_each_averaged_part(metric, aggregate):
    gold, cosines, parts = drawn_pairs(np.random.default_rng(3))
    names = {name: one for name, one in measures_of(gold, parts).items() if one == (metric, aggregate)}
    (name,) = names
    random, scores = np.random.default_rng(0), []
    groups = {"": range(len(gold))} if aggregate == "all" else dict.fromkeys(PART)
    for part in groups:
        rows = np.array([row for row, its in enumerate(parts) if part in ("", its)])
        times = random.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), size=RESAMPLES)
        drawn = [np.repeat(rows, counts) for counts in times]
        scores.append([100 * SCIPY[metric](gold[some], cosines[some]).statistic for some in drawn])
    weights = [PART.get(part, 1) if aggregate == "wmean" else 1 for part in groups]
    resamples = [
        sum(w * s for w, s in zip(weights, draw, strict=True)) / sum(weights) for draw in zip(*scores, strict=True)
    ]
    expected = np.quantile(resamples, [0.025, 0.975])
    assert agreement_ends(gold, cosines, parts)[name] == pytest.approx(expected, abs=2 * ROUNDED)


def test_an_interval_of_many_items_is_the_middle_of_their_resampled_means():
    items = 1 / np.random.default_rng(1).integers(1, 8, 700)
    random, means = np.random.default_rng(0), []
    for counts in random.multinomial(len(items), np.full(len(items), 1 / len(items)), size=RESAMPLES):
        means.append(100 * sum(count * item for count, item in zip(counts, items, strict=True)) / len(items))
    assert mean_ends(items) == pytest.approx(np.quantile(means, [0.025, 0.975]), abs=1e-3)


def by_students_t(items):
    """Two items are added, one a half above the middle and one below, each as far as those that differ from it."""
    gaps = [item - 0.5 for item in items]
    squares, differing = sum(gap**2 for gap in gaps), sum(gap != 0 for gap in gaps)
    same = 1 - differing / len(gaps)
    added = math.sqrt((squares + same * 0.25) / (differing + same))
    every = [*gaps, added, -added]
    centre = sum(every) / len(every)
    variance = sum(gap**2 for gap in every) / len(every) - centre**2
    half = stats.t.ppf(0.975, len(gaps) - 1) * math.sqrt(variance / len(every))
    return max(0, 50 + 100 * (centre - half)), min(100, 50 + 100 * (centre + half))


def of_ranks(ranks, first=10):
    """By measure, what a query gets whose one relevant document has a rank, from 1."""
    return {
        "nDCG@10": 1 / math.log2(ranks + 1) if ranks <= first else 0,
        "MRR@10": 1 / ranks if ranks <= first else 0,
        "Recall@1": float(ranks <= 1),
        "Recall@10": float(ranks <= 10),
        "Recall@100": float(ranks <= 100),
        "MAP@100": 1 / ranks if ranks <= 100 else 0,
    }


def test_every_measure_of_a_search_has_the_interval_of_its_own_items(tiny_encoder):
    words = sorted({word for sentence in SENTENCES for word in sentence.split()})
    random = np.random.default_rng(5)
    phrases = [random.permutation(words)[:8].tolist() for _ in range(30)]
    documents = {str(at): " ".join([*phrase[3:], *random.permutation(words)[:2]]) for at, phrase in enumerate(phrases)}
    queries = {str(at): " ".join(phrase[:6]) for at, phrase in enumerate(phrases)}
    task = retrieval_set("Phrases", "test", queries, documents, {(str(at), str(at)): 1 for at in range(30)})
    found = finish(retrieval(tiny_encoder, task))
    assert set(found.ends) == set(MEASURES)

    from explorer.encoding.read.pooling import OWN, parse

    reading = OWN if tiny_encoder.head else parse(f"mean of layer {tiny_encoder.rows[-1].layers[-1]}", 99)
    texts = [*task.queries, *task.documents]
    vectors = finish(of_reading(tiny_encoder, texts, reading)).astype(float)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = units[: len(task)] @ units[len(task) :].T
    gets = []
    for query, judged in enumerate(task.judgements):
        (right,) = judged
        gets.append(of_ranks(1 + sum(cosines[query] > cosines[query, right])))
    for measure in MEASURES:
        items = [query[measure] for query in gets]
        assert found.score(measure=measure) == pytest.approx(100 * sum(items) / len(items), abs=1e-6)
        assert found.ends[measure] == pytest.approx(by_students_t(items), abs=2 * ROUNDED), measure


def macro_f1(gold, predicted):
    """The mean of 2 × hits / (labels + predictions) over the classes that are a label or a prediction."""
    hits = Counter(gold[gold == predicted].tolist())
    sizes = Counter(gold.tolist()) + Counter(predicted.tolist())
    return sum(2 * hits[one] / size for one, size in sizes.items()) / len(sizes)


def test_the_interval_of_macro_f1_is_that_of_resampled_rows():
    random = np.random.default_rng(2)
    gold = random.choice(4, 90, p=[0.6, 0.3, 0.08, 0.02])
    predicted = np.stack([np.where(random.random(90) < 0.7, gold, random.integers(0, 4, 90)) for _ in range(2)])
    random, scores = np.random.default_rng(0), []
    for draw, counts in enumerate(random.multinomial(90, np.full(90, 1 / 90), size=RESAMPLES)):
        rows = np.repeat(np.arange(90), counts)
        of_each = [macro_f1(gold[rows], one[rows]) for one in predicted]
        if draw < 30:  # scikit-learn takes milliseconds for each
            theirs = [f1_score(gold[rows], one[rows], average="macro", zero_division=0.0) for one in predicted]
            assert of_each == pytest.approx(theirs)
        scores.append(100 * sum(of_each) / 2)
    assert macro_f1_ends(gold, predicted) == pytest.approx(np.quantile(scores, [0.025, 0.975]), abs=1e-4)


def test_no_score_is_outside_of_its_own_interval():
    random = np.random.default_rng(0)
    for count in (1, 2, 3, 5, 8, 20, 60, 300, 600):
        shares = [(random.random(count) < share).astype(float) for share in (0, 0.01, 0.5, 0.99, 1)]
        for items in (*shares, random.random(count), 1 / random.integers(1, 11, count)):
            low, high = mean_ends(items)
            assert low - 1e-9 <= 100 * items.mean() <= high + 1e-9, (count, items.mean(), low, high)
    for _ in range(6):
        gold, cosines, parts = drawn_pairs(random)
        pairs = GradedPairs("x", (), (), tuple(gold), parts)
        for name, (low, high) in agreement_ends(gold, cosines, pairs.parts).items():
            score = 100 * float(agreement(gold, cosines, parts, *measures_of(gold, parts)[name]))
            assert low - ROUNDED <= score <= high + ROUNDED, (name, score, low, high)
