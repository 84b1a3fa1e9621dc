"""Take from umap-learn the code that moves points, without its search for neighbours.

`import umap` also imports pynndescent, which compiles itself the first time it is imported after an installation:
half a minute on two cores, for a search that is not used here. The two small functions that it has beside that
search are written anew.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ONE_AT_A_TIME = threading.Lock()


def one_epoch() -> Callable[..., Any]:
    """umap-learn's compiled function for one epoch of a layout."""
    with _ONE_AT_A_TIME:
        if "umap" not in sys.modules:
            sys.modules["umap"] = _package()
        layouts = importlib.import_module("umap.layouts")
    found: Callable[..., Any] = layouts._get_optimize_layout_euclidean_single_epoch_fn()
    return found


def _package() -> ModuleType:
    """The package umap, whose own code runs when a name is asked for that it defines, such as `umap.UMAP`.

    It stays among the modules, since numba imports it again by its name for the functions that it keeps on disk.
    """
    spec = find_spec("umap")
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError("umap-learn is not installed. Run `make setup`.", name="umap")
    package, loader = module_from_spec(spec), spec.loader

    def run(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        del package.__dict__["__getattr__"]
        loader.exec_module(package)
        return getattr(package, name)

    package.__dict__["__getattr__"] = run
    return package


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
