"""Results and sets made by hand: scores on tasks, with items that pairs of models can be tested on."""

from pathlib import Path

import numpy as np

from explorer.data import sample
from explorer.data.text_sets import digest_of
from explorer.evaluating.results.result_files import Origin, Result, ScoredModel
from explorer.evaluating.results.scored_task import TRANSFER, Items, Measured, ScoredTask

DEFAULT = "model default"


def task(name, *, data="", folder="", kind=TRANSFER, **settings):
    """A task under the usual settings, whose data are told by its name unless they are given."""
    return ScoredTask(kind, data or digest_of((name,)), settings, name, folder)


def measured(score, *, layers=(), items=None, seeds=(0,), digest="d", measure="accuracy"):
    titles = (*(f"mean of layer {at}" for at in range(len(layers))), DEFAULT)
    table = np.array([[[value] * len(seeds)] for value in (*layers, score)], dtype=float)
    found = None if items is None else Items(np.asarray(items, dtype=float), digest=digest)
    return Measured("test", titles, (measure,), table, seeds, {"probe": "logistic"}, found, 1.5)


def result(model, name, score, *, recipe="", seed=None, revision="local-1", of=None, **how):
    """The score of a model, whose name and revision tell its files, on a task by its name, or on the task `of`."""
    origin = Origin("simcse", "base", recipe, seed) if recipe else Origin()
    scored = ScoredModel(model, revision, digest_of((model, revision)), origin)
    return Result(scored, of or task(name), measured(score, **how))


def write_set(folder: Path, file: str, count: int, text: str = "{}") -> None:
    """A set of that size with the sentences of the sample, each in that text."""
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    pairs = sample.pairs()
    known = list(zip(pairs.gold, pairs.first, pairs.second, strict=True))
    chosen = (known[row % len(known)] for row in range(count))
    rows = (f"{gold}\t{text.format(first)}\t{text.format(second)}" for gold, first, second in chosen)
    path.write_text("\n".join(["score\tsentence1\tsentence2", *rows]) + "\n", encoding="utf-8")
