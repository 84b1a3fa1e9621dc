"""Import from umap-learn the code that moves points, without its search for neighbours.

`import umap` also imports pynndescent, which compiles itself the first time it is imported after an installation:
half a minute on two cores, for a search that is not used here.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ONE_AT_A_TIME = threading.Lock()


def one_epoch() -> Callable[..., Any]:
    """umap-learn's compiled function for one epoch of a layout."""
    with _ONE_AT_A_TIME:
        layouts = sys.modules.get("umap.layouts") or _alone()
    found: Callable[..., Any] = layouts._get_optimize_layout_euclidean_single_epoch_fn()
    return found


@cache
def _alone() -> ModuleType:
    """umap.layouts, imported from a package whose own code is not run; afterwards `import umap` works as ever."""
    package = find_spec("umap")
    if package is None:
        raise ModuleNotFoundError("umap-learn is not installed. Run `make setup`.", name="umap")
    sys.modules["umap"] = module_from_spec(package)
    try:
        layouts = importlib.import_module("umap.layouts")
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "umap"]:
            del sys.modules[name]
    return layouts


def curve(min_dist: float) -> tuple[float, float]:
    """a and b of 1 / (1 + a·d^2b), fitted to a similarity that is 1 up to `min_dist` and then falls off as exp(-d)."""
    from scipy.optimize import curve_fit

    distances = np.linspace(0, 3, 300)
    wanted = np.where(distances < min_dist, 1.0, np.exp(min_dist - distances))
    a, b = curve_fit(lambda distance, a, b: 1 / (1 + a * distance ** (2 * b)), distances, wanted)[0]
    return float(a), float(b)


def epochs_between(weights: NDArray[np.float32], epochs: int) -> NDArray[np.float64]:
    """For each edge after how many epochs its points attract each other again; -1 for an edge without weight."""
    attractions = epochs * (weights / weights.max())  # in float32, as umap-learn: the same edges are due
    between = np.full(len(weights), -1.0)
    np.divide(epochs, attractions.astype(np.float64), out=between, where=attractions > 0)
    return between
