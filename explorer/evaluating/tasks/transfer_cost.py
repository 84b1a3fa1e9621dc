"""Estimate the time and the disk space of a task before it starts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from explorer.data.labelled.labelled_set import FOLDS, LabelledSet, check
from explorer.encoding.read.readings import MODEL_DEFAULT
from explorer.evaluating.encoded import FLOAT, width_of
from explorer.evaluating.probes import logistic, senteval
from explorer.evaluating.probes.mlp import Network, trained
from explorer.evaluating.probes.probe_data import Rows
from explorer.evaluating.tasks.transfer import LOGISTIC, check_choice, chosen_titles, texts_of
from explorer.progress import Progress, Work

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

TEXTS = 64  # that are encoded to measure the speed
ROWS = 6000  # that a probe is tried on: logistic regression takes more iterations on more of them
PASSES = 56  # of SentEval's classifier over its rows: 11 to 14 evaluations of 4 passes on CR, TREC and MRPC


@dataclass(frozen=True)
class Cost:
    """What a task takes on this machine, in seconds and bytes."""

    texts: int  # distinct ones, each encoded once
    fits: int  # trainings of the probe
    encoding: float
    probing: float
    probing_at_most: float  # if no training of SentEval's classifier stops early
    disk: int  # bytes of the temporary file of vectors

    @property
    def seconds(self) -> float:
        """The expected time of everything."""
        return self.encoding + self.probing

    @property
    def at_most(self) -> float:
        """The time if no training of SentEval's classifier stops early."""
        return self.encoding + self.probing_at_most


def estimate(
    encoder: Encoder,
    task: LabelledSet,
    *,
    probe: str = LOGISTIC,
    seeds: Sequence[int] = (1,),
    titles: Sequence[str] | None = None,
    max_length: int | None = None,
) -> Work[Cost]:
    """Encode some texts, train the probe once on random vectors, and extrapolate."""
    check_choice(probe, seeds)
    check(task)
    kept, distinct = chosen_titles(encoder, probe, titles), list(dict.fromkeys(texts_of(task)))
    disk = sum(width_of(encoder, title) for title in kept) * len(distinct) * FLOAT
    yield Progress("estimating", 0, 2)
    encoding = _encoding(encoder, distinct, max_length)
    yield Progress("estimating", 1, 2)
    rows = _random_rows(task, width_of(encoder, MODEL_DEFAULT) * (2 if task.is_pairs else 1))
    # the rows of a fit: two folds are left out of nested folds, one out of folds
    share = 1 - (2 if task.test is None else 1 if task.dev is None else 0) / FOLDS
    scale = share * len(task.train) / len(rows)
    splits = task.test is not None, task.dev is not None
    if probe == LOGISTIC:
        fits = logistic.fits(*splits) * len(kept) * len(seeds)
        usual = most = fits * scale * _path(rows)
    else:
        fits = senteval.fits(*splits) * len(kept) * len(seeds)
        one_pass = yield from _pass(rows, len(task.classes))
        longest = Network().max_epoch + Network().epoch_size
        usual, most = (fits * scale * passes * one_pass for passes in (PASSES, longest))
    return Cost(len(distinct), fits, encoding, usual, most, disk)


def of_encoding(encoder: Encoder, texts: Sequence[str], max_length: int | None = None) -> Cost:
    """What it takes to encode the texts of a task without a probe."""
    distinct = list(dict.fromkeys(texts))
    return Cost(len(distinct), 0, _encoding(encoder, distinct, max_length), 0.0, 0.0, 0)


def _encoding(encoder: Encoder, distinct: Sequence[str], max_length: int | None) -> float:
    """Seconds for all texts, from some of all lengths."""
    step = max(1, len(distinct) // TEXTS)
    some = sorted(distinct, key=len)[step // 2 :: step]
    for _ in encoder.views(some[-1:], max_length):  # the first pass through a model is slower
        pass
    started = time.perf_counter()
    for _ in encoder.views(some, max_length):
        pass
    return (time.perf_counter() - started) * len(distinct) / len(some)


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
