import itertools
import random

import pytest

from explorer.encoding.read import encoder as module
from explorer.encoding.read.encoder import BUSY, COLUMNS, ROWS, passes


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


def cost(made, price):
    return sum(len(places) * width + price for places, width in made)


def test_passes_hold_every_sentence_once_longest_first():
    sizes = lengths(50)
    made = passes(sizes, price=100)
    assert sorted(place for places, _ in made for place in places) == list(range(50))
    assert [width for _, width in made] == sorted((width for _, width in made), reverse=True)
    for places, width in made:
        longest = max(sizes[place] for place in places)
        assert longest <= width < longest + COLUMNS


@pytest.mark.parametrize("price", [1, 40, 256, 10**6])
def test_passes_cost_least_of_all_cuts_that_are_allowed(price):
    sizes = lengths(5 * ROWS + 3)
    order = sorted(sizes, reverse=True)
    parts = [order[at : at + ROWS] for at in range(0, len(order), ROWS)]
    every = []
    for cut in itertools.product([False, True], repeat=len(parts) - 1):
        joined = [list(parts[0])]
        for apart, part in zip(cut, parts[1:], strict=True):
            joined.append(list(part)) if apart else joined[-1].extend(part)
        every.append(sum(len(one) * (-(-one[0] // COLUMNS) * COLUMNS) + price for one in joined))
    assert cost(passes(sizes, price), price) == min(every)


def test_passes_of_many_batches_come_in_few_shapes():
    made = [one for seed in range(200) for one in passes(lengths(64, seed * 64), price=256)]
    shapes = {(len(places), width) for places, width in made}
    assert len(made) > 400
    assert len(shapes) <= (64 // ROWS) * (60 // COLUMNS)
    assert all(len(places) % ROWS == 0 and width % COLUMNS == 0 for places, width in made)


def test_no_sentences_make_no_pass():
    assert passes([], 256) == []
