"""Measure how often groups are called significant though nothing differs, and how often those that do are found.

Of a split by a column: samples of 12 groups are drawn from populations of items of two models. Where neither model is
better, at most 5 % of the samples may have a significant group, by chance alone. Where one group is of a population
with a true gain, the share of samples that find it is the power.

Of rank groups: in samples of tasks, models differ by an amount of their own on each task, which the items of the task
show with noise. Either claim may call any two models different in at most 5 % of the samples in which they are equal:
on average over the drawn tasks (on these tasks), or over all tasks that could have been drawn (on tasks like these).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from benchmarks.coverage import Population, of_items, of_pairs, of_ranks
from explorer.evaluating.results import rank_groups
from explorer.evaluating.results.scored_task import Items, Measured
from explorer.measuring.comparing import splits
from explorer.measuring.scores.correlation import spearman
from explorer.measuring.scores.metrics import MEAN, SPEARMAN

GROUPS = 12
SAMPLES, OF_PAIRS, FOUND = 2000, 300, 300  # for false findings, of items and of pairs, and for what is found
SIZES = (20, 60, 240)
TASKS, SPREADS, GAINS = (3, 5, 8, 12), (0, 1, 3), (3, 5)  # of rank groups
ON_THESE, ON_LIKE, BOOTSTRAP = "on these tasks", "on tasks like these", "two-level bootstrap"
READ_WRONG = "on these tasks, read as on tasks like these"
WORLDS, POWER = 4000, 500  # samples of tasks, for false findings and for what is found
Floats = NDArray[np.float64]


def significant(
    of_groups: Sequence[Population], items: int, samples: int, *, corrected: bool = True
) -> list[list[bool]]:
    """Which groups (sample, group) are significant, each of so many items of its population."""
    drawn = zip(
        *(one.samples(items, samples, np.random.default_rng(seed)) for seed, one in enumerate(of_groups)), strict=True
    )
    ends = np.arange(0, items * len(of_groups) + 1, items)
    groups = [splits.ItemGroup(str(at), np.arange(low, high)) for at, (low, high) in enumerate(pairwise(ends))]
    statistic = MEAN if of_groups[0].gold is None else SPEARMAN
    found = []
    for number, sample in enumerate(drawn):
        gold, one, other = map(np.concatenate, zip(*sample, strict=True))
        together = [groups] if corrected else [[group] for group in groups]
        changes = [splits.changes_of(gold, one, other, some, statistic, seed=number)[0] for some in together]
        found.append([bool(change.sure) for some in changes for change in some])
    return found


def of_splits() -> None:
    kinds = {
        "Spearman": (of_pairs().as_good(""), of_pairs(less=0.3), OF_PAIRS),
        "accuracy, 20 % changed": (of_items(0.0, 0.2), of_items(0.1, 0.2), SAMPLES),
        "MRR, middling": (of_ranks(0.0, 60, 2.5).as_good(""), of_ranks(0.3, 60, 2.5), SAMPLES),
    }
    print(f"{GROUPS} groups: any significant though nothing differs, and the one that differs, corrected and not")
    for name, (same, better, samples) in kinds.items():
        for items in SIZES:
            shares = []
            for corrected in (True, False):
                false = significant([same] * GROUPS, items, samples, corrected=corrected)
                found = significant([better, *[same] * (GROUPS - 1)], items, FOUND, corrected=corrected)
                shares.append(
                    f"{100 * np.any(false, axis=1).mean():.1f} %, {100 * np.mean([row[0] for row in found]):.1f} %"
                )
            print(f"  {name:24} {items:4} items, true gain {better.truth:+.1f}: {'; alone '.join(shares)}", flush=True)


@dataclass(frozen=True)
class Tasks:
    """Models on tasks like those of STS and retrieval: in points of a score × 100."""

    models: int
    tasks: int
    spread: float  # standard deviation, over tasks, of the true difference of two models
    skewed: bool = False  # only the first model has differences to the others, most of them small and some large
    gain: float = 0.0  # of the first model over the others, on average over all tasks
    items: tuple[int, int] = (100, 2000)  # of a task, as likely from 100 to 200 as from 1,000 to 2,000
    # standard deviation, over items, of the difference of two models: about 20 of STS, 30 of nDCG, 45 of accuracy
    noise: tuple[float, float] = (20, 45)

    def draw(self, random: np.random.Generator, *, exact: bool = False) -> tuple[Floats, Floats]:
        """Scores (model, task), and the variances of differences of their means (model, model) by the draw of items.

        If they are `exact`, the true differences on these tasks are those on average over all tasks.
        """
        true = random.normal(size=(self.models, self.tasks)) * self.spread / np.sqrt(2)
        if self.skewed:
            true = np.zeros_like(true)
            true[0] = self.spread * (random.exponential(size=self.tasks) - 1)
        if exact:
            true -= true.mean(axis=1, keepdims=True)
        true[0] += self.gain
        items = np.exp(random.uniform(*np.log(self.items), size=self.tasks))
        of_model = random.uniform(*self.noise, size=self.tasks) ** 2 / 2 / items
        scores = true + random.normal(size=true.shape) * np.sqrt(of_model)
        return scores, np.full((self.models, self.models), 2 * of_model.sum() / self.tasks**2)


def different(tasks: Tasks, samples: int, *, exact: bool = False, seed: int = 0) -> dict[str, NDArray[np.bool_]]:
    """Which pairs of models (sample, pair) are called different, by both claims and by other ways for the second."""
    random = np.random.default_rng(seed)
    above = np.triu_indices(tasks.models, 1)
    found: dict[str, list[Floats]] = {}
    for _ in range(samples):
        scores, by_items = tasks.draw(random, exact=exact)
        on_these, on_like = rank_groups.both_claims(scores, by_items, np.zeros(tasks.models))
        assert on_like is not None, f"{tasks.tasks} tasks are enough for {tasks.models} models"
        others = {name: rank_groups.holm(p) for name, p in _other_ways(scores, by_items).items()}
        for name, p in {ON_THESE: on_these.p, ON_LIKE: on_like.p, **others}.items():
            found.setdefault(name, []).append(p[above])
    return {name: np.array(p) <= rank_groups.ERROR for name, p in found.items()}


def _other_ways(scores: Floats, by_items: Floats) -> dict[str, Floats]:
    """p-values on tasks like these, by other ways, without a correction."""
    models, tasks = scores.shape
    means, by_tasks = scores.mean(axis=1), rank_groups.difference_variances(scores) / tasks
    left = scores - means[:, None] - scores.mean(axis=0) + scores.mean()
    freedom = (models - 1) * (tasks - 1)
    common = np.full_like(by_tasks, 2 * (left**2).sum() / freedom / tasks)
    ways = {
        # resampled tasks vary by their variance without its correction
        BOOTSTRAP: (by_tasks * (tasks - 1) / tasks + by_items, math.inf),
        "t-test alone": (by_tasks, tasks - 1),
        "larger variance": (np.maximum(by_tasks, by_items), tasks - 1),
        "one variance": (common, freedom),  # of all models, as in an analysis of variance
    }
    return {name: rank_groups.p_values(means, *way) for name, way in ways.items()}


def scored_pairs(
    models: int, tasks: int, spread: float, samples: int, pairs: int = 300, seed: int = 0
) -> list[rank_groups.Ranking]:
    """Rankings of equally good models whose noise differs from task to task, from their cosines of scored pairs."""
    random = np.random.default_rng(seed)
    rankings = []
    for sample in range(samples):
        runs: list[list[Measured]] = [[] for _ in range(models)]
        for _ in range(tasks):
            gold, shared = random.uniform(0, 5, pairs), random.normal(size=pairs)
            for run in runs:
                noise = np.exp(spread * random.normal())
                cosines = gold + noise * (shared + 0.5 * random.normal(size=pairs))
                table = np.array([[[100 * float(spearman(gold, cosines))]]])
                run.append(
                    Measured("test", ("model default",), ("spearman",), table, items=Items(cosines, gold, (), "d"))
                )
        ranking = rank_groups.ranking({str(at): [run] for at, run in enumerate(runs)}, resamples=200, seed=sample)
        assert ranking is not None, "the models are scored on the same pairs"
        rankings.append(ranking)
    return rankings


def of_rank_groups() -> None:
    print(f"rank groups, {WORLDS} samples of tasks: any two equal models called different (share of pairs)")
    print(f"a model that is better by {' or '.join(map(str, GAINS))} points: found in {POWER} samples of tasks")
    for models, tasks, spread in product((2, 5), TASKS, SPREADS):
        if tasks >= rank_groups.fewest_tasks(models):
            _print(Tasks(models, tasks, spread))
    for models, tasks in product((2, 5), TASKS[1::2]):
        _print(Tasks(models, tasks, 3, skewed=True))
    for spread in (0.0, 0.1):
        rankings = scored_pairs(3, 5, spread, OF_PAIRS)
        claims = zip(*([one.on_these, one.on_like] for one in rankings), strict=True)
        on_these, on_like = (100 * np.mean([_any(one.p) for one in every if one]) for every in claims)
        print(f"  3 models, 5 tasks of 300 scored pairs, noise × e^(±{spread}): {on_these:.1f} %; {on_like:.1f} %")


def _print(tasks: Tasks) -> None:
    exact, found = (different(tasks, WORLDS, exact=exact) for exact in (True, False))
    found[READ_WRONG], found[ON_THESE] = found[ON_THESE], exact[ON_THESE]
    gains = [different(replace(tasks, gain=gain), POWER, seed=1) for gain in GAINS]
    print(f"  {tasks.models} models, {tasks.tasks} tasks, spread {tasks.spread}{', skewed' * tasks.skewed}")
    for name, pairs in found.items():
        shares = f"{100 * pairs.any(axis=1).mean():.1f} % ({100 * pairs.mean():.1f} %)"
        power = ", ".join(f"{100 * one[name][:, 0].mean():.0f} %" for one in gains if name in one)
        print(f"    {name}: {shares}" + f"; found {power}" * bool(power), flush=True)


def _any(p: Floats) -> bool:
    """Whether any two models differ."""
    return bool((p[np.triu_indices(len(p), 1)] <= rank_groups.ERROR).any())


def main() -> None:
    of_splits()
    of_rank_groups()
