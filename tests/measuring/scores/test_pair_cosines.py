"""Test cosines in float64, in chunks: close ones keep their ranks, equal vectors tie, unrankable ones are missing."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import rankdata, spearmanr

from explorer.data import sample
from explorer.data.text_sets import GradedPairs
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import find
from explorer.encoding.read.pooling import GRID_POOLINGS, OWN, parse, readings
from explorer.measuring.scores.correlation import spearman
from explorer.measuring.scores.layer_scores import score_layers
from explorer.measuring.scores.pair_cosines import chunks, exact_cosines
from explorer.progress import finish

ALL = np.arange(60)


@pytest.fixture(scope="module")
def nearly_constant():
    """Vectors (sentence, width) in float32 that differ from one another by about 1e-4 of their length."""
    random = np.random.default_rng(0)
    return torch.from_numpy((random.normal(size=48) + 1e-5 * random.normal(size=(120, 48))).astype(np.float32))


@pytest.fixture(scope="module")
def rounded_scores():
    return finish(score_layers(load(find("all-MiniLM-L6-v2"), precision="bfloat16", device="cpu"), sample.pairs()))


def slow_cosine(one, other):
    """In numpy's widest floats, from float32 vectors."""
    one, other = one.numpy().astype(np.longdouble), other.numpy().astype(np.longdouble)
    return (one * other).sum() / np.sqrt((one * one).sum() * (other * other).sum())


def test_nearly_constant_cosines_rank_as_in_wider_floats_and_equal_vectors_tie_exactly(nearly_constant):
    found = exact_cosines(nearly_constant, ALL, ALL + 60)
    slow = np.array([slow_cosine(nearly_constant[place], nearly_constant[place + 60]) for place in ALL])
    assert np.ptp(found) < 1e-8, "the premise: float32 has steps of 6e-8 here"
    assert np.array_equal(rankdata(found), rankdata(slow.astype(np.float64)))
    gold = np.random.default_rng(1).uniform(0, 5, 60)
    assert spearman(gold, found) == pytest.approx(spearmanr(gold, slow.astype(np.float64))[0], abs=1e-12)
    vectors = torch.cat([nearly_constant, nearly_constant[:60]])
    assert (exact_cosines(vectors, ALL, ALL + 120) == 1).all()
    assert np.array_equal(exact_cosines(vectors, ALL, ALL + 60), exact_cosines(vectors, ALL + 60, ALL))
    vectors = torch.tensor([[0.0, 0.0], [3.0, 4.0], [float("nan"), 1.0], [-6.0, -8.0]])
    found = exact_cosines(vectors, np.array([0, 0, 1, 1, 1]), np.array([0, 1, 1, 2, 3]))
    assert found == pytest.approx([0, 0, 1, float("nan"), -1], nan_ok=True)


def test_sentences_of_the_same_tokens_tie(bundled_encoder):
    first = ("A small boat.", "The kettle boils over and over again in the kitchen.", "nobody came")
    pairs = GradedPairs("case", first, tuple(text.upper() for text in first), (1.0, 2.0, 3.0), ("",) * 3)
    scores = finish(score_layers(bundled_encoder, pairs))
    assert (scores.cosines == 1).all()
    assert (scores.own == 1).all()


class Recorder:
    """An encoder that keeps the vectors it gives."""

    def __init__(self, encoder):
        self.encoder, self.grid, self.own = encoder, {}, {}

    def __getattr__(self, name):
        return getattr(self.encoder, name)

    def views_of(self, ids, also=()):
        for views in self.encoder.views_of(ids, also):
            for at, place in enumerate(views.positions):
                self.grid[tuple(ids[place])] = views.grid[:, :, at].clone()
                self.own[tuple(ids[place])] = views.own[at].clone()
            yield views


def test_every_score_is_that_of_scipy_on_wider_cosines_of_the_same_vectors(bundled_encoder):
    pairs, recorder = sample.pairs(), Recorder(bundled_encoder)
    scores = finish(score_layers(recorder, pairs))
    ids = dict(zip(pairs.sentences, map(tuple, bundled_encoder.tokens(pairs.sentences).ids), strict=True))
    both = [(ids[one], ids[other]) for one, other in zip(pairs.first, pairs.second, strict=True)]
    for reading in (*readings(6), OWN):
        if reading == OWN:
            slow = [slow_cosine(recorder.own[one], recorder.own[other]) for one, other in both]
        else:
            at = scores.place(reading)
            slow = [slow_cosine(recorder.grid[one][at], recorder.grid[other][at]) for one, other in both]
        if reading.title == "cls of layer 0":
            assert np.isnan(scores.score(reading))
            continue
        wanted = 100 * spearmanr(pairs.gold, np.array(slow, dtype=np.float64))[0]
        assert scores.score(reading) == pytest.approx(wanted, abs=0.01), reading.title


def test_what_bfloat16_shows_is_within_half_a_point_of_float32_and_the_rest_is_missing(rounded_scores, bundled_scores):
    missing = [reading.title for reading in rounded_scores.not_measured]
    assert "cls of layer 3" in missing
    assert "cls of layer 0" not in missing, "it is constant in every precision"
    assert len(missing) <= 3
    assert bundled_scores.not_measured == ()
    for reading in (*readings(6), OWN):
        if reading.title in missing:
            assert np.isnan(rounded_scores.score(reading))
            assert np.isnan(rounded_scores.cosines_of(reading)).all()
        elif np.isfinite(bundled_scores.score(reading)):
            assert rounded_scores.score(reading) == pytest.approx(bundled_scores.score(reading), abs=0.5)


def test_a_cell_that_is_not_measured_is_never_the_best(rounded_scores):
    lost = rounded_scores.cosines.copy()
    lost[rounded_scores.place(rounded_scores.best())] = np.nan
    again = replace(rounded_scores, cosines=lost)
    assert again.best() not in (None, rounded_scores.best())
    assert rounded_scores.best() in again.not_measured
    assert rounded_scores.best().title in again.not_measured_text
    assert again.table()[parse("mean of layer 0", 6).row.layers[0], GRID_POOLINGS.index("mean")] > 0


def pairs_of(count: int, sentences: int):
    chance = np.random.default_rng(0)
    first, second = chance.integers(0, sentences, (2, count))
    # only sentences that occur
    _, places = np.unique(np.concatenate([first, second]), return_inverse=True)
    first, second = places[:count], places[count:]
    return first, second, chance.integers(3, 40, places.max() + 1)


@pytest.mark.parametrize(("count", "sentences", "most"), [(200, 1000, 50), (200, 20, 10), (1, 2, 2), (50, 1, 2)])
def test_every_pair_is_in_one_chunk_of_at_most_so_many_sentences(count, sentences, most):
    first, second, lengths = pairs_of(count, sentences)
    seen = []
    for chunk in chunks(first, second, lengths, most):
        assert len({*first[chunk], *second[chunk]}) <= most
        seen.extend(chunk.tolist())
    assert sorted(seen) == list(range(count))


def test_pairs_that_share_a_sentence_stay_together_and_the_longest_family_comes_first():
    first, second = np.array([0, 3, 6, 1, 4, 7]), np.array([1, 4, 7, 2, 5, 8])
    read = [{*first[chunk].tolist(), *second[chunk].tolist()} for chunk in chunks(first, second, [5] * 9, 3)]
    assert sorted(map(sorted, read)) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    first, second = np.array([0, 2, 4]), np.array([1, 3, 5])
    assert [chunk.tolist() for chunk in chunks(first, second, [5, 5, 5, 40, 9, 9], 2)] == [[1], [2], [0]]
