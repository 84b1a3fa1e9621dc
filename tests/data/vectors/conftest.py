"""Shared by the tests of vectors on disk: small blocks, and a .npy file with its sentences."""

import numpy as np
import pytest

from tests.data.vectors.made_vectors import SENTENCES, VECTORS


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr("explorer.data.vectors.vector_files.AT_ONCE", 3)


@pytest.fixture
def npy(tmp_path):
    path = tmp_path / "mine.npy"
    np.save(path, VECTORS)
    path.with_suffix(".txt").write_text("\n".join(SENTENCES) + "\n", encoding="utf-8")
    return path
