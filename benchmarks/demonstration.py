"""Measure the demonstration: its recipe over five seeds, scored on the probe packs, the sample and published sets.

Published sets are read from STRATA_DATA; those that are not there are left out. STRATA_RUNS keeps the runs: a seed
whose run is done is not trained again.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from explorer.data import sample
from explorer.data.graded import sts
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import find
from explorer.encoding.read.pooling import OWN
from explorer.errors import StrataError
from explorer.measuring.scores.correlation import spearman
from explorer.measuring.sentences.probe_cosines import probed, sentences_of
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.places import runs_folder
from explorer.progress import finish
from explorer.training.recipe import Recipe, demonstration
from explorer.training.record.runs import Run, new
from explorer.training.record.status import FINISHED
from explorer.training.running import train

if TYPE_CHECKING:
    from explorer.data.text_sets import GradedPairs
    from explorer.encoding.read.encoder import Encoder

SEEDS = (1, 2, 3, 4, 5)
SETS = ("STS-B test", "STS-B dev", "SICK-R test", "STS12 test", "STS13 test", "STS14 test")
T_975 = 2.776  # of Student's t with four degrees of freedom
SCORES = "scores.json"


def main() -> None:
    recipe = demonstration()
    print(f"\nThe demonstration, seeds {', '.join(map(str, SEEDS))}:\n{recipe.command()}", flush=True)
    graded = [sample.test(), sample.dev(), *_published()]
    base = _scores(load(find(recipe.model), "float32"), graded)
    tuned = []
    for seed in SEEDS:
        run = trained(replace(recipe, seeds=(seed,)), f"demonstration-seed-{seed}")
        kept = run.folder / SCORES
        if not kept.is_file():
            kept.write_text(json.dumps(_scores(load(find(str(run.model)), "float32"), graded)), encoding="utf-8")
        tuned.append(json.loads(kept.read_text(encoding="utf-8")))
        print(f"seed {seed}, {run.status().results}: {tuned[-1]}", flush=True)
    print("| | base | tuned, mean ± std | 95 % interval of the mean |\n|---|---|---|---|")
    for name, before in base.items():
        after = np.array([scores[name] for scores in tuned])
        half = T_975 * after.std(ddof=1) / np.sqrt(len(after))
        print(f"| {name} | {before:.2f} | {after.mean():.2f} ± {after.std(ddof=1):.2f} | "
              f"{after.mean() - half:.2f} to {after.mean() + half:.2f} |")  # fmt: skip


def trained(recipe: Recipe, name: str) -> Run:
    """The run of that name, trained unless it is done."""
    run = Run(runs_folder() / name)
    if (run.folder / SCORES).is_file() or run.status().state == FINISHED:
        return run
    if run.folder.is_dir():
        run.delete()  # broken off
    run = new(recipe, name)
    finish(train(run))
    return run


def _published() -> list[GradedPairs]:
    found = []
    for name in SETS:
        try:
            found.append(sts.load(*sts.name_and_split(name)))
        except StrataError as error:
            print(f"left out: {error}")
    return found


def _scores(encoder: Encoder, graded: list[GradedPairs]) -> dict[str, float]:
    """What is distinguished in %, and Spearman × 100 on each set, both under the model's default."""
    packs = sample.probe_packs()
    found = probed(packs, finish(of_reading(encoder, sentences_of(packs), OWN)))
    scores = {pack.name: 100 * found.distinguished(pack.name).value for pack in packs if not pack.same}
    for pairs in graded:
        places = {sentence: place for place, sentence in enumerate(dict.fromkeys((*pairs.first, *pairs.second)))}
        vectors = finish(of_reading(encoder, tuple(places), OWN)).astype(np.float64)
        unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        first, second = (unit[[places[one] for one in column]] for column in (pairs.first, pairs.second))
        scores[pairs.name] = 100 * float(spearman(np.array(pairs.gold), (first * second).sum(1)))
    return scores
