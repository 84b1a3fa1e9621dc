"""Measure blends of base and tuned model over five seeds: the share chosen on the dev set against base and tuned.

Texts and sets are read from STRATA_DATA. STRATA_RUNS keeps the runs and what each scored: nothing is measured twice.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.demonstration import SEEDS, T_975, trained
from explorer.data.sources import identity
from explorer.evaluating.kinds import judge_of, run_set
from explorer.measuring.scores.judge import PACKS, Judge
from explorer.methods import PAPER, start_values
from explorer.progress import finish
from explorer.studies.blend import blending
from explorer.studies.blend.blend_curve import curve
from explorer.training.loop import preparing
from explorer.training.recipe import Recipe, demonstration
from explorer.training.record.runs import Run

SETS = ("STS-B test", "SICK-R test", "STS12 test", "STS13 test", "STS14 test")
FEWER = SETS[:2]  # of the methods, whose runs take longer
BUDGET = {"steps": 200, "batch_size": 16, "evaluate_every": 20}
BLENDS = "blends.json"
DEMONSTRATION = "contrast-hard"


def main() -> None:
    every = _recipes()
    found: dict[str, list[dict[str, list[float]]]] = {label: [] for label in every}
    order = [(seed, label) for labels in (list(every)[:1], list(every)[1:]) for seed in SEEDS for label in labels]
    for seed, label in order:  # the demonstration, then all of one seed: what is broken off has the same seeds of each
        run = trained(replace(every[label], seeds=(seed,)), f"blend-{label}-{seed}")
        found[label].append(_measured(run, SETS if label == DEMONSTRATION else FEWER))
        print(f"{label}, seed {seed}: {found[label][-1]}", flush=True)
    print("| | | base | tuned | blend, α by dev | blend - tuned (95 %) | blend - base (95 %) |")
    print("|---|---|---|---|---|---|---|")
    for label, seeds in found.items():
        shares = ", ".join(f"{one['alpha'][0]:g}" for one in seeds)
        print(f"| {label} | α | 0 | 1 | {shares} | | |")
        for name in [name for name in seeds[0] if name != "alpha"]:
            base, tuned, blend = np.array([one[name] for one in seeds]).T
            print(f"| | {name} | {base.mean():.2f} | {_spread(tuned)} | {_spread(blend)} | "
                  f"{_interval(blend - tuned)} | {_interval(blend - base)} |")  # fmt: skip


def _recipes() -> dict[str, Recipe]:
    data = Path(os.environ["STRATA_DATA"])
    wiki, snli = str(data / "wiki" / "sentences.tsv"), str(data / "SNLI" / "triplets_dev.tsv")
    default = {"pooling": "model default"}
    methods = {
        "simcse": (wiki, default),
        "tsdae": (wiki, default),
        "simcse-hard": (snli, {**default, "keep_head": False}),
        "cosent": ("STS-B train", default),
        "sg-opt": (wiki, start_values(Recipe("sg-opt").kind, "", PAPER)),
    }
    shown = demonstration()
    whole = replace(shown, settings={**shown.settings, "blend": 1.0})  # it is blended by itself
    return {DEMONSTRATION: whole} | {
        name: Recipe(name, data=(text,), settings={**settings, **BUDGET}, dev="STS-B dev", test=None)
        for name, (text, settings) in methods.items()
    }


def _measured(run: Run, sets: tuple[str, ...]) -> dict[str, list[float]]:
    """The share α that is chosen, and what base, tuned model and blend score on each set and distinguish."""
    kept = run.folder / BLENDS
    if not kept.is_file():
        models, first = finish(blending.of_runs([run], blending.BlendOptions().shares))
        prepared = finish(preparing.prepare(run.recipe(), mine=False))
        judges: dict[str, Judge] = {}
        for name in sets:
            judges[name] = judge_of(run_set(identity(name)), prepared.encoder)
        if PACKS in first.judges:
            judges[PACKS] = first.judges[PACKS]
        best = first.best
        found = finish(curve(models, judges, (best,)))
        ends = [found.judges[name].score for name in sets]
        scores = {
            name: [score(found.before[name]), *(score(found.points[alpha][name]) for alpha in (1.0, best))]
            for name, score in zip(sets, ends, strict=True)
        }
        as_used = replace(found, points={0.0: found.before})  # α = 0 is read as the tuned model is
        shown = [as_used.packs(0.0), found.packs(1.0), found.packs(best)]
        packs = {name: [100 * one[name] for one in shown] for name in shown[0]}
        kept.write_text(json.dumps({"alpha": [best], **scores, **packs, "dev": list(first.scores("dev").values())}))
    content: dict[str, list[float]] = json.loads(kept.read_text(encoding="utf-8"))
    print(f"dev, α from 0 to 1: {[round(one, 2) for one in content.pop('dev')]}")
    return content


def _spread(values: np.ndarray) -> str:
    return f"{values.mean():.2f} ± {values.std(ddof=1):.2f}"


def _interval(gaps: np.ndarray) -> str:
    half = T_975 * gaps.std(ddof=1) / np.sqrt(len(gaps))
    return f"{gaps.mean():+.2f} ({gaps.mean() - half:+.2f} to {gaps.mean() + half:+.2f})"
