"""Measure how often a split by a column calls a group significant though nothing differs, and how often one that does.

Samples of 12 groups are drawn from populations of items of two models. Where neither model is better, at most 5 % of
the samples may have a significant group, by chance alone. Where one group is of a population with a true gain, the
share of samples that find it is the power.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from benchmarks.coverage import Population, of_items, of_pairs, of_ranks
from explorer.measuring.comparing import splits
from explorer.measuring.scores.metrics import MEAN, SPEARMAN

GROUPS = 12
SAMPLES, OF_PAIRS, FOUND = 2000, 300, 300  # for false findings, of items and of pairs, and for what is found
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
