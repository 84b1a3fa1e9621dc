"""Test the rows that are trained on: each once per epoch, for any number of processes."""

import random

import pytest
import torch

from explorer.data.text_sets import PAIRS, SENTENCES, Corpus
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import BadChoice, TooFewRows
from explorer.methods import Feed, NoDuplicates, Sampler, Schedule, load

ROWS = 23


@pytest.fixture
def corpus() -> Corpus:
    return Corpus("few", PAIRS, tuple(tuple(f"{side} {row}" for row in range(ROWS)) for side in ("one", "other")))


def feed(corpus, seed=1, rank=0, world=1, sampler=None, **schedule) -> Feed:
    return Feed(corpus, Schedule(**({"batch_size": 4} | schedule)), seed, rank, world, sampler)


def epoch(of: Feed, number: int) -> list[str]:
    """The first column of every batch of an epoch."""
    batches = ROWS // of.size
    return [text for place in range(batches) for text in of.batch(number * batches + place)[0]]


def test_an_epoch_has_every_row_once_but_for_those_that_fill_no_batch(corpus):
    of = feed(corpus)
    assert ROWS % 4 == 3
    left_out = set()
    for number in range(6):
        found = epoch(of, number)
        assert len(found) == 20
        assert len(set(found)) == 20
        assert set(found) < set(corpus.columns[0])
        left_out |= set(corpus.columns[0]) - set(found)
    assert len(left_out) > 3, "they are others in another epoch"


def test_epochs_and_seeds_have_orders_of_their_own_and_a_row_stays_together(corpus):
    one, other = feed(corpus).batch(7)
    assert [text.split()[1] for text in one] == [text.split()[1] for text in other]
    assert (one[0].split()[0], other[0].split()[0]) == ("one", "other")
    of = feed(corpus)
    orders = [tuple(epoch(of, number)) for number in range(5)]
    assert len(set(orders)) == 5
    assert list(corpus.columns[0][:20]) not in [list(order) for order in orders]
    orders = {tuple(epoch(feed(corpus, seed), number)) for seed in (0, 1, 2, 2**32 - 1) for number in (0, 1)}
    assert len(orders) == 8


def test_a_batch_follows_from_the_seed_and_its_number_alone(corpus):
    asked_in_order = feed(corpus)
    expected = [asked_in_order.batch(number) for number in range(13)]
    for number in (12, 0, 7, 7, 3):
        assert feed(corpus).batch(number) == expected[number]
    assert len({repr(batch) for batch in expected}) == 13


