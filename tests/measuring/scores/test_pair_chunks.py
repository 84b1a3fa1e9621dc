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
def test_every_pair_is_in_one_chunk_of_at_most_so_many_sentences(count, sentences, most):
    first, second, lengths = pairs_of(count, sentences)
    seen = []
    for chunk in chunks(first, second, lengths, most):
        assert len({*first[chunk], *second[chunk]}) <= most
        seen.extend(chunk.tolist())
    assert sorted(seen) == list(range(count))


def test_pairs_that_share_a_sentence_stay_together():
    # three families of three sentences, their pairs apart in the file
    first, second = np.array([0, 3, 6, 1, 4, 7]), np.array([1, 4, 7, 2, 5, 8])
    read = [{*first[chunk].tolist(), *second[chunk].tolist()} for chunk in chunks(first, second, [5] * 9, 3)]
    assert sorted(map(sorted, read)) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


def test_the_longest_family_comes_first():
    first, second = np.array([0, 2, 4]), np.array([1, 3, 5])
    order = [chunk.tolist() for chunk in chunks(first, second, [5, 5, 5, 40, 9, 9], 2)]
    assert order == [[1], [2], [0]]
