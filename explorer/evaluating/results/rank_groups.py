"""Rank models on the tasks that they share, in groups that do not differ significantly.

There are two claims, each with p-values corrected by Holm and with the spread of the seeds:

- on these tasks: a paired bootstrap over the items of each task. It says nothing of other tasks;
- on tasks like these, of which these are taken as a random sample: a paired t-test over the tasks. It allows for
  differences that vary from task to task, and is never more certain than the first claim. Tasks of unequal size do not
  make it less strict: at levels up to 8 % a t-test of normal values with unequal variances errs on the safe side
  (Bakirov and Székely 2005; Ibragimov and Müller 2010).

A bootstrap over so few tasks has intervals that are too short. `make bench ARGS=groups` measures both claims.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from statistics import NormalDist
from string import ascii_lowercase

import numpy as np
from numpy.typing import NDArray

from explorer.evaluating.results.result_table import ModelRow, are_alike
from explorer.evaluating.results.scored_task import Items, Measured, ScoredTask
from explorer.measuring.scores.bootstrap import RESAMPLES, resampled, student
from explorer.measuring.scores.metrics import measure_named

Floats = NDArray[np.float64]
Runs = Sequence[Sequence[Measured]]  # (seed, task): the results of a model, trained once or with several seeds

ERROR = 0.05  # the chance of any false difference among all pairs of models


# standard errors: models are not compared on tasks like these where even a difference as large could be chance
MOST_ERRORS = 10
THESE, LIKE = "these tasks", "tasks like these"  # what the claims are about


@dataclass(frozen=True, eq=False)
class Groups:
    """Which models differ significantly, from the best model on."""

    p: Floats  # (model, model): corrected by Holm; NaN on the diagonal

    @cached_property
    def letters(self) -> tuple[str, ...]:
        """The letters of each model: two models that share one do not differ significantly."""
        return letters_of(self.p <= ERROR)

    @property
    def worse(self) -> tuple[int, ...]:
        """The models that are significantly worse than the best one."""
        return tuple(int(at) for at in np.flatnonzero(self.p[0] <= ERROR))

    @property
    def best_is_clear(self) -> bool:
        """Whether the best model is significantly better than every other."""
        return len(self.worse) == len(self.p) - 1


@dataclass(frozen=True, eq=False)
class Ranking:
    """The models from the best on, with the groups that do not differ on these tasks and on tasks like these."""

    names: tuple[str, ...]
    scores: Floats  # (model): means over tasks and seeds
    low: Floats  # (model): the 95 % interval of each score on these tasks
    high: Floats
    tasks: int
    on_these: Groups
    on_like: Groups | None  # None for fewer tasks than fewest_tasks

    @property
    def claims(self) -> dict[str, Groups]:
        """The groups by what they are about, of the claims that are measured."""
        return {THESE: self.on_these} | ({} if self.on_like is None else {LIKE: self.on_like})

    @property
    def letters(self) -> dict[str, dict[str, str]]:
        """The letters of each model by its name, by what the claim is about."""
        return {about: dict(zip(self.names, groups.letters, strict=True)) for about, groups in self.claims.items()}


def ranking(models: Mapping[str, Runs], resamples: int = RESAMPLES, seed: int = 0) -> Ranking | None:
    """Rank models on the tasks they share; None if their items differ, so that nothing is paired, or for one model."""
    every = [run for runs in models.values() for run in runs]
    if len(models) < 2 or not all(map(_same_items, zip(*every, strict=True))):
        return None
    # scores × 100 (model, resample), averaged over tasks and seeds; each task is resampled on its own
    drawn = [_resampled(task, resamples, seed + at) for at, task in enumerate(zip(*every, strict=True))]
    parts = np.cumsum([len(runs) for runs in models.values()])[:-1]
    draws = np.stack([runs.mean(axis=0) for runs in np.split(np.mean(drawn, axis=0), parts)])
    of_models = [np.array([[task.score() for task in run] for run in runs]) for runs in models.values()]  # (seed, task)
    by_task = np.stack([table.mean(axis=0) for table in of_models])
    if not (np.isfinite(by_task).all() and np.isfinite(draws).all()):
        return None
    # of each model's mean over its seeds; 0 for one seed, whose spread is unknown
    of_seeds = [np.var(table.mean(axis=1), ddof=1) / len(table) if len(table) > 1 else 0.0 for table in of_models]
    order = np.argsort(-by_task.mean(axis=1), kind="stable")
    by_task, draws, seed_variances = by_task[order], draws[order], np.array(of_seeds)[order]
    scores = by_task.mean(axis=1)
    half = NormalDist().inv_cdf(1 - ERROR / 2) * np.sqrt(np.var(draws, axis=1, ddof=1) + seed_variances)
    groups = both_claims(by_task, difference_variances(draws), seed_variances)
    names = list(models)
    return Ranking(tuple(names[at] for at in order), scores, scores - half, scores + half, by_task.shape[1], *groups)


def ranked(rows: Sequence[ModelRow], tasks: Sequence[ScoredTask]) -> Ranking | None:
    """The rank groups of the models that have every task; None if fewer than two do, or if measures are unlike."""
    if not are_alike(rows, tasks):
        return None
    digests = [task.digest for task in tasks]
    whole = [row for row in rows if all(digest in run for run in row.runs for digest in digests)]
    return ranking({row.name: [[run[digest] for digest in digests] for run in row.runs] for row in whole})


def both_claims(by_task: Floats, item_variances: Floats, seed_variances: Floats) -> tuple[Groups, Groups | None]:
    """Which models differ on these tasks, and on tasks like these; None for the latter if the tasks are too few.

    Of scores (model, task), and the variances of differences of their means (model, model) by the draw of items.
    """
    scores, tasks = by_task.mean(axis=1), by_task.shape[1]
    of_seeds = np.add.outer(seed_variances, seed_variances)
    on_these = p_values(scores, item_variances + of_seeds)
    if tasks < fewest_tasks(len(scores)):
        return Groups(holm(on_these)), None
    # differences between tasks vary by the draw of their items, too
    over_tasks = p_values(scores, difference_variances(by_task) / tasks + of_seeds, tasks - 1)
    # by chance, differences of few tasks can be more alike than their items allow
    return Groups(holm(on_these)), Groups(holm(np.maximum(on_these, over_tasks)))


def fewest_tasks(models: int) -> int:
    """How many tasks it takes to compare so many models on tasks like these: 3 for two models, 4 for five."""
    pairs = math.comb(models, 2)
    return next(tasks for tasks in count(2) if student(1 - ERROR / 2 / pairs, tasks - 1) <= MOST_ERRORS)


def difference_variances(values: Floats) -> Floats:
    """The variances (model, model) of differences of values (model, draw)."""
    above = np.zeros((len(values), len(values)))
    for at, one in enumerate(values):
        above[at, at + 1 :] = np.var(values[at + 1 :] - one, axis=1, ddof=1)
    return above + above.T


def p_values(scores: Floats, variances: Floats, freedom: float = math.inf) -> Floats:
    """Two-sided p-values (model, model) of score differences of these variances; NaN on the diagonal.

    By Student's t with these degrees of freedom; endless ones are the normal distribution.
    """
    from scipy.special import stdtr

    gaps = np.abs(np.subtract.outer(scores, scores))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(gaps > 0, gaps / np.sqrt(variances), 0.0)  # equal scores do not differ, whatever the variance
    p = 2 * stdtr(freedom, -t)
    np.fill_diagonal(p, np.nan)
    return np.asarray(p)


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
