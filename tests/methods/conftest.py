"""Shared by the tests of methods: a tiny encoder that distinguishes sentences, and methods built on it."""

import pytest
import torch

from explorer import methods
from explorer.encoding.tune.tunable import Tunable
from explorer.losses import cosines
from explorer.methods import Fitting, Method, self_guided
from explorer.progress import finish
from tests.device import DEVICE
from tests.methods import hub
from tests.methods.rows import FIRST, FIXED_DRAWS, MANY, TRAINED, TUNING, columns_of


@pytest.fixture(autouse=True)
def small_projection(monkeypatch):
    """The head of the self-guided methods is a hundred times as large as the tiny encoder: here it is small."""
    monkeypatch.setattr(self_guided, "PROJECTION", 64)


@pytest.fixture(scope="session")
def hub_folder(tmp_path_factory):
    return str(hub.cache_of(tmp_path_factory.mktemp("hub")))


@pytest.fixture(autouse=True, scope="module")
def opposites_are_known(words_with_opposites):
    """Methods that need opposites find them."""


# each file alone: the next one on this process may be of another folder, and must not find it
@pytest.fixture(autouse=True, scope="module")
def hub_with_a_generator(hub_folder):
    """The cache of the tests, also for the processes they start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("huggingface_hub.constants.HF_HUB_CACHE", hub_folder)
        patch.setenv("HF_HUB_CACHE", hub_folder)
        yield


@pytest.fixture(scope="session")
def apart(tiny_encoder):
    """Make a base that distinguishes sentences.

    Weights as they are made up leave every [CLS] almost the same; ten times as large, they do not.
    """

    def make() -> Tunable:
        found = Tunable(tiny_encoder, 64)
        with torch.no_grad():
            for weight in found.model.encoder.parameters():
                if weight.dim() > 1:
                    weight.mul_(10)
        return found

    alike = cosines(*[make().states(FIRST).hidden[-1][:, 0].detach()] * 2)
    assert (alike - torch.eye(len(alike), device=alike.device)).max() < 0.97, "else a test of a batch tests nothing"
    return make


@pytest.fixture
def base(apart) -> Tunable:
    return apart()


@pytest.fixture(params=methods.names())
def kind(request) -> type[Method]:
    return methods.load(request.param)


@pytest.fixture
def quiet(monkeypatch):
    """Nothing is drawn: with dropout off, a loss is then a function of its rows."""
    for name, fixed in FIXED_DRAWS.items():
        monkeypatch.setattr(name, fixed)


@pytest.fixture
def method(kind, base) -> Method:
    """Any method, with what it has from all of the text."""
    return made(kind, base)


@pytest.fixture(params=TRAINED)
def trained(request, base) -> Method:
    """A method that has a loss."""
    return made(methods.load(request.param), base)


@pytest.fixture(params=TUNING)
def tuning(request, base) -> Method:
    """A method that trains an encoder."""
    return made(methods.load(request.param), base)


def made(kind: type[Method], base: Tunable) -> Method:
    torch.manual_seed(0)
    method = kind(base).to(DEVICE)
    if isinstance(method, Fitting):
        finish(method.fit(MANY))
    if kind.after_update is not Method.after_update:  # a memory of earlier rows, if it has one, is then filled
        with torch.no_grad():
            method(*columns_of(kind))
            method.after_update()
        method.similarities = None
    return method
