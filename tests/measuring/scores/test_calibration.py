"""Test what a cosine means against scikit-learn, scipy, slow loops and a simulation.

`python -m tests.measuring.scores.test_calibration` runs the simulation at full length: how often the intervals of
thresholds hold the true threshold, in percent.
"""

from itertools import combinations

import numpy as np
import pytest
import torch
from scipy.stats import binomtest, norm, sem
from sklearn.calibration import calibration_curve
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, f1_score, precision_recall_curve, precision_score, recall_score

from explorer.errors import BadChoice, BadScores, TooFewRows
from explorer.measuring.comparing import similarity_text
from explorer.measuring.scores import calibration, probability_curve, similarity
from explorer.measuring.scores.calibration import LabelledCosines, MatchOptions, calibrate
from explorer.measuring.scores.judge import Share
from explorer.measuring.scores.verdict import BETTER, CHANCE, WORSE

SHARE, MATCH, OTHER = 0.4, (0.75, 0.12), (0.5, 0.15)  # of pairs that match, and mean and deviation of their cosines


def drawn(pairs: int, seed: int, name: str = "pairs", digits: int = 12) -> LabelledCosines:
    chance = np.random.default_rng(seed)
    matches = chance.random(pairs) < SHARE
    cosines = np.where(matches, chance.normal(*MATCH, pairs), chance.normal(*OTHER, pairs))
    return LabelledCosines(name, matches.astype(float), cosines.round(digits))


DEV, TEST = drawn(1200, 1, "dev", digits=2), drawn(900, 2, "test", digits=2)  # cosines that tie
LABELS, TEST_LABELS = DEV.gold == 1, TEST.gold == 1


def test_both_curves_are_those_of_scikit_learn() -> None:
    everywhere = np.linspace(-1, 1, 777)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(DEV.cosines, DEV.gold)
    np.testing.assert_allclose(
        probability_curve.isotonic(DEV.cosines, LABELS).at(everywhere), theirs.predict(everywhere)
    )
    # Platt's targets: each pair as a match and as another pair, with these weights
    targets = np.where(LABELS, (LABELS.sum() + 1) / (LABELS.sum() + 2), 1 / ((~LABELS).sum() + 2))
    rows, count = np.tile(DEV.cosines, 2)[:, None], len(targets)
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000)
    model.fit(rows, np.repeat([1, 0], count), sample_weight=np.concatenate([targets, 1 - targets]))
    found = probability_curve.logistic(DEV.cosines, LABELS).at(everywhere)
    np.testing.assert_allclose(found, model.predict_proba(everywhere[:, None])[:, 1], atol=2e-4)


def by_folds(cosines: np.ndarray, labels: np.ndarray) -> list[np.ndarray]:
    """Squared errors of isotonic, by scikit-learn, and of logistic on pairs of other folds, drawn row by row."""
    chance, folds = np.random.default_rng(probability_curve.SEED), np.zeros(len(labels), dtype=int)
    for side in (labels, ~labels):
        for number, row in enumerate(chance.permutation(np.flatnonzero(side))):
            folds[row] = number % 5
    errors: dict[str, list[float]] = {"isotonic": [], "logistic": []}
    for fold in range(5):
        kept, out = folds != fold, folds == fold
        theirs = IsotonicRegression(out_of_bounds="clip").fit(cosines[kept], labels[kept])
        errors["isotonic"] += list((theirs.predict(cosines[out]) - labels[out]) ** 2)
        curve = probability_curve.logistic(cosines[kept], labels[kept])
        errors["logistic"] += list((curve.at(cosines[out]) - labels[out]) ** 2)
    return [np.array(every) for every in errors.values()]


def stepped(pairs: int, seed: int) -> LabelledCosines:
    """Pairs that match in 90 % of cases where cosines are in the middle or above, else in 10 %: no logistic curve."""
    chance = np.random.default_rng(seed)
    cosines = chance.uniform(0, 1, pairs)
    matches = chance.random(pairs) < np.where(cosines > 0.5, 0.9, 0.1)
    return LabelledCosines("stepped", matches.astype(float), cosines)


