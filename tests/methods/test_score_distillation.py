"""Test margin-MSE and KL distillation against sentence-transformers' losses, their teachers and their students."""

from functools import partial

import pytest
import torch
from sentence_transformers.sentence_transformer import losses as published
from sentence_transformers.util import pairwise_cos_sim

from explorer import losses, methods
from explorer.encoding.read.head import Head
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import BadChoice
from tests.independent import formulas
from tests.methods.rows import FIRST, SECOND, THIRD, seeded, vectors_of
from tests.spoiling import encoder_of
from tests.tiny_models import save_tiny

ROWS = (FIRST, SECOND, THIRD)
NAMES = ("margin-mse", "distil-kl")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A BERT of three layers, and a RoBERTa, whose tokens are others."""
    place = tmp_path_factory.mktemp("teachers")
    save_tiny("bert", place / "bert", num_hidden_layers=3)
    save_tiny("roberta", place / "roberta")
    return place


def made(folder, name, **values):
    return seeded(name, Tunable(encoder_of(folder / "bert"), 64), **values)


@pytest.mark.parametrize("dot", [False, True])
@pytest.mark.parametrize("columns", [3, 5])
@pytest.mark.parametrize("temperature", [None, 0.5, 1.0])
def test_loss_and_gradient_are_those_of_sentence_transformers(columns, temperature, dot):
    drawn = torch.Generator().manual_seed(0)
    sides = [torch.randn(6, 7, generator=drawn, dtype=torch.float64).requires_grad_() for _ in range(columns)]
    teacher = torch.randn(6, columns - 1, generator=drawn, dtype=torch.float64)
    how = {} if dot else {"similarity_fct": pairwise_cos_sim}
    if temperature is None:
        theirs, ours = published.MarginMSELoss(None, **how), losses.margin_regression
    else:
        theirs = published.DistillKLDivLoss(None, temperature=temperature, **how)
        ours = partial(losses.score_divergence, temperature=temperature)
    expected = theirs.compute_loss_from_embeddings(sides, teacher)
    loss = ours(losses.candidate_scores(sides, dot), teacher)
    assert loss.item() == pytest.approx(expected.item(), abs=1e-6)
    for one, other in zip(torch.autograd.grad(loss, sides), torch.autograd.grad(expected, sides), strict=True):
        assert torch.allclose(one, other, rtol=0, atol=1e-6)
        assert other.abs().max() > 1e-3


def scores(vectors, similarity):
    """(row, candidate), one at a time."""
    anchors, *others = vectors.double().chunk(3)
    alike = formulas.cosine if similarity == "cosine" else lambda one, other: (one * other).sum()
    return torch.stack(
        [torch.stack([alike(anchor, side[row]) for side in others]) for row, anchor in enumerate(anchors)]
    )


@pytest.mark.parametrize("similarity", ["cosine", "dot product"])
@pytest.mark.parametrize("teacher", ["the base", "roberta"])
@pytest.mark.parametrize("name", NAMES)
def test_the_loss_is_of_the_scores_of_teacher_and_student_as_they_are_used(folder, name, teacher, similarity):
    other = teacher != "the base"
    values = {"teacher": str(folder / teacher)} if other else {}
    method = made(folder, name, similarity=similarity, **values).eval()
    assert method.base.layers == (3 if other else 2)
    texts = [text for column in ROWS for text in column]
    encoder = encoder_of(folder / (teacher if other else "bert"))
    states = [encoder.states([text]) for text in texts]
    taught = scores(torch.cat([Head(("mean",))(each.hidden, each.mask) for each in states]), similarity)
    student = scores(vectors_of(method, texts), similarity)
    slow = formulas.margin_mse if name == "margin-mse" else partial(formulas.divergence, temperature=1.0)
    assert method(*ROWS).item() == pytest.approx(slow(student, taught).item(), rel=1e-3, abs=1e-7)


@pytest.mark.parametrize("name", NAMES)
def test_a_student_of_all_layers_needs_another_teacher(folder, name):
    with pytest.raises(BadChoice, match=r"keep_layers cannot be 3: 'tiny' has 3 layers, .* Choose 1 to 2, or 0"):
        made(folder, name, keep_layers=3)
    method = made(folder, name, teacher=str(folder / "roberta"))
    assert method.base.layers == 3
    assert method.base_head() == method.head() == Head(("mean",))
    assert methods.load(name).named_models(method.by_name()) == {"teacher": str(folder / "roberta")}
    cut = made(folder, name, teacher=str(folder / "roberta"), keep_layers=1)
    assert (cut.base.layers, cut.base_head().poolings) == (1, ("mean of layer 1",))
