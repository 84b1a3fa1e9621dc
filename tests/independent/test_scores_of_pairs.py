"""Test scores and intervals against plain transformers, other libraries, scipy and loops."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import pearsonr, rankdata, spearmanr
from scipy.stats import t as student
from sklearn.metrics import average_precision_score, precision_recall_curve

from explorer.data import sample
from explorer.data.retrieval_sets import of_pairs
from explorer.data.sources import HELD_OUT
from explorer.data.text_sets import GradedPairs
from explorer.encoding.locate.model_names import find
from explorer.encoding.read.pooling import parse
from explorer.evaluating import kinds
from explorer.evaluating.kinds.scored_pairs import PairJudge
from explorer.measuring.comparing.learned_facts import of_run
from explorer.measuring.scores.bootstrap import difference
from explorer.measuring.scores.calibration import best_threshold
from explorer.measuring.scores.layer_scores import score_layers
from explorer.measuring.scores.measure import Settings
from explorer.measuring.scores.metrics import AVERAGE_PRECISION, BEST_ACCURACY, F1, METRICS, SPEARMAN
from explorer.measuring.scores.verdict import ElsewhereVerdict, RunVerdict, judged
from explorer.progress import finish
from tests.methods.rows import MANY
from tests.tiny_models import POSITIONS, save_tiny

LAST = 5
ROWS = [*((layer,) for layer in range(LAST + 1)), (0, LAST), (1, LAST), (LAST - 1, LAST)]
CELLS = [(row, pooling) for row in ROWS for pooling in ("cls", "mean", "max")]
COUNT, OF_FIRST = 24, 9  # pairs, of which so many are of the first sub-corpus
BY_HAND = {"Spearman": spearmanr, "Pearson": pearsonr}


def title(cell):
    row, pooling = cell
    return f"{pooling} of layer{'s' * (len(row) > 1)} {' + '.join(map(str, row))}"


@pytest.fixture(scope="module")
def pairs():
    """Two sub-corpora, in turn; some sentences are in several pairs, and one pair is a sentence with itself."""
    random = np.random.default_rng(0)
    first, second = ([MANY[place] for place in random.integers(4, 40, COUNT)] for _ in range(2))
    second[7] = first[7]
    gold = tuple((random.integers(0, 11, COUNT) / 2).tolist())
    parts = tuple("A" if place % 8 in (0, 2, 5) else "B" for place in range(COUNT))
    assert parts.count("A") == OF_FIRST
    return GradedPairs("made up", tuple(first), tuple(second), gold, parts)


@pytest.fixture(scope="module")
def scores(deep, pairs):
    return finish(score_layers(deep.encoder, pairs))


@pytest.fixture(scope="module")
def states(deep, pairs):
    """Of every sentence the layers (token, width) that transformers gives for it alone."""
    found = {}
    for sentence in pairs.sentences:
        ids = deep.tokenizer(sentence, truncation=True, max_length=POSITIONS, return_tensors="pt")
        with torch.no_grad():
            hidden = deep.plain(**ids, output_hidden_states=True).hidden_states
        found[sentence] = [layer[0].double().numpy() for layer in hidden]
    return found


def vector(layers, row, pooling):
    """Token by token, number by number."""
    tokens = [sum(layers[layer][place] for layer in row) / len(row) for place in range(len(layers[0]))]
    if pooling == "cls":
        return tokens[0]
    return np.array([max(one) if pooling == "max" else sum(one) / len(one) for one in zip(*tokens, strict=True)])


def cosines(states, pairs, row, pooling):
    found = []
    for one, other in zip(pairs.first, pairs.second, strict=True):
        a, b = (vector(states[sentence], row, pooling) for sentence in (one, other))
        found.append(1.0 if one == other else a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
    return np.array(found)


def test_the_grid_has_these_cells_and_no_others(scores):
    assert [row.layers for row in scores.rows] == ROWS
    assert scores.cosines.shape == (len(ROWS), 3, COUNT)


@pytest.mark.parametrize("cell", CELLS, ids=map(title, CELLS))
def test_every_score_of_a_cell_is_scipys_of_slow_cosines(scores, states, pairs, cell):
    reading = parse(title(cell), LAST)
    found = scores.cosines_of(reading)
    slow = cosines(states, pairs, *cell)
    assert found == pytest.approx(slow, abs=1e-6)
    if cell == ((0,), "cls"):
        assert np.ptp(slow) < 1e-9, "every [CLS] of the embedding output is the same"
        assert all(np.isnan(scores.score(reading, one, way)) for one in BY_HAND for way in ("all", "mean", "wmean"))
        return
    assert np.diff(np.unique(slow)).min() > 1e-6, "otherwise rounding could change a rank"
    gold, inside = np.array(pairs.gold), np.array([part == "A" for part in pairs.parts])
    for metric, correlation in BY_HAND.items():
        a, b = (100 * correlation(slow[some], gold[some])[0] for some in (inside, ~inside))
        expected = {
            "all": 100 * correlation(slow, gold)[0],
            "mean": (a + b) / 2,
            "wmean": (OF_FIRST * a + (COUNT - OF_FIRST) * b) / COUNT,
        }
        for way, value in expected.items():
            assert scores.score(reading, metric, way) == pytest.approx(value, abs=1e-3), (metric, way)


def test_a_pair_of_a_sentence_with_itself_has_a_cosine_of_exactly_1(scores):
    assert (scores.cosines[:, :, 7] == 1).all()


PAIRS = 60


def sides(shape=(), seed=0, better=0.4, pairs=PAIRS):
    """Gold scores on steps, and the cosines of two models, of which some tie."""
    random = np.random.default_rng(seed)
    gold = random.integers(0, 11, pairs) / 2
    one = random.normal(size=(*shape, pairs)) + gold * 0.4
    return gold, one, np.round(random.normal(size=(*shape, pairs)) + gold * (0.4 + better), 1)


def percentiles(numbers):
    """The 2.5th and the 97.5th, between neighbours in proportion."""
    ordered, found = sorted(numbers), []
    for share in (0.025, 0.975):
        place = share * (len(ordered) - 1)
        below = int(place)
        above = min(below + 1, len(ordered) - 1)
        found.append(ordered[below] + (place - below) * (ordered[above] - ordered[below]))
    return found


def gap(correlation, gold, one, other):
    return 100 * (correlation(other, gold)[0] - correlation(one, gold)[0])


def by_variance(point, drawn, jackknife, freedom):
    """Of few pairs: the jackknife's variance, and without its bias towards 0 where that excludes 0."""
    unbiased = min(max(2 * jackknife - np.var(drawn), jackknife / 2), jackknife)
    near, far = (student.ppf(0.975, freedom) * math.sqrt(variance) for variance in (unbiased, jackknife))
    return point - (near if point > near else far), point + (near if point < -near else far)


