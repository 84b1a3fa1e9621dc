"""t-SNE from given neighbours and a given start, step by step.

scikit-learn's gradient (Barnes-Hut), with steps one by one, for progress reports and a way to stop
(van der Maaten and Hinton 2008; van der Maaten 2014).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.measuring.neighbours.nearest import Neighbourhoods
from explorer.progress import Progress, Work

Places = NDArray[np.float32]

EXAGGERATION = 12.0  # early exaggeration, scikit-learn's default


def tsne_layout(
    near: Neighbourhoods, start: Places, perplexity: float, exaggerated: int, steps: int, stage: str
) -> Work[Places]:
    """Optimise positions (sentence, axis) from a start."""
    yield Progress(stage, 0, exaggerated + steps)
    from sklearn.manifold._t_sne import _kl_divergence_bh
    from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

    count, axes = start.shape
    pulls = _pulls(near, perplexity)
    places = np.ascontiguousarray(start, dtype=np.float32).ravel().copy()
    update, gains = np.zeros_like(places), np.ones_like(places)
    rate = max(count / EXAGGERATION / 4, 50)  # scikit-learn's "auto"
    threads = _openmp_effective_n_threads()
    for step in range(exaggerated + steps):
        early = step < exaggerated
        if step in (0, exaggerated):  # both phases start without momentum
            update, gains = np.zeros_like(places), np.ones_like(places)
            strength = EXAGGERATION if early else 1.0
        _, slope = _kl_divergence_bh(places, pulls * strength, 1, count, axes, compute_error=False, num_threads=threads)
        against = update * slope < 0
        gains = np.maximum(np.where(against, gains + 0.2, gains * 0.8), 0.01)
        update = (0.5 if early else 0.8) * update - rate * gains * slope
        places += update.astype(np.float32)
        yield Progress(stage, step + 1, exaggerated + steps)
    return places.reshape(count, axes)


def _pulls(near: Neighbourhoods, perplexity: float) -> Any:
    """The joint probabilities (sentence, sentence), from squared distances of normalised vectors."""
    from scipy.sparse import csr_matrix
    from sklearn.manifold._t_sne import _joint_probabilities_nn

    count = len(near)
    besides = min(near.places.shape[1], int(3 * perplexity + 1))
    distances = csr_matrix(
        (
            2 * near.distances[:, :besides].ravel(),
            near.places[:, :besides].ravel(),
            np.arange(0, count * besides + 1, besides),
        ),
        shape=(count, count),
    )
    return _joint_probabilities_nn(distances, perplexity, 0)
