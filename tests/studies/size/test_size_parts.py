"""Test the parts of the size-quality picture: projections, formats, the front and the judge of labelled texts."""

import math

import numpy as np
import pytest
import torch
from sentence_transformers.util import quantize_embeddings
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from explorer.data.labelled.labelled_sets import LabelledSet
from explorer.data.text_sets import Labelled
from explorer.errors import BadChoice
from explorer.evaluating.probes.logistic import STRENGTHS, predictions
from explorer.evaluating.tasks.judges import SEED, LabelJudge
from explorer.measuring.scores.correlation import unit
from explorer.measuring.scores.verdict import Verdict
from explorer.progress import finish
from explorer.studies.size.points import (
    BITS,
    COSTS,
    FLOAT16,
    INT8,
    STORAGES,
    Point,
    Size,
    bytes_of,
    compared,
    fitted,
    front,
    ranges_of,
    step_of,
)


@pytest.fixture
def vectors():
    random = np.random.default_rng(0)
    return (random.normal(size=(60, 16)) * np.geomspace(3, 0.1, 16) + 0.5).astype(np.float32)


@pytest.mark.parametrize("dimensions", [1, 5, 16])
def test_pca_is_that_of_scikit_learn(vectors, dimensions):
    ours = fitted("pca", vectors[:40], 16).onto(dimensions)
    exact = vectors.astype(np.float64)  # in float32 scikit-learn's own is off by 1e-5 on some processors
    theirs = PCA(dimensions).fit(exact[:40]).transform(exact)
    assert np.abs(np.abs(ours(vectors)) - np.abs(theirs)).max() < 2e-6  # signs are free
    dense = ours.as_dense()
    assert np.allclose(dense(torch.from_numpy(vectors)).numpy(), ours(vectors), atol=1e-5)


def test_the_first_dimensions_are_the_vectors_cut_off(vectors):
    assert np.array_equal(fitted("first", vectors[:3], 5)(vectors), vectors[:, :5])


def test_pca_of_too_few_sentences_names_both_numbers(vectors):
    with pytest.raises(BadChoice, match=r"onto 9 dimensions needs more than 9 distinct sentences .* but there are 9 "):
        fitted("pca", vectors[:9], 9)


def test_int8_is_what_sentence_transformers_makes_of_the_ranges(vectors):
    known, step = unit(vectors), step_of(unit(vectors[:40]))
    ranges = np.repeat([[one] for one in ranges_of(step)], 16, axis=1)
    theirs = quantize_embeddings(known, precision="int8", ranges=ranges)
    ours = compared(INT8, known, step)
    assert np.array_equal(ours, theirs)
    inside = np.abs(known) <= 127 * step
    assert np.abs(ours * step - known)[inside].max() <= step * 0.5001  # the nearest code
    assert inside[:40].all()


def test_bits_are_compared_by_their_hamming_distance(vectors):
    known = unit(vectors)
    ours = compared(BITS, known, 1.0)
    packed = quantize_embeddings(known, precision="ubinary")
    different = np.unpackbits(packed[:, None] ^ packed[None], axis=2).sum(axis=2)
    assert np.allclose(unit(ours) @ unit(ours).T, 1 - 2 * different / 16, atol=1e-6)


def test_bytes_of_a_vector():
    assert [bytes_of(name, 20) for name in STORAGES] == [80, 40, 20, 3]
    assert np.array_equal(compared(FLOAT16, np.float32([[0.1]]), 1.0), [[np.float32(np.float16(0.1))]])


def point(score, speed, size=100) -> Point:
    return Point("model", Size(1, "mean", size, INT8), Verdict(exported=score), size, 5, speed, 1.0)


def test_the_front_is_what_no_other_point_beats():
    random = np.random.default_rng(1)
    points = [point(*random.integers(0, 6, 2).astype(float), int(size)) for size in random.integers(1, 6, 60)]
    points.append(point(math.nan, 99.0))

    def beats(one, other):
        ours, theirs = ((each.score, each.sentences_per_second, -each.vector_bytes) for each in (one, other))
        return ours != theirs and all(mine >= yours for mine, yours in zip(ours, theirs, strict=True))

    slow = [one for one in points[:-1] if not any(beats(other, one) for other in points[:-1])]
    assert front(points, ["sentences per second", "bytes per vector"]) == slow
    assert set(slow) <= set(front(points, tuple(COSTS)))


@pytest.fixture
def task():
    random = np.random.default_rng(2)
    texts = tuple(f"text {number}" for number in range(240))
    labels = tuple("abc"[number % 3] for number in range(240))
    train, test = (
        Labelled(name, texts[part], labels[part]) for name, part in (("train", slice(160)), ("test", slice(160, 240)))
    )
    centres, noise = random.normal(size=(3, 8)), random.normal(size=(240, 8))
    vectors = {text: centres[number % 3] + noise[number] for number, text in enumerate(texts)}
    return LabelledSet("letters", train, None, test), vectors


def of(vectors, texts) -> torch.Tensor:
    return torch.tensor(np.array([vectors[text] for text in texts]), dtype=torch.float32)


def test_labels_are_judged_by_logistic_regression_with_one_c(task):
    given, vectors = task
    judge = LabelJudge(given)
    settled = judge.settled(of(vectors, judge.texts))
    assert settled.strength in STRENGTHS
    items = settled.items(of(vectors, settled.texts))
    x, wanted = (of(vectors, rows.texts).numpy() for rows in (given.train, given.test))
    scaler = StandardScaler().fit(x)
    theirs = LogisticRegression(C=settled.strength, tol=1e-8, max_iter=9999).fit(
        scaler.transform(x), given.train.labels
    )
    right = theirs.predict(scaler.transform(wanted)) == np.array(given.test.labels)
    assert items.sum() == right.sum()
    assert settled.score(items) == pytest.approx(100 * right.mean())
    # the C that the folds choose is that of the full protocol
    full = judge.items(of(vectors, judge.texts))
    assert np.array_equal(full, items)
    data = judge._data(of(vectors, judge.texts))
    assert np.array_equal(finish(predictions(data, SEED)) == data.scored.y, full.astype(bool))


def test_rows_without_a_test_split_are_predicted_from_the_other_folds(task):
    given, vectors = task
    judge = LabelJudge(LabelledSet("letters", given.train)).settled(
        of(vectors, tuple(dict.fromkeys(given.train.texts)))
    )
    items = judge.items(of(vectors, judge.texts))
    assert len(items) == len(given.train)
    assert 60 < judge.score(items) < 100
