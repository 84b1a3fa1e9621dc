"""Test global orthogonal regularisation of contrastive methods against sentence-transformers' loss."""

import pytest
import torch
from sentence_transformers.sentence_transformer import losses as published

from explorer import losses, methods
from tests.methods.rows import COLUMNS, vectors_of


@pytest.mark.parametrize("name", ["contrast", "contrast-hard", "gist"])
def test_orthogonal_regularisation_of_whole_vectors_is_that_of_sentence_transformers(base, name):
    kind = methods.load(name)
    texts = COLUMNS[kind.rows]
    settings = {"temperature": 0.3, "pooling": "mean", "matryoshka": base.width // 2}
    plain = kind(base, settings).eval()
    sides = [vectors_of(plain, list(column)) for column in texts]
    theirs = published.GlobalOrthogonalRegularizationLoss(None, mean_weight=2.0, second_moment_weight=0.5)
    added = theirs.compute_loss_from_embeddings(sides)
    assert min(added.values()) > 1e-2
    both = kind(base, {**settings, "orthogonal_mean": 2.0, "orthogonal_moment": 0.5}).eval()(*texts)
    assert both.item() == pytest.approx(plain(*texts).item() + sum(added.values()).item(), rel=1e-5)


@pytest.mark.parametrize("seed", range(2))
def test_orthogonality_and_its_gradient_are_those_of_sentence_transformers(seed):
    side = torch.randn(9, 12, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).requires_grad_()
    crowded = side + seed
    expected = published.GlobalOrthogonalRegularizationLoss(None).compute_loss_from_embeddings([crowded])
    ours = losses.orthogonality(crowded)
    assert torch.allclose(ours, torch.stack(list(expected.values())), rtol=0, atol=1e-6)
    slopes, wanted = (torch.autograd.grad(one, side)[0] for one in (ours.sum(), sum(expected.values())))
    assert torch.allclose(slopes, wanted, rtol=0, atol=1e-6)
    assert wanted.abs().max() > 1e-4
