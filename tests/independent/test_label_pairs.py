"""Test the pairs, the loss and the layer of SetFit against loops over rows, from the rules of its released code."""

import math
from collections import Counter

import numpy as np
import pytest
import torch

from explorer import methods
from explorer.data.text_sets import LABELLED_TEXTS, Corpus
from explorer.errors import TooFewRows, WrongColumns
from explorer.methods import ClassLayer, Feed, Schedule
from explorer.methods.setfit import LabelPairs
from tests.independent import formulas
from tests.independent.models import FIRST, SECOND, assert_same

# classes by the number of their rows: two of four, one of a single row, and many
SIZES = {"two of four": (4, 4), "one row": (5, 1), "single rows": (1, 1), "three": (7, 2, 3), "many": (2,) * 40}


def labelled(sizes, texts=None):
    """Rows of each class in turn, as a file may have them."""
    places = [(at, number) for at in range(max(sizes)) for number, size in enumerate(sizes) if at < size]
    texts = texts or [f"text {at} of class {number}" for at, number in places]
    return Corpus("mine.csv", LABELLED_TEXTS, (tuple(texts), tuple(f"class {number:02}" for _, number in places)))


def feed(corpus, iterations=3, seed=0, **schedule):
    given = {"batch_size": 2, **schedule}
    rank, world = given.pop("rank", 0), given.pop("world", 1)
    return Feed(corpus, Schedule(**given), seed, rank, world, LabelPairs(iterations))


def pairs_of(batch):
    """The rows of a batch, two by two."""
    rows = list(zip(*batch, strict=True))
    return list(zip(rows[::2], rows[1::2], strict=True))


def epoch(of, number=0):
    return [pair for at in range(of.a_batch) for pair in pairs_of(of.batch(number * of.a_batch + at))]


def by_loops(labels, order, iterations, random):
    """Two pairs of each row in each round: with a row of its class, and with one of another."""
    drawn = torch.rand(2, iterations * len(order), generator=random, dtype=torch.float64).tolist()
    found = [[], []]
    for number in range(iterations):
        for at, row in enumerate(order):
            place = number * len(order) + at
            same = [other for other in order if labels[other] == labels[row]]
            others = [other for name in sorted(set(labels)) if name != labels[row]
                      for other in order if labels[other] == name]  # fmt: skip
            for kind, partners in enumerate((same, others)):
                found[kind].append((row, partners[int(drawn[kind][place] * len(partners))]))
    every = found[0] + found[1]
    return [every[at] for at in torch.randperm(len(every), generator=random).tolist()]


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("seed", [0, 5])
def test_the_pairs_of_an_epoch_are_those_of_loops_over_the_rows(sizes, seed):
    corpus = labelled(sizes)
    of, rows = feed(corpus, seed=seed), len(corpus)
    assert of.a_batch == 2 * 3 * rows // 2
    for number in range(2):
        random = torch.Generator().manual_seed(seed * 1_000_003 + number)
        order = torch.randperm(rows, generator=random).tolist()
        every = by_loops(corpus.labels, order, 3, random)
        texts, labels = corpus.columns
        assert epoch(of, number) == [tuple((texts[row], labels[row]) for row in pair) for pair in every]


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_in_each_round_a_row_is_paired_once_with_its_class_and_once_with_another(sizes):
    corpus = labelled(sizes)
    times = Counter((one[0], one[1] == other[1]) for one, other in epoch(feed(corpus, iterations=4)))
    assert times == {(text, same): 4 for text in corpus.texts[0] for same in (True, False)}


def test_partners_are_drawn_evenly_and_the_row_itself_is_one_of_its_class():
    corpus, epochs, iterations = labelled((5, 1, 3)), 40, 20
    of, times = feed(corpus, iterations), Counter()
    for number in range(epochs):
        times.update(epoch(of, number))
    rows = list(zip(*corpus.columns, strict=True))
    for one in rows:
        for same in (True, False):
            partners = [other for other in rows if (other[1] == one[1]) == same]
            expected = epochs * iterations / len(partners)
            for other in partners:
                assert abs(times[one, other] - expected) < 5 * math.sqrt(expected), (one, other)
    assert sum(times.values()) == epochs * iterations * 2 * len(rows)


def test_rows_of_equal_text_are_rows_like_any_other():
    corpus = labelled((3, 2), texts=["same"] * 5)
    assert Counter(one[1] == other[1] for one, other in epoch(feed(corpus))) == {True: 15, False: 15}


def test_a_batch_follows_from_the_seed_and_its_number_alone_and_each_epoch_draws_others():
    corpus = labelled((7, 5))
    in_order = feed(corpus, batch_size=5)
    expected = [in_order.batch(number) for number in range(3 * in_order.a_batch)]
    assert {len(batch[0]) for batch in expected} == {10}
    assert len({repr(batch) for batch in expected}) == len(expected)
    for number in (len(expected) - 1, 0, in_order.a_batch, 1):
        assert feed(corpus, batch_size=5).batch(number) == expected[number]
        assert feed(corpus, seed=1, batch_size=5).batch(number) != expected[number]


def test_the_shares_of_two_processes_are_the_pairs_of_one():
    corpus = labelled((4, 4))
    for number in range(5):
        alone = feed(corpus, batch_size=4).batch(number)
        shares = [feed(corpus, batch_size=4, rank=rank, world=2).batch(number) for rank in range(2)]
        assert [len(share[0]) for share in shares] == [4, 4]
        assert pairs_of(alone) == [pair for share in shares for pair in pairs_of(share)]


