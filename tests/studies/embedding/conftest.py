"""Shared by the tests of embeddings: a tiny model and a text."""

import pytest

from explorer.studies.embedding import embedding
from tests.studies.embedding import desk as desks


@pytest.fixture(scope="session")
def desk(tmp_path_factory):
    return desks.furnish(tmp_path_factory.mktemp("desk"))


@pytest.fixture(scope="session")
def whole(desk):
    """An embedding that nobody interrupted."""
    desk.embed("whole")
    return desk.folder / "whole"


@pytest.fixture
def counted(monkeypatch):
    """The texts of each shard that is encoded."""
    seen, real = [], embedding.vectors_of
    monkeypatch.setattr(
        embedding, "vectors_of", lambda plan, texts, told: seen.append(texts) or real(plan, texts, told)
    )
    return seen
