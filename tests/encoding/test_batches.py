import random

from explorer.encoding import batches as module
from explorer.encoding.batches import BUSY


def lengths(count: int, seed: int = 0) -> list[int]:
    return [random.Random(seed + place).randint(3, 60) for place in range(count)]


def batches(sizes, budget, most=10**6):
    return module.batches(sizes, budget, most)


def test_no_batch_holds_more_sentences_than_allowed():
    made = list(batches(lengths(500), 10**6, most=7))
    assert max(map(len, made)) == 7
    assert sorted(place for batch in made for place in batch) == list(range(500))


def test_every_sentence_is_in_one_batch():
    every = [place for batch in batches(lengths(500), 1000) for place in batch]
    assert sorted(every) == list(range(500))


def test_no_batch_holds_more_than_the_budget():
    sizes = lengths(500)
    assert all(len(batch) * max(sizes[place] for place in batch) <= 1000 for batch in batches(sizes, 1000))


def test_a_sentence_longer_than_the_budget_is_read_alone():
    assert list(batches([10, 5000, 10], 100)) == [[1], [0, 2]]


def test_the_longest_sentences_come_first():
    sizes = lengths(300)
    heads = [sizes[batch[0]] for batch in batches(sizes, 500)]
    assert heads == sorted(heads, reverse=True)


def test_a_full_batch_has_no_padding():
    sizes = [20] * 200 + [10] * 200
    for batch in batches(sizes, 2000):
        if len(batch) * sizes[batch[0]] >= BUSY:
            assert len({sizes[place] for place in batch}) == 1


def test_few_sentences_of_many_lengths_share_a_batch():
    assert len(list(batches([10, 9, 8, 7], 1000))) == 1


def test_nothing_makes_no_batch():
    assert list(batches([], 100)) == []
