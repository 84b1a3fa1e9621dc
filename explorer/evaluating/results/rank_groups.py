"""Rank models on the tasks that they share, in groups that do not differ significantly.

p-values are Holm-corrected, of a paired bootstrap over the items of each task, with the spread of the seeds.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist
from string import ascii_lowercase

import numpy as np
from numpy.typing import NDArray

from explorer.evaluating.results.result_table import ModelRow, are_alike
from explorer.evaluating.results.scored_task import Items, Measured, ScoredTask
from explorer.measuring.scores.bootstrap import RESAMPLES, resampled
from explorer.measuring.scores.metrics import measure_named

Floats = NDArray[np.float64]
Runs = Sequence[Sequence[Measured]]  # (seed, task): the results of a model, trained once or with several seeds

ERROR = 0.05  # the chance of any false difference among all pairs of models


@dataclass(frozen=True, eq=False)
class Ranking:
    """The models from the best on, with the letters of their groups: two that share a letter do not really differ."""

    names: tuple[str, ...]
    scores: Floats  # (model): means over tasks and seeds
    letters: tuple[str, ...]
    p: Floats  # (model, model): corrected by Holm; NaN on the diagonal
    low: Floats  # (model): the 95 % interval of each score, by the same standard errors
    high: Floats


def ranking(models: Mapping[str, Runs], resamples: int = RESAMPLES, seed: int = 0) -> Ranking | None:
    """Rank models on the tasks they share; None if their items differ, so that nothing is paired, or for one model."""
    every = [run for runs in models.values() for run in runs]
    if len(models) < 2 or not all(map(_same_items, zip(*every, strict=True))):
        return None
    # scores × 100 (model, resample), averaged over tasks and seeds; each task is resampled on its own
    by_task = [_resampled(task, resamples, seed + at) for at, task in enumerate(zip(*every, strict=True))]
    parts = np.cumsum([len(runs) for runs in models.values()])[:-1]
    draws = np.stack([runs.mean(axis=0) for runs in np.split(np.mean(by_task, axis=0), parts)])
    of_models = [np.array([[task.score() for task in run] for run in runs]) for runs in models.values()]  # (seed, task)
    scores = np.array([table.mean() for table in of_models])
    if not (np.isfinite(scores).all() and np.isfinite(draws).all()):
        return None
    # of each model's mean over its seeds; 0 for one seed, whose spread is unknown
    variances = [np.var(table.mean(axis=1), ddof=1) / len(table) if len(table) > 1 else 0.0 for table in of_models]
    order = np.argsort(-scores, kind="stable")
    p = holm(p_values(scores[order], draws[order], np.array(variances)[order]))
    names = list(models)
    half = NormalDist().inv_cdf(1 - ERROR / 2) * np.sqrt(np.var(draws, axis=1, ddof=1) + np.array(variances))
    ends = (scores - half)[order], (scores + half)[order]
    return Ranking(tuple(names[at] for at in order), scores[order], letters_of(p <= ERROR), p, *ends)


def ranked(rows: Sequence[ModelRow], tasks: Sequence[ScoredTask]) -> Ranking | None:
    """The rank groups of the models that have every task; None if fewer than two do, or if measures are unlike."""
    if not are_alike(rows, tasks):
        return None
    digests = [task.digest for task in tasks]
    whole = [row for row in rows if all(digest in run for run in row.runs for digest in digests)]
    return ranking({row.name: [[run[digest] for digest in digests] for run in row.runs] for row in whole})


def p_values(scores: Floats, draws: Floats, seed_variances: Floats) -> Floats:
    """Two-sided p-values (model, model) of score differences, from their standard errors; NaN on the diagonal."""
    p = np.full((len(scores), len(scores)), np.nan)
    for one, other in combinations(range(len(scores)), 2):
        variance = np.var(draws[one] - draws[other], ddof=1) + seed_variances[one] + seed_variances[other]
        gap = abs(scores[one] - scores[other])
        p[one, other] = p[other, one] = math.erfc(gap / math.sqrt(2 * variance)) if variance > 0 else float(gap == 0)
    return p


def holm(p: Floats) -> Floats:
    """Holm's step-down correction of a symmetric table of p-values."""
    rows, columns = np.triu_indices(len(p), 1)
    values = p[rows, columns]
    order = np.argsort(values)
    stepped = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    corrected = np.full_like(p, np.nan)
    corrected[rows[order], columns[order]] = corrected[columns[order], rows[order]] = np.minimum(stepped, 1)
    return corrected


def letters_of(differ: NDArray[np.bool_]) -> tuple[str, ...]:
    """Letters for models in order: two share one exactly if they do not differ (insert and absorb, Piepho 2004)."""
    groups = [frozenset(range(len(differ)))]
    for one, other in zip(*np.nonzero(np.triu(differ, 1)), strict=True):
        split = [group - {out} for group in groups if {one, other} <= group for out in (one, other)]
        kept = [group for group in groups if not {one, other} <= group]
        candidates = dict.fromkeys([*kept, *split])
        groups = [group for group in candidates if not any(group < wider for wider in candidates)]
    groups.sort(key=sorted)
    names = [ascii_lowercase[at] if at < len(ascii_lowercase) else f"({at + 1})" for at in range(len(groups))]
    return tuple(
        "".join(name for name, group in zip(names, groups, strict=True) if model in group)
        for model in range(len(differ))
    )


def _same_items(results: Sequence[Measured]) -> bool:
    """Whether all results of a task are on the same items, with the same measure."""
    kinds = {(result.measures[0], result.items and result.items.digest) for result in results}
    known = (one.items is not None and one.items.digest and (one.items.gold is None or measure_named(one.measures[0]))
             for one in results)  # fmt: skip
    return len(kinds) == 1 and all(known)


def _resampled(results: Sequence[Measured], resamples: int, seed: int) -> Floats:
    """Scores × 100 (result, resample) on one task."""
    items: list[Items] = [result.items for result in results if result.items is not None]
    values, gold = np.stack([one.values for one in items]), items[0].gold
    measure = measure_named(results[0].measures[0])
    if gold is not None and measure is not None:
        return resampled(gold, values, items[0].parts, *measure, resamples=resamples, seed=seed)
    count = values.shape[1]
    times = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=resamples)
    return np.asarray(100 * values @ times.T / count)