@pytest.mark.parametrize("world", [2, 4])
def test_the_shares_of_all_processes_in_order_are_the_batch_of_one(corpus, world):
    for number in range(11):
        alone = feed(corpus).batch(number)
        shares = [feed(corpus, rank=rank, world=world).batch(number) for rank in range(world)]
        assert all(len(share[0]) == 4 // world for share in shares)
        assert tuple([text for share in shares for text in share[column]] for column in range(2)) == alone


def test_a_batch_that_is_not_filled_or_cannot_be_shared_evenly_is_refused(corpus):
    assert feed(corpus, batch_size=ROWS).steps == 1
    with pytest.raises(
        TooFewRows, match=r"few has 23 rows to train on, but a batch takes 24\. Set batch_size to 23 or less"
    ):
        feed(corpus, batch_size=24)
    with pytest.raises(BadChoice, match=r"batch_size cannot be 4 with 3 processes.*multiple of 3"):
        feed(corpus, world=3)
    assert feed(corpus, batch_size=6, world=3).share == 2


@pytest.mark.parametrize(
    ("schedule", "steps"),
    [
        ({}, 5), ({"epochs": 3}, 15), ({"epochs": 3, "accumulate": 2}, 7), ({"accumulate": 5}, 1),
        ({"steps": 100, "epochs": 3}, 100), ({"batch_size": 12}, 1),
    ],
    ids=repr,
)  # fmt: skip
def test_there_are_as_many_steps_as_the_epochs_make_unless_they_are_set(corpus, schedule, steps):
    assert feed(corpus, **schedule).steps == steps


def test_an_update_reads_no_row_twice():
    fits = Schedule(batch_size=4, accumulate=5)
    assert fits.rows_of(23, "few") == 23
    for steps in (0, 100):
        with pytest.raises(TooFewRows, match=r"accumulate cannot be 6: the 23 rows of few .* fill 5 batches of 4"):
            fits.with_values({"accumulate": 6, "steps": steps}).rows_of(23, "few")


def test_the_steps_of_the_paper_are_a_little_fewer_without_the_half_batch_at_the_end():
    assert feed(Corpus("STS-B", SENTENCES, (tuple(map(str, range(17_256))),)), batch_size=16).steps == 1078
    assert 17_256 % 16 == 8


def test_the_longest_rows_are_those_with_most_text_over_all_columns():
    rows = Corpus("few", PAIRS, (("a", "aaaa", "aa", "aaa"), ("bbbbbb", "b", "b", "bb")))
    assert feed(rows).longest(3) == (["a", "aaaa", "aaa"], ["bbbbbb", "b", "bb"])


def order_of(rows: int, seed: int, epoch: int) -> list[int]:
    return torch.randperm(rows, generator=torch.Generator().manual_seed(seed * 1_000_003 + epoch)).tolist()


def test_the_order_is_that_of_older_runs(corpus):
    for number in range(12):
        rows = order_of(ROWS, 3, number // 5)[number % 5 * 4 :][:4]
        assert feed(corpus, seed=3).batch(number) == tuple([column[row] for row in rows] for column in corpus.columns)


class Even(Sampler):
    """Leaves out every other row."""

    remark = "odd rows are left out"

    def usable(self, corpus):
        return range(0, len(corpus), 2)


def test_rows_that_a_sampler_leaves_out_are_not_drawn_and_not_counted(corpus):
    of = feed(corpus, sampler=Even(), epochs=2)
    assert of.steps == 2 * 3
    drawn = {text for number in range(9) for text in of.batch(number)[0]}
    assert drawn == set(corpus.columns[0][::2])
    assert set(of.longest(20)[0]) == drawn
    with pytest.raises(
        TooFewRows, match=r"few has 12 rows to train on \(odd rows are left out\), but a batch takes 13"
    ):
        feed(corpus, sampler=Even(), batch_size=13)


def repeating(rows: int, texts: int, seed: int = 0) -> Corpus:
    drawn = random.Random(seed)
    return Corpus("few", PAIRS, tuple(tuple(str(drawn.randrange(texts)) for _ in range(rows)) for _ in range(2)))


def slowly(corpus: Corpus, order: list[int], size: int) -> list[list[int]]:
    """sentence-transformers' loop: all rows left are scanned for each batch; here the epoch fills the last ones."""
    left, found = list(order), []
    for _ in range(len(order) // size):
        batch, texts = [], []
        for row in [*left, *order]:
            own = [corpus.columns[0][row], corpus.columns[1][row]]
            if len(batch) < size and not any(text in texts for text in own):
                batch.append(row)
                texts += own
        left = [row for row in left if row not in batch]
        found.append(batch)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_no_text_is_twice_in_a_batch(seed):
    rows = repeating(203, 60, seed)
    found = feed(rows, seed=seed, sampler=NoDuplicates(), batch_size=8)
    for epoch in range(3):
        expected = slowly(rows, order_of(203, seed, epoch), 8)
        assert len(expected) == 25
        for place, batch in enumerate(expected):
            one, other = found.batch(epoch * 25 + place)
            assert (one, other) == tuple([column[row] for row in batch] for column in rows.columns)
            assert len(set(one)) == 8 == len(set(other))
            assert all(a not in other or a == other[at] for at, a in enumerate(one)), "but in its own row"
    # the same rows, drawn without the sampler, do have texts twice
    assert any(len(set(feed(rows, seed=seed, batch_size=8).batch(number)[0])) < 8 for number in range(25))


def test_batches_without_duplicates_follow_from_seed_and_number_and_are_shared_evenly():
    rows = repeating(100, 50)
    alone = feed(rows, sampler=NoDuplicates())
    expected = [alone.batch(number) for number in range(60)]
    for number in (59, 0, 31, 30):
        assert feed(rows, sampler=NoDuplicates()).batch(number) == expected[number]
        shares = [feed(rows, rank=rank, world=2, sampler=NoDuplicates()).batch(number) for rank in range(2)]
        assert tuple([text for share in shares for text in share[column]] for column in range(2)) == expected[number]


def test_without_duplicates_each_row_is_in_an_epoch_once_if_no_text_repeats(corpus):
    assert [feed(corpus, sampler=NoDuplicates()).batch(number) for number in range(10)] == [
        feed(corpus).batch(number) for number in range(10)
    ]


def test_rows_that_all_share_a_text_are_refused():
    same = Corpus("few", PAIRS, (("a",) * 9, tuple("bcdefghij")))
    with pytest.raises(TooFewRows, match=r"batches of 4 without a text twice: only 1 rows .* no_duplicates to off"):
        feed(same, sampler=NoDuplicates()).batch(0)


@pytest.mark.parametrize("name", ["contrast", "contrast-hard"])
def test_contrast_draws_so_if_it_is_set(name, tiny_encoder):
    base = Tunable(tiny_encoder, 32)
    assert type(load(name)(base).sampler()) is Sampler
    assert type(load(name)(base, {"no_duplicates": True}).sampler()) is NoDuplicates
