"""A tiny model, for tests that need no other."""

import pytest

from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import find
from tests.tiny_models import save_tiny


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_tiny("bert", tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def encoder(model):
    return load(find(str(model)), precision="float32")