def smooth(pairs: int, seed: int) -> LabelledCosines:
    """Pairs that match with a logistic probability of their cosine."""
    chance = np.random.default_rng(seed)
    cosines = chance.uniform(0, 1, pairs)
    matches = chance.random(pairs) < 1 / (1 + np.exp(-8 * (cosines - 0.5)))
    return LabelledCosines("smooth", matches.astype(float), cosines)


@pytest.mark.parametrize("pairs", [smooth(2000, 3), smooth(400, 4), stepped(600, 5), stepped(3000, 6)])
def test_the_curve_is_chosen_by_cross_validation_on_dev_and_not_by_the_number_of_pairs(pairs) -> None:
    found = calibrate(pairs, TEST)
    isotonic, logistic = by_folds(pairs.cosines, pairs.gold == 1)
    scores = {"isotonic": isotonic.mean(), "logistic": logistic.mean()}
    assert found.choice.scores == pytest.approx(scores, abs=1e-9)
    assert found.choice.error == pytest.approx(sem(logistic - isotonic), abs=1e-9)
    assert (found.chosen == "isotonic") == (scores["logistic"] - scores["isotonic"] > found.choice.error)
    assert (found.chosen == "isotonic") == (pairs.name == "stepped"), "each has the curve that it follows"
    np.testing.assert_array_equal(found.squared, (found.curves[found.chosen].at(TEST.cosines) - TEST_LABELS) ** 2)


def test_a_curve_stays_finite_where_cosines_separate_the_matches() -> None:
    cosines = np.concatenate([np.linspace(0, 0.4, 30), np.linspace(0.6, 1, 30)])
    curve = probability_curve.logistic(cosines, cosines > 0.5)
    assert 0 < curve.at(0.0) < 0.1
    assert 0.9 < curve.at(1.0) < 1


def test_reliability_is_that_of_scikit_learn() -> None:
    found = calibrate(DEV, TEST)
    for name, curve in found.curves.items():
        probabilities = curve.at(TEST.cosines)
        of_curve = found.reliability[name]
        assert of_curve.brier == pytest.approx(brier_score_loss(TEST_LABELS, probabilities))
        shares, means = calibration_curve(TEST_LABELS, probabilities, n_bins=calibration.BINS)
        np.testing.assert_allclose([one.matches.value for one in of_curve.bins], shares)
        np.testing.assert_allclose([one.predicted for one in of_curve.bins], means)
        sizes = np.array([one.pairs for one in of_curve.bins])
        assert of_curve.error == pytest.approx((sizes * np.abs(shares - means)).sum() / len(TEST.gold))
        one = of_curve.bins[0]
        theirs = binomtest(round(one.matches.value * one.pairs), one.pairs).proportion_ci(method="wilson")
        assert (one.matches.low, one.matches.high) == pytest.approx((theirs.low, theirs.high))
    np.testing.assert_allclose(found.squared, (found.curve.at(TEST.cosines) - TEST_LABELS) ** 2)


def test_thresholds_do_what_is_asked_and_are_tested_on_other_pairs() -> None:
    best, at_precision, at_recall = calibrate(DEV, TEST, MatchOptions(at_precision=0.8, at_recall=0.9)).thresholds
    for one in (best, at_precision, at_recall):
        assert one.low < one.cosine < one.high
        called = TEST.cosines >= one.cosine
        assert one.precision.value == pytest.approx(precision_score(TEST_LABELS, called))
        assert one.recall.value == pytest.approx(recall_score(TEST_LABELS, called))
        assert one.f1.value == pytest.approx(f1_score(TEST_LABELS, called))
    precision, recall, _ = precision_recall_curve(DEV.gold, DEV.cosines)
    f1 = 2 * precision * recall / (precision + recall)
    assert f1_score(LABELS, DEV.cosines >= best.cosine) == pytest.approx(f1.max(), abs=0.01)  # counts are smoothed
    assert precision_score(LABELS, DEV.cosines >= at_precision.cosine) == pytest.approx(0.8, abs=0.01)
    of_matches = np.sort(DEV.cosines[LABELS])
    assert (of_matches >= at_recall.cosine).mean() >= 0.9
    assert (of_matches > at_recall.cosine).mean() < 0.9
    noise = LabelledCosines("noise", DEV.gold, DEV.cosines[::-1])
    unreached = calibrate(noise, TEST, MatchOptions(at_precision=0.9)).thresholds[1]
    assert unreached.cosine is None
    assert "no threshold reaches it" in similarity_text.threshold_text(unreached)


