"""Shared by the tests of encoding: a model folder that a test can damage."""

import shutil
from pathlib import Path

import pytest

from tests.tiny_models import save_tiny


@pytest.fixture(scope="session")
def saved_bert(tmp_path_factory) -> Path:
    return save_tiny("bert", tmp_path_factory.mktemp("saved") / "bert")


@pytest.fixture
def bert(saved_bert, tmp_path) -> Path:
    return Path(shutil.copytree(saved_bert, tmp_path / "bert"))
