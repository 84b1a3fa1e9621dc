import numpy as np
import pytest

from explorer.measuring.scores.pair_cosines import chunks


def pairs_of(count: int, sentences: int):
    chance = np.random.default_rng(0)
    first, second = chance.integers(0, sentences, (2, count))
    # only sentences that occur
    _, places = np.unique(np.concatenate([first, second]), return_inverse=True)
    first, second = places[:count], places[count:]
    return first, second, chance.integers(3, 40, places.max() + 1)


@pytest.mark.parametrize(("count", "sentences", "most"), [(200, 1000, 50), (200, 20, 10), (1, 2, 2), (50, 1, 2)])
def test_every_pair_is_measured_once_with_its_own_sentences(count, sentences, most):
    first, second, lengths = pairs_of(count, sentences)
    seen = []
    for chunk in chunks(first, second, lengths, most):
        assert len(chunk.sentences) <= most
        assert (chunk.sentences[chunk.first] == first[chunk.pairs]).all()
        assert (chunk.sentences[chunk.second] == second[chunk.pairs]).all()
        seen.extend(chunk.pairs.tolist())
    assert sorted(seen) == list(range(count))


def test_pairs_that_share_a_sentence_stay_together():
    # three families of three sentences, their pairs apart in the file
    first, second = np.array([0, 3, 6, 1, 4, 7]), np.array([1, 4, 7, 2, 5, 8])
    read = [chunk.sentences.tolist() for chunk in chunks(first, second, [5] * 9, 3)]
    assert sorted(map(tuple, read)) == [(0, 1, 2), (3, 4, 5), (6, 7, 8)]


def test_the_longest_family_comes_first():
    first, second = np.array([0, 2, 4]), np.array([1, 3, 5])
    order = [chunk.pairs.tolist() for chunk in chunks(first, second, [5, 5, 5, 40, 9, 9], 2)]
    assert order == [[1], [2], [0]]