def test_a_threshold_is_written_with_each_share_and_its_interval_in_percent():
    shares = [Share(0.8125, 0.7804, 0.8406), Share(0.5, 0.401, 0.5996), Share(0.619, 0.5, 0.7)]
    found = calibration.Threshold(calibration.BEST_F1, None, 0.7134, 0.69, 0.7251, *shares)
    assert similarity_text.threshold_text(found) == (
        "best F1: cosine 0.713 (95 % CI 0.690 to 0.725); on test precision 81.2 % (78.0 to 84.1), recall 50.0 % "
        "(40.1 to 60.0), F1 61.9 % (50.0 to 70.0)"
    )


def test_what_is_a_match_follows_from_the_scores_or_is_stated() -> None:
    assert calibration.match_from(np.array([0.0, 5.0, 3.0])) == 4
    assert calibration.match_from(np.array([0.0, 1.0])) == 1
    assert calibration.match_from(np.array([0.0, 5.0, 3.0]), 3.5) == 3.5
    scored = LabelledCosines("scored", np.linspace(0, 5, 200), np.linspace(0, 1, 200))
    assert calibrate(scored, scored, MatchOptions(match=2.5)).dev.matches == 100


@pytest.mark.parametrize(
    ("gold", "cosines", "error", "words"),
    [
        (np.arange(12) % 2, np.linspace(0, 1, 12), TooFewRows, "12 pairs: 6 match .* at least 20 of each"),
        (np.ones(200), np.linspace(0, 1, 200), BadScores, "All 200 gold scores are 1"),
        (np.arange(200) % 2, np.full(200, 0.3), BadScores, "cosines of pairs are all equal"),
        (np.arange(200) % 2, np.full(200, np.nan), BadScores, "not numbers"),
    ],
)
def test_pairs_that_say_nothing_are_refused(gold, cosines, error, words) -> None:
    pairs = LabelledCosines("pairs", gold.astype(float), cosines)
    with pytest.raises(error, match=words):
        calibrate(pairs, pairs)


def test_a_score_that_no_pair_has_and_a_precision_that_cannot_be_are_refused() -> None:
    with pytest.raises(TooFewRows, match=r"0 match \(a gold score of 7 or more\) .* \(0 to 1 occur\)"):
        calibrate(DEV, TEST, MatchOptions(match=7))
    with pytest.raises(BadChoice, match=r"at_precision cannot be '1\.5'"):
        MatchOptions().knobs["at_precision"].checked("1.5")


def test_random_pairs_place_a_cosine_as_a_slow_loop_does() -> None:
    vectors = torch.randn(60, 8, generator=torch.Generator().manual_seed(1))
    every = similarity.random_pairs(vectors, "text")
    slow = [float(torch.cosine_similarity(vectors[i].double(), vectors[j].double(), 0)) for i, j in
            combinations(range(60), 2)]  # fmt: skip
    np.testing.assert_allclose(every.cosines, np.sort(slow), atol=1e-6)
    assert every.share(0.5) == pytest.approx(np.mean(np.array(slow) >= 0.5))
    assert every.place(0.999) == "under 0.056 %"
    some = similarity.random_pairs(vectors, "text", most=1000)
    assert some.share(0.2) == pytest.approx(every.share(0.2), abs=0.04)
    assert (some.cosines < 0.999).all(), "no sentence is paired with itself"