@pytest.mark.parametrize(
    ("sizes", "iterations", "schedule", "steps"),
    [
        ((4, 4), 20, {"batch_size": 16}, 20), ((4, 4), 20, {"batch_size": 16, "epochs": 2}, 40),
        ((8, 8), 20, {"batch_size": 16}, 40), ((5, 4), 20, {"batch_size": 16}, 22), ((4, 4), 1, {"batch_size": 16}, 1),
        ((4, 4), 20, {"batch_size": 16, "steps": 7}, 7),
    ],
)  # fmt: skip
def test_there_are_as_many_steps_as_the_pairs_fill_batches(sizes, iterations, schedule, steps):
    of = feed(labelled(sizes), iterations, **schedule)
    assert of.steps == steps
    items = methods.load("setfit").items({"iterations": iterations}, sum(sizes))
    assert Schedule(**schedule).updates(items) == steps


def test_pairs_that_fill_no_batch_and_rows_of_one_class_are_refused_with_what_to_do():
    with pytest.raises(
        TooFewRows,
        match=r"4 rows to train on, which make 24 pairs, but a batch takes 25\. Set batch_size to 24 or less, or use",
    ):
        feed(labelled((2, 2)), batch_size=25)
    with pytest.raises(TooFewRows, match=r"All 4 rows of mine\.csv that are trained on have the label 'class 00'"):
        feed(labelled((4,)))


def test_a_number_of_rows_is_enough_if_its_pairs_fill_a_batch():
    kind, schedule = methods.load("setfit"), Schedule(rows="6", batch_size=16)
    with pytest.raises(TooFewRows, match="but a batch takes 16"):
        schedule.rows_of(40, "mine.csv")
    assert schedule.rows_of(40, "mine.csv", lambda rows: kind.items({}, rows)) == 6


def test_the_rows_with_the_most_text_are_paired_for_an_estimate_again_and_again_if_they_are_few():
    of = feed(Corpus("few", LABELLED_TEXTS, (("a", "aaa", "aa"), ("x", "y", "x"))), batch_size=4)
    assert of.longest(1)[0] == ["aaa", "aa"]
    assert of.longest(4)[0] == ["aaa", "aa", "a", "aaa", "aa", "a", "aaa", "aa"]


def test_rows_of_two_sentences_are_refused():
    rows = Corpus("pairs.csv", LABELLED_TEXTS, (("a", "b"), ("c", "d"), ("x", "y")))
    with pytest.raises(WrongColumns, match=r"pairs\.csv has two sentences per row"):
        methods.load("setfit").check_rows(rows)


TEXTS = [*FIRST, *SECOND, FIRST[1], FIRST[1]]  # the last pair is a row with itself, and its text is in another one
LABELS = ["a", "b", "b", "b", "c", "a", "a", "a", "b", "b"]


@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
@pytest.mark.parametrize("dropout", [True, False])
def test_the_loss_is_the_mean_squared_distance_of_cosines_from_1_or_0(shallow, pooling, dropout):
    method = shallow.method("setfit", pooling=pooling, dropout=dropout)

    def by_hand(weights):
        vectors, terms = shallow.vectors(weights, TEXTS, pooling), []
        for at in range(0, len(TEXTS), 2):
            target = 1.0 if LABELS[at] == LABELS[at + 1] else 0.0
            terms.append((formulas.cosine(vectors[at], vectors[at + 1]) - target) ** 2)
        return formulas.mean(terms)

    assert_same(method, (TEXTS, LABELS), by_hand)


def drawn(rows, classes, width=12, seed=0):
    random = np.random.default_rng(seed)
    labels = [f"class {number % classes}" for number in range(rows)]
    centres = random.normal(size=(classes, width))
    vectors = centres[[number % classes for number in range(rows)]] + random.normal(size=(rows, width))
    return torch.from_numpy(vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).float(), labels


@pytest.mark.parametrize("classes", [2, 3, 25])
def test_the_layer_predicts_what_scikit_learn_does_with_its_defaults(classes):
    from sklearn.linear_model import LogisticRegression

    (vectors, labels), (others, _) = drawn(100, classes), drawn(300, classes, seed=1)
    layer = ClassLayer.fitted(vectors, labels)
    theirs = LogisticRegression().fit(vectors.numpy(), labels)
    assert layer.classes == tuple(theirs.classes_)
    assert list(layer.predicted(others)) == theirs.predict(others.numpy()).tolist()
    shares = (others @ layer.weight.T + layer.bias).softmax(1).numpy()
    np.testing.assert_allclose(shares, theirs.predict_proba(others.numpy()), atol=2e-3)


@pytest.mark.parametrize("classes", [2, 4])
def test_at_the_layer_the_slope_of_the_penalised_loss_is_zero(classes):
    vectors, labels = drawn(60, classes)
    layer = ClassLayer.fitted(vectors, labels)
    weight, bias = (one.double().requires_grad_() for one in (layer.weight, layer.bias))
    gold = torch.tensor([layer.classes.index(label) for label in labels])
    loss = torch.nn.functional.cross_entropy(vectors.double() @ weight.T + bias, gold, reduction="sum")
    (loss + (weight**2).sum() / 2).backward()
    own = slice(1, None) if classes == 2 else slice(None)  # of two classes the first is the zero that it begins at
    assert weight.grad[own].abs().max() < 1e-3
    assert bias.grad[own].abs().max() < 1e-3


def test_where_all_labels_are_one_class_it_is_predicted():
    layer = ClassLayer.fitted(drawn(5, 1)[0], ["only"] * 5)
    assert layer.predicted(drawn(9, 3)[0]) == ("only",) * 9
