"""Test the judges of triplets and of probe packs: by loops over rows and couples."""

import itertools

import numpy as np
import pytest
import torch

from explorer.data import sample
from explorer.data.sample import PARAPHRASE, ProbePairs
from explorer.data.text_sets import Triplets
from explorer.measuring.scores.judge import ProbeJudge, TripletJudge
from explorer.measuring.sentences.probe_cosines import probed, sentences_of

TRIPLETS = Triplets("three", ("a", "b", "c", "a"), ("b", "c", "a", "d"), ("c", "d", "c", "c"))
PAIRS = ProbePairs("five", ("a", "b", "c", "d", "a"), ("b", "c", "d", "a", "c"), (True, False, True, False, False))


def drawn(judge, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(len(judge.texts), 5)))


def cosine(judge, vectors, one, other):
    first, second = (vectors[judge.texts.index(text)] for text in (one, other))
    return float(torch.nn.functional.cosine_similarity(first, second, dim=0))


@pytest.mark.parametrize("seed", range(5))
def test_a_triplet_counts_if_its_anchor_is_nearer_to_the_positive(seed):
    judge = TripletJudge(TRIPLETS)
    vectors = drawn(judge, seed)
    expected = [
        float(cosine(judge, vectors, anchor, positive) > cosine(judge, vectors, anchor, negative))
        for anchor, positive, negative in zip(TRIPLETS.anchors, TRIPLETS.positives, TRIPLETS.negatives, strict=True)
    ]
    assert judge.items(vectors).tolist() == expected
    assert judge.score(judge.items(vectors)) == pytest.approx(100 * np.mean(expected))
    assert (len(judge), judge.alike(vectors)[0]) == (4, pytest.approx(cosine(judge, vectors, "a", "b")))


def test_equal_cosines_are_half_right_and_the_packs_are_scored_as_on_the_page_of_sentences():
    assert TripletJudge(TRIPLETS).items(torch.ones(4, 5, dtype=torch.float64)).tolist() == [0.5] * 4
    judge = ProbeJudge(sample.probe_pairs())
    vectors = drawn(judge, 3).float()
    place = {text: at for at, text in enumerate(judge.texts)}
    packs = [pack for pack in sample.probe_packs() if pack.name == PARAPHRASE or not pack.same]
    of_page = probed(tuple(packs), vectors.numpy()[[place[text] for text in sentences_of(tuple(packs))]])
    found = judge.score(judge.items(vectors))
    assert found == pytest.approx(100 * of_page.distinguished_from_all().value)
    assert 20 < found < 80, "vectors at random are near chance"


@pytest.mark.parametrize("seed", range(5))
def test_a_couple_counts_if_the_paraphrase_has_the_higher_cosine(seed):
    judge = ProbeJudge(PAIRS)
    vectors = drawn(judge, seed)
    cosines = [cosine(judge, vectors, *pair) for pair in zip(PAIRS.first, PAIRS.second, strict=True)]
    both = list(zip(cosines, PAIRS.same, strict=True))
    same, others = ([one for one, is_same in both if is_same is of] for of in (True, False))
    expected = [one > other for one, other in itertools.product(same, others)]
    assert len(expected) == 6
    assert judge.score(judge.items(vectors)) == pytest.approx(100 * np.mean(expected))


def test_the_interval_of_a_difference_is_about_that_of_a_slow_bootstrap():
    judge = ProbeJudge(sample.probe_pairs())
    one, other = (judge.items(drawn(judge, seed)) for seed in (1, 2))
    same = np.array(sample.probe_pairs().same)
    random = np.random.default_rng(5)
    gaps = []
    for _ in range(400):
        kept, left = (random.choice(np.flatnonzero(rows), rows.sum()) for rows in (same, ~same))
        shares = [np.mean(items[kept][:, None] > items[left][None, :]) for items in (one, other)]
        gaps.append(100 * (shares[1] - shares[0]))
    found = judge.difference(one, other)
    low, high = np.quantile(gaps, [0.025, 0.975])
    assert float(found.difference) == pytest.approx(judge.score(other) - judge.score(one))
    width = high - low
    assert float(found.low) == pytest.approx(low, abs=width / 8)
    assert float(found.high) == pytest.approx(high, abs=width / 8)
