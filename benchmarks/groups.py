"""Measure how often a split by a column calls a group significant though nothing differs, and how often one that does.

Samples of 12 groups are drawn from populations of items of two models. Where neither model is better, at most 5 % of
the samples may have a significant group, by chance alone. Where one group is of a population with a true gain, the
share of samples that find it is the power.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from benchmarks.coverage import Population, of_items, of_pairs, of_ranks
from explorer.measuring.comparing import splits
from explorer.measuring.scores.metrics import MEAN, SPEARMAN

GROUPS, SAMPLES = 12, 300
SIZES = (20, 60, 240)


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


def main() -> None:
    kinds = {
        "Spearman": partial(of_pairs, less=0.3),
        "accuracy, 20 % changed": partial(of_items, 0.1, 0.2),
        "MRR, middling": partial(of_ranks, 0.3, 60, 2.5),
    }
    none = {
        "Spearman": of_pairs().as_good(""),
        "accuracy, 20 % changed": of_items(0.0, 0.2),
        "MRR, middling": of_ranks(0.0, 60, 2.5).as_good(""),
    }
    print(f"{GROUPS} groups, {SAMPLES} samples: any significant though nothing differs; one that differs is found")
    for name, make in kinds.items():
        same, better = none[name], make()
        for items in SIZES:
            started = time.perf_counter()
            shares = []
            for corrected in (True, False):
                false = np.any(significant([same] * GROUPS, items, SAMPLES, corrected=corrected), axis=1).mean()
                rows = significant([better, *[same] * (GROUPS - 1)], items, SAMPLES, corrected=corrected)
                shares += [100 * float(false), 100 * float(np.mean([row[0] for row in rows]))]
            print(
                f"  {name:24} {items:4} items, true gain {better.truth:+.1f}: corrected {shares[0]:.1f} %, "
                f"{shares[1]:.1f} %; each alone {shares[2]:.1f} %, {shares[3]:.1f} %"
                f"  ({time.perf_counter() - started:.0f} s)",
                flush=True,
            )
