"""Shared by the independent tests: encoders without dropout whose sentences differ, loaded once."""

import pytest

from explorer.methods import self_guided
from tests.independent.models import Pair, made


@pytest.fixture(autouse=True)
def small_projection(monkeypatch):
    """The head of the self-guided methods is a hundred times as large as the tiny encoder: here it is small."""
    monkeypatch.setattr(self_guided, "PROJECTION", 24)


@pytest.fixture(scope="session")
def shallow(tmp_path_factory) -> Pair:
    """Two layers."""
    return made(tmp_path_factory.mktemp("independent") / "shallow", layers=2)


@pytest.fixture(scope="session")
def deep(tmp_path_factory) -> Pair:
    """Five layers, so that every pair of layers in the papers is another one."""
    return made(tmp_path_factory.mktemp("independent") / "deep", layers=5)
