"""UMAP from given neighbours and a given start, epoch by epoch (McInnes, Healy and Melville 2018).

The public way, umap.UMAP(precomputed_knn=…, init=…), reports no epoch and cannot be stopped, and the first map of a
process takes it 5.8 s where this takes 1.9 s (2,000 sentences, one core): it imports a search for neighbours,
pynndescent, which compiles itself for half a minute when it is first imported after an installation, and compiles the
weights of neighbours, which NumPy computes here. So only the code that moves points comes from umap-learn; the two
small functions that it has beside the search are written anew.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from explorer.measuring.neighbours.vector_index import Neighbourhoods
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from scipy.sparse import coo_matrix


Places = NDArray[np.float32]

NEGATIVES = 5  # negative samples per positive one, umap-learn's default
PULL = 0.3  # share of the distance that a view is pulled towards its neighbouring views in each epoch
_HALVINGS = 64
_ONE_AT_A_TIME = threading.Lock()


def umap_layout(
    near: tuple[Neighbourhoods, ...],
    start: Places,
    neighbours: int,
    min_dist: float,
    seed: int,
    epochs: int,
    stage: str,
) -> Work[Places]:
    """Lay out one or more views of the same sentences together, from a start (sentence, axis), view after view."""
    yield Progress(stage, 0, epochs)
    layout = _Layout(joined([memberships(one, neighbours) for one in near]), start, min_dist, seed, epochs)
    for epoch in range(epochs):
        layout.move(epoch)
        yield Progress(stage, epoch + 1, epochs)
    return layout.places


def umap_layouts(
    near: tuple[Neighbourhoods, ...],
    start: Places,
    neighbours: int,
    min_dist: float,
    seed: int,
    epochs: int,
    stage: str,
) -> Work[Places]:
    """Lay out many views (view, sentence, axis) of the same sentences, each by itself from its start.

    After every epoch each view is pulled towards the one before and the one after, as in AlignedUMAP. In one common
    layout, sentences would also repel those of other views. Equal views get equal positions, since all use the same
    random numbers.
    """
    yield Progress("loading UMAP", 0, 0)  # compiled in the first epoch
    layouts = [
        _Layout(memberships(one, neighbours), places, min_dist, seed, epochs)
        for one, places in zip(near, start, strict=True)
    ]
    for epoch in range(epochs):
        for layout in layouts:
            layout.move(epoch)
        views = np.stack([layout.places for layout in layouts])
        padded = np.concatenate([views[:1], views, views[-1:]])  # the ends are repeated
        for layout, before, after in zip(layouts, padded[:-2], padded[2:], strict=True):
            layout.places += PULL * ((before + after) / 2 - layout.places)
        yield Progress(stage, epoch + 1, epochs)
    return np.stack([layout.places for layout in layouts])


class _Layout:
    """Points that are attracted by neighbours and repelled by random points, epoch by epoch."""

    def __init__(self, graph: coo_matrix, start: Places, min_dist: float, seed: int, epochs: int) -> None:
        graph.data[graph.data < graph.data.max() / epochs] = 0.0
        graph.eliminate_zeros()
        self.places = np.ascontiguousarray(start, dtype=np.float32).copy()
        self._epochs = epochs
        self._step = one_epoch()
        every, none = epochs_between(graph.data, epochs), np.zeros(1, dtype=np.float32)
        (a, b), drawn = curve(min_dist), np.random.RandomState(seed).randint(-(2**31) + 1, 2**31 - 2, (len(start), 3))
        self._given = {
            "head_embedding": self.places,
            "tail_embedding": self.places,
            "head": graph.row,
            "tail": graph.col,
            "n_vertices": len(start),
            "epochs_per_sample": every,
            "a": a,
            "b": b,
            "rng_state_per_sample": drawn.astype(np.int64),
            "gamma": 1.0,
            "dim": start.shape[1],
            "move_other": True,
            "epochs_per_negative_sample": every / NEGATIVES,
            "epoch_of_next_negative_sample": every / NEGATIVES,
            "epoch_of_next_sample": every.copy(),
            "densmap_flag": False,  # the rest is for densMAP, and not read without it
            **dict.fromkeys(("dens_phi_sum", "dens_re_sum", "dens_R", "dens_mu"), none),
            **dict.fromkeys(("dens_re_cov", "dens_re_std", "dens_re_mean", "dens_lambda", "dens_mu_tot"), 0),
        }

    def move(self, epoch: int) -> None:
        """Run one epoch; the learning rate decreases."""
        self._step(**self._given, alpha=1.0 - max(0, epoch - 1) / self._epochs, n=epoch)


def loaded() -> Work[None]:
    """Load and compile UMAP, which takes seconds, while sentences are still being encoded."""
    square = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.float32)
    others = np.array([[1, 2], [0, 3], [0, 3], [1, 2]], dtype=np.int32)
    near = Neighbourhoods(others, np.ones((4, 2), dtype=np.float32))
    yield from umap_layout((near,), square, neighbours=3, min_dist=0.1, seed=0, epochs=1, stage="loading UMAP")


def memberships(near: Neighbourhoods, neighbours: int) -> coo_matrix:
    """UMAP's fuzzy graph (sentence, sentence): the fuzzy union of neighbourhoods."""
    from scipy.sparse import coo_matrix

    count = len(near)
    besides = min(neighbours, count) - 1  # umap-learn counts a sentence as its own neighbour
    places, distances = near.places[:, :besides], near.distances[:, :besides].astype(np.float64)
    there = distances > 0
    nearest = np.where(there.any(1), np.where(there, distances, np.inf).min(1), 0.0)
    beyond = np.maximum(distances - nearest[:, None], 0)
    own = np.hstack([np.zeros((count, 1)), distances])  # umap-learn's mean includes the sentence itself
    # the lower bound of a bandwidth: the sentence's mean distance, or if it is 0 that of all
    least = 1e-3 * np.where(nearest > 0, own.mean(1), own.mean())
    widths = np.maximum(_widths(beyond, np.log2(besides + 1)), least)
    weights = np.where(beyond > 0, np.exp(-beyond / np.where(widths > 0, widths, 1)[:, None]), 1.0)
    rows = np.repeat(np.arange(count, dtype=np.int32), besides)
    one_way = coo_matrix((weights.ravel().astype(np.float32), (rows, places.ravel())), shape=(count, count)).tocsr()
    other_way = one_way.T.tocsr()
    return (one_way + other_way - one_way.multiply(other_way)).tocoo()


def joined(graphs: list[coo_matrix]) -> coo_matrix:
    """Join graphs into one, with an edge of weight 1 from a sentence in one to itself in the next."""
    from scipy.sparse import bmat, identity

    count = graphs[0].shape[0]
    itself = identity(count, dtype=np.float32)
    blocks = [
        [graph if row == column else itself if abs(row - column) == 1 else None for column in range(len(graphs))]
        for row, graph in enumerate(graphs)
    ]
    whole = bmat(blocks, format="coo", dtype=np.float32)
    whole.row, whole.col = whole.row.astype(np.int32), whole.col.astype(np.int32)
    return whole


def _widths(beyond: NDArray[np.float64], wanted: float) -> NDArray[np.float64]:
    """For each sentence the bandwidth at which its neighbours' weights have the required sum, by bisection."""
    low, high = np.zeros(len(beyond)), np.full(len(beyond), np.inf)
    width = np.ones(len(beyond))
    for _ in range(_HALVINGS):
        total = np.where(beyond > 0, np.exp(-beyond / width[:, None]), 1.0).sum(1)
        high = np.where(total > wanted, width, high)
        low = np.where(total > wanted, low, width)
        width = np.where(np.isinf(high), width * 2, (low + high) / 2)
    return width


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
