"""Test batch-hard triplets against sentence-transformers' losses, and the batches that they are mined in."""

from collections import Counter

import pytest
import torch
from sentence_transformers.sentence_transformer import losses as published
from sentence_transformers.sentence_transformer.losses import BatchHardTripletLossDistanceFunction as Distances

from explorer import losses, methods
from explorer.data.text_sets import LABELLED_TEXTS, Corpus
from explorer.errors import BadChoice, TooFewRows, WrongColumns
from explorer.methods import Feed, Schedule
from explorer.methods.batch_hard import SeveralOfAClass
from tests.methods.rows import FIRST, SECOND, vectors_of

CLASSES = torch.tensor([0, 0, 1, 1, 2, 2, 0, 1, 1, 2, 0])
MEASURES = {True: Distances.euclidean_distance, False: Distances.cosine_distance}
LOSSES = {
    "hard": (published.BatchHardTripletLoss, losses.hardest_triplets, 1.0),
    "soft margin": (published.BatchHardSoftMarginTripletLoss, losses.hardest_triplets, None),
    "semi-hard": (published.BatchSemiHardTripletLoss, losses.semi_hard_triplets, 0.3),
}


@pytest.mark.parametrize("euclidean", MEASURES)
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("seed", range(2))
def test_loss_and_gradient_are_those_of_sentence_transformers(name, euclidean, seed):
    theirs, ours, margin = LOSSES[name]
    drawn = torch.Generator().manual_seed(seed)
    vectors = torch.randn(len(CLASSES), 6, generator=drawn, dtype=torch.float64).requires_grad_()
    how = {} if margin is None else {"margin": margin}
    expected = theirs(None, distance_metric=MEASURES[euclidean], **how).compute_loss_from_embeddings([vectors], CLASSES)
    loss = ours(losses.distances(vectors, euclidean), CLASSES, margin)
    assert loss.item() == pytest.approx(expected.item(), abs=1e-6)
    slopes, wanted = (torch.autograd.grad(one, vectors)[0] for one in (loss, expected))
    assert wanted.abs().max() > 1e-2
    assert torch.allclose(slopes, wanted, rtol=0, atol=1e-6)


def test_the_loss_is_of_the_vectors_that_are_read_afterwards(base):
    texts, labels = [*FIRST, *SECOND], list("aabbaabb")
    classes = torch.tensor([ord(label) for label in labels])
    for settings, loss in (
        ({"triplets": "hard", "margin": 0.5}, lambda d: losses.hardest_triplets(d, classes, 0.5)),
        ({"triplets": "soft margin"}, lambda d: losses.hardest_triplets(d, classes, None)),
        ({"triplets": "semi-hard", "margin": 0.5}, lambda d: losses.semi_hard_triplets(d, classes, 0.5)),
    ):
        for distance in ("cosine", "euclidean"):
            method = methods.load("batch-hard")(base, {"pooling": "mean", "distance": distance, **settings}, ("a", "b"))
            expected = loss(losses.distances(vectors_of(method.eval(), texts).double(), distance == "euclidean"))
            assert method(texts, labels).item() == pytest.approx(expected.item(), rel=1e-4)


def labelled(*sizes):
    labels = [f"class {number}" for number, size in enumerate(sizes) for _ in range(size)]
    texts = tuple(f"text {number}" for number in range(len(labels)))
    return Corpus("mine.csv", LABELLED_TEXTS, (texts, tuple(labels)))


def feed(corpus, size, of_a_class=4, **place):
    return Feed(corpus, Schedule(batch_size=size), 0, **place, sampler=SeveralOfAClass(of_a_class))


@pytest.mark.parametrize("sizes", [(9, 9), (20, 3, 2), (2,) * 20, (5, 4, 3, 50)])
@pytest.mark.parametrize("size", [8, 10])
def test_every_batch_has_several_rows_of_each_of_its_classes_and_none_twice(sizes, size):
    of = feed(labelled(*sizes), size)
    assert of.a_batch == sum(sizes) // size
    for number in range(2 * of.a_batch):
        texts, labels = of.batch(number)
        assert len(texts) == len(set(texts)) == size
        counts = Counter(labels)
        assert len(counts) > 1
        assert min(counts.values()) > 1


def test_classes_are_drawn_equally_often_and_the_rows_of_a_class_in_turn():
    of = feed(labelled(6, 30), 8)
    rows = [list(zip(*of.batch(number), strict=True)) for number in range(of.a_batch)]
    counts = Counter(row for batch in rows for row in batch)
    assert Counter(label for _, label in counts.elements()) == {"class 0": 16, "class 1": 16}
    assert {count for (_, label), count in counts.items() if label == "class 0"} == {2, 3}
    assert {count for (_, label), count in counts.items() if label == "class 1"} == {1}


def test_two_processes_share_a_batch():
    whole, (first, second) = feed(labelled(9, 9), 8), (feed(labelled(9, 9), 8, rank=rank, world=2) for rank in (0, 1))
    assert whole.batch(1) == tuple(one + other for one, other in zip(first.batch(1), second.batch(1), strict=True))


def test_rows_that_are_alone_in_their_class_are_left_out_and_said():
    of = feed(labelled(5, 1, 5, 1), 4)
    assert of.sampler.remark == "2 left out: the only ones of their class"
    texts = {text for number in range(10) for text in of.batch(number)[0]}
    assert texts == {f"text {number}" for number in (*range(5), *range(6, 11))}


def test_what_holds_no_triplet_is_refused():
    for sizes in ((9,), (9, 1)):
        with pytest.raises(TooFewRows, match=r"mine\.csv has fewer than two classes with at least two rows"):
            feed(labelled(*sizes), 4)
    with pytest.raises(BadChoice, match=r"batch_size cannot be 3: .* Set it to 4 or more"):
        feed(labelled(9, 9), 3).batch(0)
    pairs = Corpus("pairs.csv", LABELLED_TEXTS, (("a",), ("b",), ("c",)))
    with pytest.raises(WrongColumns, match=r"pairs\.csv has two sentences per row: batch-hard compares rows"):
        methods.load("batch-hard").check_rows(pairs)