def left_out(correlation, gold, one, other):
    """The jackknife's variance of a difference: without each pair in turn."""
    kept = [[pair for pair in range(len(gold)) if pair != out] for out in range(len(gold))]
    return (len(gold) - 1) * np.var([gap(correlation, gold[some], one[some], other[some]) for some in kept])


@pytest.mark.parametrize("metric", BY_HAND)
def test_the_interval_of_few_pairs_is_by_the_variance_of_scipy_without_each_pair_and_on_every_resample(metric):
    gold, one, other = sides((2,))
    found = difference(gold, one, other, metric=metric, resamples=60, seed=3)
    times = np.random.default_rng(3).multinomial(PAIRS, np.full(PAIRS, 1 / PAIRS), size=60)
    assert (times.sum(1) == PAIRS).all()
    for row in range(2):
        gaps = []
        for counts in times:
            drawn = [pair for pair, count in enumerate(counts) for _ in range(count)]
            gaps.append(gap(BY_HAND[metric], gold[drawn], one[row][drawn], other[row][drawn]))
        point = gap(BY_HAND[metric], gold, one[row], other[row])
        jackknife = left_out(BY_HAND[metric], gold, one[row], other[row])
        assert found.difference[row] == pytest.approx(point, abs=1e-3)
        ends = by_variance(point, gaps, jackknife, PAIRS - 1)
        assert [found.low[row], found.high[row]] == pytest.approx(ends, abs=1e-2)


@pytest.mark.parametrize("metric", BY_HAND)
def test_the_interval_of_many_pairs_is_the_percentiles_of_scipy_on_every_resample(metric):
    gold, one, other = sides(pairs=500)
    found = difference(gold, one, other, metric=metric, resamples=60, seed=3)
    gaps = []
    for counts in np.random.default_rng(3).multinomial(500, np.full(500, 1 / 500), size=60):
        drawn = [pair for pair, count in enumerate(counts) for _ in range(count)]
        gaps.append(gap(BY_HAND[metric], gold[drawn], one[drawn], other[drawn]))
    assert [float(found.low), float(found.high)] == pytest.approx(percentiles(gaps), abs=1e-3)