def test_the_file_and_its_lines_of_code_give_the_same_numbers(tmp_path, capsys) -> None:
    found = calibrate(DEV, TEST)
    text = torch.randn(80, 4, generator=torch.Generator().manual_seed(2))
    meaning = similarity.CosineMeaning("m", "mean", found, similarity.random_pairs(text, "text"))
    (tmp_path / similarity.FILE).write_bytes(similarity.as_file(meaning, meaning))
    lines = similarity.code(meaning).replace("path/to/this/folder", str(tmp_path))
    assert len(lines.split("\n\n")[1].splitlines()) == 4, "after the import"
    vectors = np.array([[1.0, 0.0], [0.7, (1 - 0.7**2) ** 0.5]])
    exec(lines, {"vectors": vectors})
    (_, match), (_, top) = (line.split() for line in capsys.readouterr().out.splitlines())
    assert float(match) == pytest.approx(float(found.curve.at(0.7)), abs=1e-5)
    assert float(top) == pytest.approx(meaning.random_pairs.share(0.7), abs=0.01)
    assert meaning.words(0.7).startswith(f"match {100 * float(match):.0f} %, top ")


def test_a_better_model_is_called_better_and_the_same_one_not() -> None:
    sides = [similarity.CosineMeaning(name, "", calibrate(dev, test)) for name, dev, test in (
        ("noise", LabelledCosines("dev", DEV.gold, DEV.cosines[::-1]),
         LabelledCosines("test", TEST.gold, TEST.cosines[::-1])), ("model", DEV, TEST))]  # fmt: skip
    kinds = [similarity_text.change(*two).kind for two in (sides, sides[::-1], sides[1:] * 2)]
    assert kinds == [BETTER, WORSE, CHANCE]


def covered(pairs: int, samples: int, share: float, match: tuple[float, float], other: tuple[float, float]):
    """How often in percent the intervals of best F1, a precision and a recall of 0.9 hold the true thresholds."""
    cosines = np.linspace(-0.5, 1.5, 200_001)
    true, wrong = share * norm.sf(cosines, *match), (1 - share) * norm.sf(cosines, *other)
    middle = int(np.searchsorted(cosines, (match[0] + other[0]) / 2))
    asked = round(float(true[middle] / (true[middle] + wrong[middle])) + 0.03, 2)  # a precision that is reached
    exact = [
        cosines[(2 * true / (true + wrong + share)).argmax()],
        cosines[(true >= asked * (true + wrong)).argmax()],
        norm.isf(0.9, *match),
    ]
    hits, known = np.zeros(3), np.zeros(3)
    for seed in range(samples):
        chance = np.random.default_rng(seed)
        matches = chance.random(pairs) < share
        found = np.where(matches, chance.normal(*match, pairs), chance.normal(*other, pairs))
        wanted = MatchOptions(at_precision=asked, at_recall=0.9)
        thresholds = list(calibration.thresholds(found, matches, wanted))
        there = [one.cosine is not None for one in thresholds]  # few pairs may have no such precision
        known += there
        hits += [
            one.low <= at <= one.high if is_there else 0
            for one, at, is_there in zip(thresholds, exact, there, strict=True)
        ]
    return (100 * hits / known).round(1).tolist()


def test_the_intervals_of_thresholds_hold_the_true_ones(monkeypatch) -> None:
    monkeypatch.setattr(calibration, "RESAMPLES", 250)
    for held in covered(400, 100, SHARE, MATCH, OTHER):
        assert 89 <= held <= 99, "95 % ± 2, and what 100 samples add"


if __name__ == "__main__":
    for design in ((SHARE, MATCH, OTHER), (0.2, (0.8, 0.08), (0.45, 0.2)), (0.5, (0.7, 0.15), (0.6, 0.15))):
        for count in (200, 1000, 4000):
            print(design, count, covered(count, 1000, *design), flush=True)
