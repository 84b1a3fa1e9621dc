"""Estimate the time and the disk space of a classification task before it starts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from explorer.data.labelled.labelled_set import FOLDS, LabelledSet, check
from explorer.encoding.read.readings import MODEL_DEFAULT
from explorer.evaluating.encoded import FLOAT, seconds_of, width_of
from explorer.evaluating.measured import TaskCost
from explorer.evaluating.probes import logistic, senteval
from explorer.evaluating.probes.mlp import Network, trained
from explorer.evaluating.probes.probe_data import Rows
from explorer.evaluating.results.scored_task import LOGISTIC
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

ROWS = 6000  # that a probe is tried on: logistic regression takes more iterations on more of them
PASSES = 56  # of SentEval's classifier over its rows: 11 to 14 evaluations of 4 passes on CR, TREC and MRPC


def estimate(
    encoder: Encoder,
    task: LabelledSet,
    *,
    probe: str,
    seeds: Sequence[int],
    titles: Sequence[str],
    max_length: int | None = None,
) -> Work[TaskCost]:
    """Encode some texts, train the probe once on random vectors, and extrapolate."""
    distinct = list(dict.fromkeys(check(task).texts))
    disk = sum(width_of(encoder, title) for title in titles) * len(distinct) * FLOAT
    yield Progress("estimating", 0, 2)
    encoding = seconds_of(encoder, distinct, max_length)
    yield Progress("estimating", 1, 2)
    rows = _random_rows(task, width_of(encoder, MODEL_DEFAULT) * (2 if task.is_pairs else 1))
    # the rows of a fit: two folds are left out of nested folds, one out of folds
    share = 1 - (2 if task.test is None else 1 if task.dev is None else 0) / FOLDS
    scale = share * len(task.train) / len(rows)
    splits = task.test is not None, task.dev is not None
    if probe == LOGISTIC:
        fits = logistic.fits(*splits) * len(titles) * len(seeds)
        usual = most = fits * scale * _path(rows)
    else:
        fits = senteval.fits(*splits) * len(titles) * len(seeds)
        one_pass = yield from _pass(rows, len(task.classes))
        longest = Network().max_epoch + Network().epoch_size
        usual, most = (fits * scale * passes * one_pass for passes in (PASSES, longest))
    return TaskCost(len(distinct), fits, encoding, usual, most, disk)


def _random_rows(task: LabelledSet, width: int) -> Rows:
    """Vectors with as many rows, up to a limit, and as many classes as those of the task, which overlap."""
    random, count = np.random.default_rng(0), min(ROWS, len(task.train))
    classes = len(task.classes)
    y = np.arange(count) % classes
    # dimensions that are correlated and classes that overlap, so that logistic regression takes as long as on sentences
    mixed = random.normal(size=(width, width)) * np.geomspace(1, 0.05, width)[:, None]
    x = random.normal(size=(count, width)) @ mixed + 0.15 * random.normal(size=(classes, width))[y]
    return Rows(x.astype(np.float32), y.astype(np.intp))


def _path(rows: Rows) -> float:
    logistic.path(rows.at(np.arange(min(64, len(rows)))), [rows.x])  # the first imports scikit-learn
    started = time.perf_counter()
    logistic.path(rows, [rows.x])
    return time.perf_counter() - started


def _pass(rows: Rows, classes: int) -> Work[float]:
    """Seconds of one pass over the rows, for the four networks of a training."""
    network = replace(Network(), epoch_size=1, max_epoch=0)
    for again in range(2):  # the first is slower
        started = time.perf_counter()
        told = Progress("estimating", 1, 2)
        yield from trained(
            rows, rows.at(np.arange(min(64, len(rows)))), classes, senteval.DECAYS, again, told, network=network
        )
    return time.perf_counter() - started
