"""Fixtures for tests of maps."""

import sys
from unittest import mock

import pytest


@pytest.fixture(scope="session")
def umap_learn():
    """umap-learn's own module, without its search for neighbours: to compile that takes half a minute."""
    search = ("pynndescent", "pynndescent.distances", "pynndescent.sparse")
    with mock.patch.dict(sys.modules, dict.fromkeys(search, mock.MagicMock())):
        from umap import umap_
    return umap_
