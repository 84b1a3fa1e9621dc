"""Test training on scored pairs against sentence-transformers' losses."""

import pytest
import torch
from sentence_transformers.sentence_transformer import losses as published

from explorer import losses, methods
from explorer.data.text_sets import SCORED_PAIRS
from tests.methods.rows import COLUMNS, FIRST, SECOND

ROWS, WIDTH = 9, 12
SCORES = COLUMNS[SCORED_PAIRS][2]


def vectors(seed, dtype):
    drawn = torch.Generator().manual_seed(seed)
    return [torch.randn(ROWS, WIDTH, generator=drawn, dtype=dtype).requires_grad_() for _ in range(2)]


def scores(seed, dtype):
    """Some of them equal."""
    return torch.randint(0, 6, (ROWS,), generator=torch.Generator().manual_seed(seed)).to(dtype) / 5


def loss_and_gradients(loss, sides):
    return loss.detach(), torch.autograd.grad(loss, sides)


def assert_same(found, expected, close):
    assert abs(found[0] - expected[0]) <= close * max(1, abs(expected[0].item()))
    for one, other in zip(found[1], expected[1], strict=True):
        assert torch.allclose(one, other, rtol=0, atol=close)


CLOSE = {torch.float64: 1e-6, torch.float32: 1e-5}


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("scale", [1.0, 20.0])
@pytest.mark.parametrize("seed", range(3))
def test_cosent_has_the_loss_and_gradient_of_sentence_transformers(seed, scale, dtype):
    sides, gold = vectors(seed, dtype), scores(seed, dtype)
    assert len(set(gold.tolist())) < ROWS
    theirs = published.CoSENTLoss(model=None, scale=scale).compute_loss_from_embeddings(sides, gold)
    ours = losses.cosent(losses.paired_cosines(*sides), gold, scale)
    assert_same(loss_and_gradients(ours, sides), loss_and_gradients(theirs, sides), CLOSE[dtype])


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("seed", range(3))
def test_cosine_regression_has_the_loss_and_gradient_of_sentence_transformers(seed, dtype):
    sides, gold = vectors(seed, dtype), scores(seed, dtype)
    theirs = published.CosineSimilarityLoss(model=None).compute_loss_from_embeddings(sides, gold)
    ours = losses.cosine_regression(losses.paired_cosines(*sides), gold)
    assert_same(loss_and_gradients(ours, sides), loss_and_gradients(theirs, sides), CLOSE[dtype])


def test_only_the_order_of_scores_counts_for_cosent(base):
    method = methods.load("cosent")(base).eval()
    shifted = [7 * score - 3 for score in SCORES]
    assert method(FIRST, SECOND, shifted).item() == pytest.approx(method(FIRST, SECOND, SCORES).item())
    other_way = [-score for score in SCORES]
    assert method(FIRST, SECOND, other_way).item() != pytest.approx(method(FIRST, SECOND, SCORES).item())


def test_a_batch_whose_scores_are_all_equal_has_no_loss_and_a_gradient_of_zero(base):
    method = methods.load("cosent")(base)
    loss = method(FIRST, SECOND, [0.5] * 4)
    assert loss.item() == 0
    loss.backward()
    for weight in method.parameters():
        assert weight.grad is not None
        assert not weight.grad.any()
