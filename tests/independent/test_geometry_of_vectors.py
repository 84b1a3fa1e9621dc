"""Test measures of vectors against formulas of their papers, other libraries and loops."""

import math

import numpy as np
import pytest
from scipy.stats import skew
from sklearn.manifold import trustworthiness

from explorer.measuring.geometry.vector_geometry import alignment, alike, geometry, shift
from explorer.measuring.maps import trustworthiness as faithfulness_in_blocks
from explorer.measuring.maps.trustworthiness import faithfulness
from explorer.measuring.neighbours.vector_index import neighbourhoods
from explorer.progress import finish

DRAWN, WIDTH = 40, 6


@pytest.fixture(scope="module")
def vectors():
    """Two sets of vectors (sentence, width), off centre and longer in some directions."""
    random = np.random.default_rng(0)
    one = random.normal(size=(DRAWN, WIDTH)) * np.linspace(0.3, 2, WIDTH) + 0.7
    other = one[:, :4] @ random.normal(size=(4, 5)) + random.normal(size=(DRAWN, 5))
    return one.astype(np.float32), other.astype(np.float32)


def cosine(a, b):
    a, b = ([float(x) for x in side] for side in (a, b))
    return math.fsum(x * y for x, y in zip(a, b, strict=True)) / math.hypot(*a) / math.hypot(*b)


def mean(numbers):
    numbers = list(numbers)
    return math.fsum(numbers) / len(numbers)


def test_cka_is_the_agreement_of_two_centred_kernels(vectors):
    """Kornblith and others 2019, equations 2 and 4: HSIC of two linear kernels, by the root of both with themselves."""

    def kernel(side):
        plain = [[math.fsum(float(x) * float(y) for x, y in zip(a, b, strict=True)) for b in side] for a in side]
        rows, whole = [mean(row) for row in plain], mean(map(mean, plain))
        return [[plain[i][j] - rows[i] - rows[j] + whole for j in range(DRAWN)] for i in range(DRAWN)]

    def hsic(one, other):
        return math.fsum(one[i][j] * other[i][j] for i in range(DRAWN) for j in range(DRAWN)) / (DRAWN - 1) ** 2

    one, other = map(kernel, vectors)
    expected = hsic(one, other) / math.sqrt(hsic(one, one) * hsic(other, other))
    assert 0.1 < expected < 0.9
    assert alike(*vectors) == pytest.approx(expected, abs=1e-9)
    assert alike(*reversed(vectors)) == pytest.approx(expected, abs=1e-9)


def test_a_shift_is_what_the_mean_cosine_lacks_of_1(vectors):
    moved = vectors[0] + np.random.default_rng(1).normal(size=(DRAWN, WIDTH)).astype(np.float32)
    expected = 1 - mean(cosine(a, b) for a, b in zip(vectors[0], moved, strict=True))
    assert shift(vectors[0], moved) == pytest.approx(expected, abs=1e-6)


def test_alignment_and_uniformity_are_those_of_wang_and_isola(vectors):
    """Wang and Isola 2020, section 4.1: α = 2, t = 2, on vectors of length 1."""
    rows = [[float(x) / math.hypot(*map(float, row)) for x in row] for row in vectors[0]]
    apart = [[math.fsum((x - y) ** 2 for x, y in zip(a, b, strict=True)) for b in rows] for a in rows]
    found = geometry(vectors[0])
    pairs = [(i, j) for i in range(DRAWN) for j in range(DRAWN) if i != j]
    assert found.uniformity == pytest.approx(math.log(mean(math.exp(-2 * apart[i][j]) for i, j in pairs)), abs=1e-5)
    assert found.random_pairs == pytest.approx(mean(cosine(rows[i], rows[j]) for i, j in pairs), abs=1e-5)
    positives = [(i, i + DRAWN // 2) for i in range(DRAWN // 2)]
    expected = mean(apart[i][j] for i, j in positives)
    assert alignment(vectors[0][: DRAWN // 2], vectors[0][DRAWN // 2 :]) == pytest.approx(expected, abs=1e-5)


def test_hubness_is_the_skewness_of_how_often_a_sentence_is_a_neighbour(vectors):
    """Radovanović, Nanopoulos and Ivanović 2010, section 2: of the counts among the 10 nearest."""
    often = [0] * DRAWN
    for own in range(DRAWN):
        others = sorted((other for other in range(DRAWN) if other != own), key=lambda j: -cosine(*vectors[0][[own, j]]))
        for other in others[:10]:
            often[other] += 1
    assert sum(often) == 10 * DRAWN
    assert abs(skew(often)) > 0.05
    assert geometry(vectors[0]).hubness == pytest.approx(skew(often), abs=1e-9)


def test_the_share_of_the_first_directions_is_that_of_the_covariance(vectors):
    rows = np.array([row / math.hypot(*row) for row in vectors[0].astype(float)])
    centre = [mean(column) for column in rows.T]
    covariance = [
        [math.fsum((row[i] - centre[i]) * (row[j] - centre[j]) for row in rows) for j in range(WIDTH)]
        for i in range(WIDTH)
    ]
    variances = sorted(np.linalg.eigvalsh(covariance), reverse=True)
    found = geometry(vectors[0])
    assert found.first_direction == pytest.approx(variances[0] / sum(variances), abs=1e-6)
    assert found.first_three == pytest.approx(sum(variances[:3]) / sum(variances), abs=1e-6)


def test_trustworthiness_is_that_of_venna_and_kaski(vectors, monkeypatch):
    """Venna and Kaski 2001: every false neighbour in the map costs how far beyond the k nearest it really is."""
    monkeypatch.setattr(faithfulness_in_blocks, "_ROWS", 13)
    k, one = 15, vectors[0]
    places = (one[:, :2] + np.random.default_rng(2).normal(size=(DRAWN, 2))).astype(np.float32)
    cost = kept = 0
    for own in range(DRAWN):
        others = [other for other in range(DRAWN) if other != own]
        near = sorted(others, key=lambda j: -cosine(one[own], one[j]))
        in_map = sorted(others, key=lambda j: math.dist(places[own], places[j]))[:k]
        cost += sum(near.index(j) + 1 - k for j in in_map if j not in near[:k])
        kept += len(set(in_map) & set(near[:k]))
    found = finish(faithfulness(one, finish(neighbourhoods(one)), places, ""))
    assert (found.nearest, found.sentences) == (k, DRAWN)
    assert found.trustworthiness == pytest.approx(1 - 2 / (DRAWN * k * (2 * DRAWN - 3 * k - 1)) * cost)
    assert found.trustworthiness == pytest.approx(trustworthiness(one, places, n_neighbors=k, metric="cosine"))
    assert found.kept == pytest.approx(kept / (DRAWN * k))
    assert 0.5 < found.trustworthiness < 0.99
