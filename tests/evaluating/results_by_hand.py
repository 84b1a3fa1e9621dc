"""Results made by hand: scores on tasks, with items that pairs of models can be tested on."""

import numpy as np

from explorer.evaluating.measured import Items, Measured
from explorer.evaluating.results.result_files import Origin, Result, Scored

DEFAULT = "model default"


def measured(task, score, *, layers=(), items=None, seeds=(0,), digest="d", measure="accuracy"):
    titles = (*(f"mean of layer {at}" for at in range(len(layers))), DEFAULT)
    table = np.array([[[value] * len(seeds)] for value in (*layers, score)], dtype=float)
    found = None if items is None else Items(np.asarray(items, dtype=float), digest=digest)
    return Measured(task, "test", titles, (measure,), table, seeds, {"probe": "logistic"}, found, 1.5)


def result(model, task, score, *, recipe="", seed=None, revision="local-1", **how):
    origin = Origin("simcse", "base", recipe, seed) if recipe else Origin()
    return Result(Scored(model, revision, origin), measured(task, score, **how))
