"""Test flow, whitening and WK as a whole: loss and vectors from BERT's layers in plain loops."""

import itertools
import math

import numpy as np
import pytest
import torch

from explorer.encoding.read.parts.flow_map import Flow
from explorer.methods import post_processing
from explorer.progress import finish
from tests.independent.bert import layers, linear, pool, wide
from tests.independent.formulas import mean
from tests.independent.models import FIRST, assert_same
from tests.methods.rows import MANY, vectors_of
from tests.tiny_models import POSITIONS


def read(states, how):
    """A sentence's vector from its layers: one pooling of one layer, or of two that are added and halved."""
    pooling, *at = how
    return pool(sum(states[layer] for layer in at) / len(at), pooling)


READS = {
    "first-last mean": ("mean", 1, -1),
    "first-last mean, from layer 0": ("mean", 0, -1),
    "mean of the last two layers": ("mean", -2, -1),
    "cls": ("cls", -1),
    "max of layers 0 + 2": ("max", 0, 2),
}


def flowed(weights, vector, levels, depth, under="map.flow."):
    """Scale, reverse, couple, in every step; after each level but the last, half of the numbers is final."""
    done = []
    for level, step in itertools.product(range(levels), range(depth)):
        scaling, coupling = (f"{under}{part}.{level * depth + step}" for part in ("scalings", "couplings"))
        vector = scaled(weights, scaling, vector).flip(0)
        half = len(vector) // 2
        inner = scaled(weights, f"{coupling}.scalings.0", weights[f"{coupling}.first.weight"] @ vector[:half])
        inner = weights[f"{coupling}.second.weight"] @ inner.clamp(min=0)
        inner = scaled(weights, f"{coupling}.scalings.1", inner).clamp(min=0)
        shift = linear(weights, f"{coupling}.last", inner) * torch.exp(3 * weights[f"{coupling}.size"])
        vector = torch.cat([vector[:half], vector[half:] + shift])
        if step == depth - 1 and level < levels - 1:
            half = len(vector) // 2
            done.append(vector[half:])
            vector = vector[:half]
    return torch.cat([*done, vector])


def scaled(weights, name, vector):
    """ActNorm, with three times the trained number as the logarithm of the scale."""
    return (vector + weights[f"{name}.shift"]) * torch.exp(3 * weights[f"{name}.size"])


def volume(weights, vector, levels, depth, **how):
    """log |det| of the flow's Jacobian at a vector, from its slopes."""
    slopes = torch.autograd.functional.jacobian(
        lambda x: flowed(weights, x, levels, depth, **how), vector, create_graph=True, vectorize=True
    )
    return torch.linalg.slogdet(slopes).logabsdet


@pytest.mark.parametrize(("levels", "depth", "width"), [(3, 3, 16), (3, 2, 13), (2, 1, 5)])
def test_the_growth_of_a_flow_is_that_of_its_jacobian(levels, depth, width):
    torch.manual_seed(0)
    flow = Flow(width, levels, depth, inner=8).double()
    with torch.no_grad():
        for weight in flow.parameters():
            weight.add_(torch.randn_like(weight) * 0.1)
    weights, given = wide(flow), torch.randn(3, width).double()
    for vector, mapped in zip(given, flow(given), strict=True):
        assert torch.allclose(flowed(weights, vector, levels, depth, under=""), mapped, atol=1e-12)
        assert volume(weights, vector, levels, depth, under="").item() == pytest.approx(flow.growth().item(), abs=1e-9)


@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize("settings", [{}, {"levels": 2, "depth": 1, "inner": 8}], ids=["3 levels", "2 levels"])
def test_the_loss_of_a_flow_is_the_papers(shallow, reads, settings):
    method = shallow.method("flow", reads=reads, **settings)
    shape = settings.get("levels", 3), settings.get("depth", 3)

    def by_hand(weights):
        bits = []
        for sentence in FIRST:
            with torch.no_grad():
                vector = read(layers(weights, shallow.ids(sentence)), READS[reads])
            likely = sum(-0.5 * (number**2 + math.log(2 * math.pi)) for number in flowed(weights, vector, *shape))
            bits.append(-(volume(weights, vector, *shape) + likely) / (len(vector) * math.log(2)))
        return mean(bits)

    assert_same(method, [FIRST], by_hand)