@pytest.mark.parametrize("aggregate", ["mean", "wmean"])
@pytest.mark.parametrize("pairs", [PAIRS, 510])
def test_sub_corpora_are_resampled_and_averaged_each_by_itself(aggregate, pairs):
    gold, one, other = sides(pairs=pairs)
    parts = ["a" if pair % 3 else "b" for pair in range(pairs)]
    found = difference(gold, one, other, parts, aggregate=aggregate, resamples=40, seed=5)
    random, corpora = np.random.default_rng(5), [[p for p in range(pairs) if parts[p] == name] for name in ("b", "a")]
    weights = [len(inside) if aggregate == "wmean" else 1 for inside in corpora]
    draws = [random.multinomial(len(one), np.full(len(one), 1 / len(one)), size=40) for one in corpora]

    def averaged(rows):
        each = [gap(spearmanr, gold[some], one[some], other[some]) for some in rows]
        return sum(w * value for w, value in zip(weights, each, strict=True)) / sum(weights)

    gaps = []
    for resample in range(40):
        gaps.append(averaged([np.repeat(some, times[resample]) for some, times in zip(corpora, draws, strict=True)]))
    expected = percentiles(gaps)
    if pairs == PAIRS:
        each = [left_out(spearmanr, gold[some], one[some], other[some]) for some in corpora]
        jackknife = sum(w**2 * value for w, value in zip(weights, each, strict=True)) / sum(weights) ** 2
        expected = by_variance(averaged(corpora), gaps, jackknife, pairs - 2)
    assert [float(found.low), float(found.high)] == pytest.approx(expected, abs=1e-2)


def ranked(values, drawn):
    """Spearman's ρ with every resample (resample, pair) as Pearson's r of ranks."""
    ranks = [rankdata(side[drawn], axis=1) for side in values]
    a, b = (side - side.mean(1, keepdims=True) for side in ranks)
    return (a * b).sum(1) / np.sqrt((a * a).sum(1) * (b * b).sum(1))


@pytest.mark.parametrize(("better", "seed", "kind"), [(0.6, 2, "better"), (-0.5, 1, "worse"), (0.0, 2, "chance")])
def test_a_verdict_is_that_of_an_interval_from_other_draws(better, seed, kind):
    """Pairs are drawn one by one here: only by chance does the interval differ, the less the more resamples."""
    gold, one, other = sides(seed=seed, better=better)
    drawn = np.random.default_rng(99).integers(0, PAIRS, (10_000, PAIRS))
    gaps = 100 * (ranked((other, gold), drawn) - ranked((one, gold), drawn))
    low, high = by_variance(gap(spearmanr, gold, one, other), gaps, left_out(spearmanr, gold, one, other), PAIRS - 1)
    pairs = GradedPairs("x", tuple(map(str, range(PAIRS))), ("",) * PAIRS, tuple(gold.tolist()), ("",) * PAIRS)
    found = judged(PairJudge(pairs), np.stack([one, one + gold]), other)
    assert found.before == pytest.approx(100 * spearmanr(one, gold)[0])
    assert found.before_as_trained == pytest.approx(100 * spearmanr(one + gold, gold)[0])
    assert found.after == pytest.approx(100 * spearmanr(other, gold)[0])
    assert found.difference == pytest.approx(found.after - found.before)
    many = difference(gold, one, other, resamples=10_000, seed=7)
    assert [float(many.low), float(many.high)] == pytest.approx([low, high], abs=0.03 * (high - low))
    assert [found.low, found.high] == pytest.approx([low, high], abs=0.07 * (high - low))  # a thousand resamples
    assert ("better" if low > 0 else "worse" if high < 0 else "chance") == kind, "the premise"
    found = judged(PairJudge(pairs), np.stack([one, one]), other)  # all of the difference is due to training
    assert of_run(RunVerdict(test=found), {"test": ElsewhereVerdict("x", PAIRS, PAIRS, SPEARMAN, found)}).kind == kind
    assert bool(difference(gold, one, other).sure) == (kind != "chance")


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
    scores = finish(kinds.judged(given).measured(find(str(model)), Settings()))
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
    accuracy, _ = BinaryClassificationEvaluator.find_best_acc_and_threshold(distinct, gold, True)
    assert METRICS[BEST_ACCURACY].of_pairs(gold, distinct) == pytest.approx(accuracy, abs=1e-12)


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
