"""Test that every row is used once per epoch, for any number of processes and resumptions."""

import pytest

from explorer.data.corpora import Corpus
from explorer.data.row_kinds import PAIRS, SENTENCES
from explorer.errors import BadChoice, TooFewRows
from explorer.methods import Schedule
from explorer.training.loop.row_order import Feed

ROWS = 23


@pytest.fixture
def corpus() -> Corpus:
    return Corpus("few", PAIRS, tuple(tuple(f"{side} {row}" for row in range(ROWS)) for side in ("one", "other")))


def feed(corpus, seed=1, rank=0, world=1, **schedule) -> Feed:
    return Feed(corpus, Schedule(**({"batch_size": 4} | schedule)), seed, rank, world)


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


def test_a_row_stays_together(corpus):
    one, other = feed(corpus).batch(7)
    assert [text.split()[1] for text in one] == [text.split()[1] for text in other]
    assert (one[0].split()[0], other[0].split()[0]) == ("one", "other")


def test_epochs_have_orders_of_their_own(corpus):
    of = feed(corpus)
    orders = [tuple(epoch(of, number)) for number in range(5)]
    assert len(set(orders)) == 5
    assert list(corpus.columns[0][:20]) not in [list(order) for order in orders]


def test_a_batch_follows_from_the_seed_and_its_number_alone(corpus):
    asked_in_order = feed(corpus)
    expected = [asked_in_order.batch(number) for number in range(13)]
    for number in (12, 0, 7, 7, 3):
        assert feed(corpus).batch(number) == expected[number]
    assert len({repr(batch) for batch in expected}) == 13


def test_another_seed_is_another_order(corpus):
    orders = {tuple(epoch(feed(corpus, seed), number)) for seed in (0, 1, 2, 2**32 - 1) for number in (0, 1)}
    assert len(orders) == 8


@pytest.mark.parametrize("world", [2, 4])
def test_the_shares_of_all_processes_in_order_are_the_batch_of_one(corpus, world):
    for number in range(11):
        alone = feed(corpus).batch(number)
        shares = [feed(corpus, rank=rank, world=world).batch(number) for rank in range(world)]
        assert all(len(share[0]) == 4 // world for share in shares)
        joined = tuple([text for share in shares for text in share[column]] for column in range(2))
        assert joined == alone


def test_fewer_rows_than_a_batch_are_refused(corpus):
    assert feed(corpus, batch_size=ROWS).steps == 1
    with pytest.raises(TooFewRows, match=r"few has 23 rows, but a batch takes 24\. Set batch_size to 23 or less"):
        feed(corpus, batch_size=24)


def test_a_batch_that_cannot_be_shared_evenly_is_refused(corpus):
    with pytest.raises(BadChoice, match=r"batch_size cannot be 4 with 3 processes.*multiple of 3"):
        feed(corpus, world=3)
    assert feed(corpus, batch_size=6, world=3).share == 2


@pytest.mark.parametrize(
    ("schedule", "steps"),
    [
        ({}, 5),
        ({"epochs": 3}, 15),
        ({"epochs": 3, "accumulate": 2}, 7),
        ({"accumulate": 5}, 1),
        ({"accumulate": 6}, 1),
        ({"steps": 100, "epochs": 3}, 100),
        ({"batch_size": 12}, 1),
    ],
    ids=repr,
)
def test_there_are_as_many_steps_as_the_epochs_make_unless_they_are_set(corpus, schedule, steps):
    assert feed(corpus, **schedule).steps == steps


def test_the_steps_of_the_paper_are_a_little_fewer_without_the_half_batch_at_the_end():
    sentences = Corpus("STS-B", SENTENCES, (tuple(map(str, range(17_256))),))
    assert feed(sentences, batch_size=16).steps == 1078
    assert 17_256 % 16 == 8


def test_the_longest_rows_are_those_with_most_text_over_all_columns():
    rows = Corpus("few", PAIRS, (("a", "aaaa", "aa", "aaa"), ("bbbbbb", "b", "b", "bb")))
    assert feed(rows).longest(3) == (["a", "aaaa", "aaa"], ["bbbbbb", "b", "bb"])
