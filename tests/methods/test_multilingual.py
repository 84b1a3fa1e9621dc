"""Test distillation across languages against sentence-transformers' loss, and its teachers."""

import pytest
import torch
from sentence_transformers.sentence_transformer import losses as published

from explorer.encoding.read.head import Dense, Head
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import BadChoice
from tests.methods.rows import FIRST, SECOND, seeded
from tests.spoiling import encoder_of
from tests.tiny_models import save_tiny

NAME = "distil-translations"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A BERT, a RoBERTa, whose tokens are others, and a wider BERT."""
    place = tmp_path_factory.mktemp("teachers")
    save_tiny("bert", place / "bert")
    save_tiny("roberta", place / "roberta")
    save_tiny("bert", place / "wide", hidden_size=48)
    return place


def made(folder, **values):
    return seeded(NAME, Tunable(encoder_of(folder / "bert"), 64), **values)


def gradients(method, loss):
    trained = [weight for weight in method.base.parameters() if weight.requires_grad]
    return torch.cat([one.flatten() for one in torch.autograd.grad(loss, trained)])


@pytest.mark.parametrize("teacher", ["the base", "roberta"])
def test_loss_and_gradient_are_those_of_sentence_transformers_with_the_teachers_vectors_of_first_texts(folder, teacher):
    values = {} if teacher == "the base" else {"teacher": str(folder / teacher)}
    method = made(folder, **values).double().eval()
    found = method(FIRST, SECOND)
    read = encoder_of(folder / ("bert" if teacher == "the base" else teacher))
    read.model.double()
    taught = torch.cat([Head(("mean",))(one.hidden, one.mask) for one in map(read.states, ([text] for text in FIRST))])
    sides = [torch.cat([method.encode([text]) for text in column]) for column in (FIRST, SECOND)]
    theirs = published.MSELoss(model=None).compute_loss_from_embeddings(sides, [taught, taught])
    assert found.item() == pytest.approx(theirs.item(), abs=1e-6)
    assert found.item() > 1e-3
    one, other = gradients(method, found), gradients(method, theirs)
    assert torch.allclose(one, other, rtol=0, atol=1e-6)
    assert other.abs().max() > 1e-3


def test_a_teacher_of_another_width_is_refused_with_both_widths(folder, monkeypatch):
    refused = r"wide' here: its vectors have 48 dimensions, those of 'tiny' under model default 32\. .* whitening"
    with pytest.raises(BadChoice, match=refused):
        made(folder, teacher=str(folder / "wide"))
    encoder = encoder_of(folder / "bert")
    monkeypatch.setattr(encoder, "head", Head(("mean",), (Dense(torch.eye(20, 32), None, "Tanh"),)))
    with pytest.raises(BadChoice, match=r"'the base' here: .* 20 dimensions, .* under cls 32\. Set pooling to model"):
        seeded(NAME, Tunable(encoder, 64), pooling="cls")
    assert seeded(NAME, Tunable(encoder, 64)).eval()(FIRST, FIRST).item() == 0, "the base has its own vectors"
    with pytest.raises(
        BadChoice, match=r"dimensions, those of 'tiny' under mean 48\. Name a teacher with 48 dim.*s\.$"
    ):
        seeded(NAME, Tunable(encoder_of(folder / "wide"), 64), teacher=str(folder / "bert"), pooling="mean")
