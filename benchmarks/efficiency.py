"""Measure training and inference of methods on STS-B, as in Table 6 of SG-BERT: ratios to mean pooling on this machine.

Inference encodes the sentences of the test set with the exported model, all models in turn, and the median of five
rounds counts. Training is that of the whole run, with its dev evaluations. STS-B is read from STRATA_DATA; without it,
the sample takes its place.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from explorer.data import sample, sources
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import find
from explorer.encoding.read.pooling import OWN
from explorer.errors import StrataError
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish
from explorer.training.recipe import Recipe
from explorer.training.record.runs import new
from explorer.training.running import train

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

MODEL, ROUNDS = "all-MiniLM-L6-v2", 5
METHODS = ("wk", "whitening", "flow", "sg", "sg-opt", "simcse", "conisi-s")


def main() -> None:
    sentences, recipe = _task()
    print(f"\nEfficiency on {recipe.data[0]}: {len(sentences):,} sentences, {MODEL}, median of {ROUNDS} rounds in turn")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["STRATA_RUNS"] = folder
        encoders, seconds = {"mean pooling": load(find(MODEL), "float32")}, {"mean pooling": 0.0}
        for name in METHODS:
            try:
                seconds[name], encoders[name] = _trained(replace(recipe, method=name))
            except StrataError as error:
                print(f"  {name:14} not measured: {error}")
        times: dict[str, list[float]] = {name: [] for name in encoders}
        for _ in range(ROUNDS):
            for name, encoder in encoders.items():
                times[name].append(_inference(encoder, sentences))
    mean = statistics.median(times["mean pooling"])
    print("| method | training, s | inference, s | inference, times mean pooling |\n|---|---|---|---|")
    for name, found in times.items():
        middle = statistics.median(found)
        print(f"| {name} | {seconds[name]:.0f} | {middle:.2f} | {middle / mean:.2f} |")


def _task() -> tuple[tuple[str, ...], Recipe]:
    """The sentences to encode, and a recipe of any method on the text of the same set."""
    if (Path(os.environ.get("STRATA_DATA", "")) / "STSB/train.tsv").is_file():
        recipe = Recipe("sg-opt", MODEL, ("STS-B",), dev="STS-B dev", test=None, settings={"epochs": 1})
        return sources.scored_pairs("STS-B test")[0].sentences, recipe
    return sample.pairs().sentences, Recipe("sg-opt", MODEL, settings={"epochs": 1}, test=None)


def _trained(recipe: Recipe) -> tuple[float, Encoder]:
    settings = recipe.settings if recipe.kind.trains() else {}
    run = new(replace(recipe, settings=settings), f"efficiency-{recipe.method}")
    finish(train(run))
    return run.status().seconds, load(find(f"run:{run.name}"), "float32")


def _inference(encoder: Encoder, sentences: tuple[str, ...]) -> float:
    started = time.perf_counter()
    finish(of_reading(encoder, sentences, OWN))
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
