"""What the tests of methods share: a tiny encoder that tells sentences apart, and methods started from it."""

import pytest
import torch

from explorer import methods
from explorer.encoding.tunable import Tunable
from explorer.losses import cosines
from explorer.methods import Method, _self_guided
from tests.methods.rows import FIRST


@pytest.fixture(autouse=True)
def small_projection(monkeypatch):
    """The head of the self-guided methods is a hundred times as large as the tiny encoder: here it is small."""
    monkeypatch.setattr(_self_guided, "PROJECTION", 64)


@pytest.fixture
def base(tiny_encoder) -> Tunable:
    """Weights as they are made up leave every [CLS] almost the same; ten times as large, they do not."""
    found = Tunable(tiny_encoder, 64)
    with torch.no_grad():
        for name, weight in found.model.encoder.named_parameters():
            if weight.dim() > 1:
                assert "LayerNorm" not in name
                weight.mul_(10)
    alike = cosines(*[found.states(FIRST).hidden[-1][:, 0].detach()] * 2)
    assert (alike - torch.eye(len(alike))).max() < 0.97, "otherwise a test of a batch tests nothing"
    return found


@pytest.fixture(params=methods.names())
def kind(request) -> type[Method]:
    return methods.load(request.param)


@pytest.fixture
def quiet(monkeypatch):
    """Nothing is drawn: with dropout off, a loss is then a function of its rows."""
    monkeypatch.setattr(torch, "randint", lambda *bounds, **_: torch.zeros(bounds[-1], dtype=torch.long))


@pytest.fixture
def method(kind, base) -> Method:
    torch.manual_seed(0)
    return kind(base)
