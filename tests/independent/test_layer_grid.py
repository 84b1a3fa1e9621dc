"""Test every cell of the grid of layer scores against plain transformers, loops over tokens, and scipy."""

import numpy as np
import pytest
import torch
from scipy.stats import pearsonr, spearmanr

from explorer.data.text_sets import GradedPairs
from explorer.encoding.read.pooling import parse
from explorer.measuring.scores.layer_scores import score_layers
from explorer.progress import finish
from tests.methods.rows import MANY
from tests.tiny_models import POSITIONS

LAST = 5
ROWS = [*((layer,) for layer in range(LAST + 1)), (0, LAST), (1, LAST), (LAST - 1, LAST)]
CELLS = [(row, pooling) for row in ROWS for pooling in ("cls", "mean", "max")]
COUNT, OF_FIRST = 24, 9  # pairs, of which so many are of the first sub-corpus
METRICS = {"Spearman": spearmanr, "Pearson": pearsonr}


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
    return np.array(
        [max(column) if pooling == "max" else sum(column) / len(column) for column in zip(*tokens, strict=True)]
    )


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
        assert all(
            np.isnan(scores.score(reading, metric, way)) for metric in METRICS for way in ("all", "mean", "wmean")
        )
        return
    assert np.diff(np.unique(slow)).min() > 1e-6, "otherwise rounding could change a rank"
    gold, inside = np.array(pairs.gold), np.array([part == "A" for part in pairs.parts])
    for metric, correlation in METRICS.items():
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
