"""Fixtures for tests of maps."""

import sys
from unittest import mock

import pytest


@pytest.fixture(scope="session")
def umap_learn():
    """umap-learn's own module, without its search for neighbours: to compile that takes half a minute."""
    with pytest.MonkeyPatch.context() as patched:  # it takes back these three alone: numba must not be imported twice
        for name in ("pynndescent", "pynndescent.distances", "pynndescent.sparse"):
            patched.setitem(sys.modules, name, mock.MagicMock())
        from umap import umap_
    return umap_
