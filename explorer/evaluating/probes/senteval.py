"""Predict classes as SentEval does, by its neural network with a weight decay chosen on dev rows.

The set decides the protocol: nested ten folds without a test split, ten folds over train with one, a fixed split if
there is a dev split too. SentEval rounds mean accuracies to two decimals before it compares them, which decides ties.
"""

from __future__ import annotations

import numpy as np

from explorer.data.labelled.labelled_set import FOLDS
from explorer.evaluating.probes.mlp import Network, TrainedNetwork, trained
from explorer.evaluating.probes.probe_data import Classes, ProbeData, Rows, folds
from explorer.progress import Progress, Work

DECAYS = (1e-5, 1e-4, 1e-3, 1e-2)
FOLD_SEED = 1111  # of nested folds, whatever the seed of the run
VALIDATION = 0.05  # share of the rows that the last fit holds out to stop on
STAGE = "SentEval's classifier"


def predictions(data: ProbeData, seed: int, network: Network | None = None) -> Work[Classes]:
    """The predicted class of every scored row; the seed draws weights, batches and, with a test split, folds."""
    if data.test is None:
        found = yield from _nested(data, seed, network)
    elif data.dev is None:
        decay = yield from _chosen(data.train, data.classes, seed, seed, network, 0, FOLDS + 1)
        model = yield from _refitted(data.train, data.classes, decay, seed, network, Progress(STAGE, FOLDS, FOLDS + 1))
        found = model.predict(data.test.x)
    else:
        told = Progress(STAGE, 0, 1)
        models = yield from trained(data.train, data.dev, data.classes, DECAYS, seed, told, network=network)
        # SentEval trains the best one again with the same seed, which gives the same network
        found = models[_best([model.accuracy for model in models])].predict(data.test.x)
    return found


def fits(has_test: bool, has_dev: bool) -> int:
    """How many trainings of four networks there are for one layer & pooling and one seed; a refit counts as one."""
    if not has_test:
        return FOLDS * (FOLDS + 1)
    return 1 if has_dev else FOLDS + 1


def _nested(data: ProbeData, seed: int, network: Network | None) -> Work[Classes]:
    found = np.empty(len(data.train), dtype=np.intp)
    total = FOLDS * (FOLDS + 1)
    for fold, (inner, held) in enumerate(folds(data.train.y, FOLD_SEED)):
        rows, done = data.train.at(inner), fold * (FOLDS + 1)
        decay = yield from _chosen(rows, data.classes, seed, FOLD_SEED, network, done, total)
        model = yield from _refitted(rows, data.classes, decay, seed, network, Progress(STAGE, done + FOLDS, total))
        found[held] = model.predict(data.train.x[held])
    return found


def _chosen(
    rows: Rows, classes: int, seed: int, fold_seed: int, network: Network | None, done: int, total: int
) -> Work[float]:
    """The weight decay with the best mean accuracy over folds."""
    shares = []
    for fold, (inner, held) in enumerate(folds(rows.y, fold_seed)):
        told = Progress(STAGE, done + fold, total)
        models = yield from trained(rows.at(inner), rows.at(held), classes, DECAYS, seed, told, network=network)
        shares.append([model.accuracy for model in models])
    return DECAYS[_best(np.mean(shares, axis=0))]


def _refitted(
    rows: Rows, classes: int, decay: float, seed: int, network: Network | None, told: Progress
) -> Work[TrainedNetwork]:
    """A network of all rows, less a share that is held out to stop on."""
    order = np.random.RandomState(seed)
    places, held = order.permutation(len(rows)), int(VALIDATION * len(rows))
    (model,) = yield from trained(
        rows.at(places[held:]), rows.at(places[:held]), classes, (decay,), seed, told, order, network
    )
    return model


def _best(shares: list[float] | np.ndarray) -> int:
    return int(np.argmax([round(100 * float(share), 2) for share in shares]))
