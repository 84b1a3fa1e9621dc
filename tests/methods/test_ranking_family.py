"""Test contrastive learning against sentence-transformers' losses and loops over a batch."""

import itertools
import math

import pytest
import torch
from sentence_transformers.sentence_transformer import losses as published

from explorer import losses, methods
from explorer.encoding.read.head import Head
from explorer.gathering import text_keys
from explorer.methods._ranking import duplicates
from tests.methods.rows import COLUMNS, FIRST, SECOND, THIRD

ROWS, WIDTH = 7, 12


def vectors(columns, seed, dtype=torch.float64):
    drawn = torch.Generator().manual_seed(seed)
    return [torch.randn(ROWS, WIDTH, generator=drawn, dtype=dtype).requires_grad_() for _ in range(columns)]


def loss_and_gradients(formula, sides):
    loss = formula(sides)
    return loss.detach(), torch.autograd.grad(loss, sides)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("temperature", [0.01, 0.05, 1.0])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("columns", [2, 3])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_loss_and_gradient_are_those_of_sentence_transformers(columns, symmetric, temperature, seed, dtype):
    kind = published.MultipleNegativesSymmetricRankingLoss if symmetric else published.MultipleNegativesRankingLoss
    theirs = kind(model=None, scale=1 / temperature)
    sides = vectors(columns, seed, dtype)
    keys = torch.arange(columns * ROWS).view(columns, ROWS)
    expected = loss_and_gradients(lambda sides: theirs.compute_loss_from_embeddings(list(sides), None), sides)
    found = loss_and_gradients(
        lambda sides: losses.ranking(sides[0], torch.cat(sides[1:]), temperature, symmetric, *duplicates(keys)), sides
    )
    close = 1e-6 if dtype == torch.float64 else 2e-5
    assert abs(found[0] - expected[0]) <= close
    for one, other in zip(found[1], expected[1], strict=True):
        assert torch.allclose(one, other, rtol=0, atol=close)


def by_hand(texts, sides, temperature, symmetric):
    """The same by loops over rows and texts, without a candidate that says what its own row says."""

    def cosine(one, other):
        return torch.nn.functional.cosine_similarity(one, other, dim=0).item() / temperature

    rows, terms = range(len(texts[0])), []
    own = [{column[row] for column in texts} for row in rows]
    meaning = [{column[row] for column in texts[:2]} for row in rows]
    for row in rows:
        right = cosine(sides[0][row], sides[1][row])
        wrong = [
            cosine(sides[0][row], sides[1][other])
            for other in rows
            if other != row and not meaning[row] & meaning[other] and texts[1][other] not in own[row]
        ]
        for text, side in zip(texts[2:], sides[2:], strict=True):
            wrong += [
                cosine(sides[0][row], side[other])
                for other in rows
                if text[other] not in (meaning[row] if other == row else own[row])
            ]
        terms.append(math.log(sum(map(math.exp, [right, *wrong]))) - right)
        if symmetric:
            back = [
                cosine(sides[1][row], sides[0][other])
                for other in rows
                if other != row and not meaning[row] & meaning[other]
            ]
            terms.append(math.log(sum(map(math.exp, [right, *back]))) - right)
    return sum(terms) / len(terms)


REPEATED = {
    "one anchor twice": (["a", "b", "a", "c"], ["p", "q", "r", "s"], ["x", "y", "z", "w"]),
    "one positive twice": (["a", "b", "c", "d"], ["p", "q", "p", "s"], ["x", "y", "z", "w"]),
    "an anchor that is a positive elsewhere": (["a", "b", "c", "d"], ["p", "a", "r", "s"], ["x", "y", "z", "w"]),
    "a negative that is an anchor elsewhere": (["a", "b", "c", "d"], ["p", "q", "r", "s"], ["x", "a", "z", "w"]),
    "a negative that is a positive elsewhere": (["a", "b", "c", "d"], ["p", "q", "r", "s"], ["x", "y", "p", "w"]),
    "one negative twice": (["a", "b", "c", "d"], ["p", "q", "r", "s"], ["x", "y", "x", "w"]),
    "a negative that is its own positive": (["a", "b", "c", "d"], ["p", "q", "r", "s"], ["p", "y", "z", "w"]),
}


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("columns", [2, 3])
@pytest.mark.parametrize("texts", REPEATED.values(), ids=REPEATED)
def test_a_sentence_that_occurs_twice_is_no_negative_of_its_own(texts, columns, symmetric):
    texts = texts[:columns]
    sides = [side[:4].detach() for side in vectors(columns, 5)]
    keys = torch.stack([text_keys(column, "cpu") for column in texts])
    found = losses.ranking(sides[0], torch.cat(sides[1:]), 0.5, symmetric, *duplicates(keys))
    assert found.item() == pytest.approx(by_hand(texts, sides, 0.5, symmetric), abs=1e-9)


def test_keys_of_texts_are_equal_where_the_texts_are():
    texts = ["a", "b", "a", "A", "", " ", "a\ud800"]
    keys = text_keys(texts, "cpu").tolist()
    for (one, key), (other, another) in itertools.product(zip(texts, keys, strict=True), repeat=2):
        assert (one == other) == (key == another)


@pytest.mark.parametrize("name", ["contrast", "contrast-hard"])
@pytest.mark.parametrize("symmetric", [False, True])
def test_the_loss_is_of_the_vectors_that_are_read_afterwards(base, name, symmetric):
    method = methods.load(name)(base, {"symmetric": symmetric, "temperature": 0.3, "pooling": "mean"}).eval()
    texts = COLUMNS[method.eats]
    sides = [method.vectors(list(column)).double() for column in texts]
    assert method(*texts).item() == pytest.approx(by_hand(texts, sides, 0.3, symmetric), rel=1e-4)
    assert method.head() == Head(("mean",))


def test_a_row_that_is_there_twice_is_no_negative_of_itself(base):
    method = methods.load("contrast-hard")(base, {"temperature": 0.5}).eval()
    alone = method(*([column[0]] for column in (FIRST, SECOND, THIRD))).item()
    twice = method(*([column[0]] * 2 for column in (FIRST, SECOND, THIRD))).item()
    assert alone > 0.1
    assert twice == pytest.approx(alone, rel=1e-5)


@pytest.mark.parametrize("name", ["contrast", "contrast-hard"])
def test_without_dropout_two_losses_in_training_are_the_same(base, name):
    def twice(dropout):
        method = methods.load(name)(base, {"dropout": dropout, "temperature": 0.3}).train()
        return [method(*COLUMNS[method.eats]).item() for _ in range(2)]

    one, other = twice(dropout=False)
    assert one == other
    one, other = twice(dropout=True)
    assert one != other
