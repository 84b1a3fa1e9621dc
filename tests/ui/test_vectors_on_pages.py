"""Test every page with vectors of another program as models A and B: it shows them, or says what it needs."""

import numpy as np
import pytest

from explorer.data import sample
from explorer.ui.frame import page_list
from tests.visits import opened


@pytest.fixture
def theirs(tmp_path):
    """Two files with a vector of each sentence of the sample."""
    texts, found = sample.pairs().sentences, []
    for seed in (0, 1):
        path = tmp_path / f"{seed}.npy"
        np.save(path, np.random.default_rng(seed).normal(size=(len(texts), 8)))
        path.with_suffix(".txt").write_text("\n".join(texts), encoding="utf-8")
        found.append(str(path))
    return found


@pytest.mark.parametrize("page", [page.name for page in page_list.PAGES])
def test_a_page_shows_vectors_or_says_what_it_needs(furnished, theirs, page):
    opened(furnished, page, model=theirs[0], beside=theirs[1], sts="sample")
    assert not furnished.exception
    for error in furnished.error:
        assert "npy" in error.value, "an error names the vectors"