@pytest.mark.parametrize("reads", READS)
def test_a_flow_begins_with_mean_0_and_variance_1_in_every_step(shallow, reads):
    method = shallow.method("flow", reads=reads, levels=1, depth=1)
    finish(method.fit(MANY))
    weights = wide(method)
    first = MANY[:: len(MANY) // 64][:64]  # from all over the text
    with torch.no_grad():
        vectors = torch.stack([read(layers(weights, shallow.ids(one, POSITIONS)), READS[reads]) for one in first])
    spread = ((vectors - vectors.mean(0)) ** 2).mean(0).sqrt() + 1e-6
    assert torch.allclose(weights["map.flow.scalings.0.shift"], -vectors.mean(0), atol=1e-5)
    assert torch.allclose(torch.exp(3 * weights["map.flow.scalings.0.size"]), 1 / spread, rtol=1e-3)


@pytest.mark.parametrize(("reads", "dimensions"), [("first-last mean", 0), ("first-last mean", 6), ("cls", 6)])
def test_whitened_cosines_are_those_of_eigenvectors(shallow, reads, dimensions):
    method = shallow.method("whitening", reads=reads, dimensions=dimensions)
    finish(method.fit(MANY))
    weights = wide(method)
    with torch.no_grad():
        vectors = {
            one: read(layers(weights, shallow.ids(one, POSITIONS)), READS[reads]).numpy() for one in {*MANY, *FIRST}
        }
    fitted = [vectors[one] for one in MANY]
    mean_of_all = sum(fitted) / len(fitted)
    covariance = sum(np.outer(one - mean_of_all, one - mean_of_all) for one in fitted) / (len(fitted) - 1)
    variances, directions = np.linalg.eigh(covariance)
    largest = np.argsort(-variances)[: dimensions or sum(variances > 1e-10 * variances.max())]
    white = [(vectors[one] - mean_of_all) @ directions[:, largest] / np.sqrt(variances[largest]) for one in FIRST]
    expected = [[a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a in white] for b in white]
    found = vectors_of(method, FIRST)
    assert found.shape[1] == len(largest) == (dimensions or 31), "layer norm leaves a plane"
    assert (found @ found.T).numpy() == pytest.approx(np.array(expected), abs=2e-3 if not dimensions else 1e-4)


def test_variances_and_directions_are_those_of_sums_over_rows():
    rows = np.random.default_rng(0).normal(size=(40, 5)) * [3, 1, 2, 0.5, 4]
    centred = rows - rows.mean(0)
    directions, variances = post_processing.principal(torch.from_numpy(centred))
    covariance = np.array([[sum(row[i] * row[j] for row in centred) / 39 for i in range(5)] for j in range(5)])
    for direction, variance in zip(directions.T.numpy(), variances.numpy(), strict=True):
        assert covariance @ direction == pytest.approx(variance * direction, abs=1e-9)
    assert list(variances) == sorted(variances, reverse=True)


def triangle(columns):
    """R of a QR by Gram and Schmidt."""
    basis, upper = [], np.zeros((len(columns), len(columns)))
    for place, column in enumerate(columns):
        rest = column.astype(float).copy()
        for row, direction in enumerate(basis):
            upper[row, place] = direction @ rest
            rest -= upper[row, place] * direction
        upper[place, place] = np.linalg.norm(rest)
        basis.append(rest / upper[place, place])
    return upper


def word(states, window, whole):
    """One word's layers (layer, width) as one vector, and how much the word changes: SBERT-WK, section III."""
    aligned, novel = [], []
    for layer in range(len(states)):
        below = range(max(0, layer - window), layer) if whole or layer >= window else ()
        above = range(layer + 1, min(len(states), layer + window + 1))
        upper = triangle([*(states[other] for other in (*below, *above)), states[layer]])
        own, others = upper[:, -1], upper[:-1, :-1]
        toward = sum(column / np.linalg.norm(column) for column in others.T) / others.shape[1]
        aligned.append(1 / (2 * len(upper) * (toward @ own[:-1] / np.linalg.norm(own[:-1]))))
        novel.append(abs(own[-1]) / np.linalg.norm(own))
    shares = [(a / sum(aligned) + n / sum(novel)) / 2 for a, n in zip(aligned, novel, strict=True)]
    steps = [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in itertools.pairwise(states)]
    return sum(share * state for share, state in zip(shares, states, strict=True)), np.var(steps)


@pytest.mark.parametrize(
    "settings",
    [{}, {"first_layer": 0}, {"first_layer": 1, "window": 1}, {"first_layer": 0, "window": 3, "whole_window": True}],
    ids=str,
)
def test_wk_weights_layers_and_words_as_the_paper(deep, settings):
    method = deep.method("wk", **settings)
    weights = wide(method)
    first = min(settings.get("first_layer", 4), 3)  # of five layers, three at least
    expected = []
    for sentence in FIRST:
        with torch.no_grad():
            states = torch.stack(layers(weights, deep.ids(sentence, POSITIONS))[first:], dim=1).numpy()
        found = [word(one, settings.get("window", 2), settings.get("whole_window", False)) for one in states[:-1]]
        total = sum(change for _, change in found)
        expected.append(sum(change / total * vector for vector, change in found))
    found = vectors_of(method, FIRST).numpy()
    assert np.abs(expected).max() > 0.1
    assert found == pytest.approx(np.array(expected), abs=1e-3)
