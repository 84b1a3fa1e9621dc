import os
import subprocess
import sys

import numpy as np
import pytest

from explorer.measuring.maps import umap_layout

APART = """
import sys
from unittest import mock
from explorer.measuring.maps import umap_layout
from explorer.progress import finish
finish(umap_layout.loaded())  # compiled, and kept on disk
epoch = umap_layout.one_epoch()
assert epoch.signatures and umap_layout.one_epoch() is epoch
found = sorted(name for name in sys.modules if name.split(".")[0] in ("umap", "pynndescent"))
assert not {"umap.umap_", "pynndescent"} & set(found), found
search = ("pynndescent", "pynndescent.distances", "pynndescent.sparse")
with mock.patch.dict(sys.modules, dict.fromkeys(search, mock.MagicMock())):
    import umap
    assert not hasattr(umap, "__wrapped__")
    assert umap.UMAP(n_neighbors=7).n_neighbors == 7
    assert umap_layout.one_epoch() is epoch
    try:
        umap.no_such_name
    except AttributeError as error:
        assert "no_such_name" in str(error)
    else:
        raise AssertionError("a name that is not there was found")
"""


def test_the_code_of_a_layout_comes_without_the_search_and_leaves_umap_to_be_imported(tmp_path):
    nothing_kept = {"NUMBA_CACHE_DIR": str(tmp_path)}
    told = subprocess.run([sys.executable, "-c", APART], env=os.environ | nothing_kept, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr[-2000:]
    assert not list(tmp_path.glob("pynndescent*"))


@pytest.mark.parametrize("min_dist", [0.0, 0.05, 0.1, 0.5, 0.99])
def test_the_curve_is_umaps(umap_learn, min_dist):
    assert umap_layout.curve(min_dist) == pytest.approx(umap_learn.find_ab_params(1.0, min_dist), rel=1e-6)


@pytest.mark.parametrize("epochs", [1, 30, 200, 500])
def test_edges_are_due_as_often_as_in_umap_learn(umap_learn, epochs):
    weights = np.random.default_rng(epochs).random(500).astype(np.float32)
    weights[:20] = 0
    wanted = umap_learn.make_epochs_per_sample(weights, epochs)
    assert umap_layout.epochs_between(weights, epochs).tolist() == wanted.tolist()
    assert (wanted[:20] == -1).all()
