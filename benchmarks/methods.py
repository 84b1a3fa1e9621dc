"""Measure the time and memory of a training step of each method, one process per method.

A batch has 64 rows, or as many as BATCH says. Texts are read from STRATA_DATA; those that are not there are of the
sample. docs/results.md says how to make back-translations and documents.
"""

from __future__ import annotations

import os
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.by_hand import prepared
from explorer import methods
from explorer.data import sources
from explorer.data.corpora import corpus
from explorer.data.text_sets import BACK_TRANSLATIONS, DOCUMENTS, PAIRS, SENTENCES, TRIPLETS, Corpus, Kind
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import find
from explorer.errors import StrataError
from explorer.progress import finish

if TYPE_CHECKING:
    from explorer.training.loop.learner import Learner

BATCH, WARM, STEPS, SEED = int(os.environ.get("BATCH", 64)), 5, 15, 1
MODEL = "all-MiniLM-L6-v2"
TEXTS = {
    SENTENCES: "wiki/sentences.tsv",
    PAIRS: "SNLI/triplets_dev.tsv",
    TRIPLETS: "SNLI/triplets_dev.tsv",
    BACK_TRANSLATIONS: "wiki/back_translations.tsv",
    DOCUMENTS: "wiki/documents.tsv",
}
PRESETS = {"declutr": "short text"}  # its documents as published are longer than articles


def main() -> None:
    print(f"\nA step of each method: {BATCH} rows, {MODEL}, {STEPS} steps after {WARM}, precision as it comes")
    with tempfile.TemporaryDirectory() as folder:
        generator = _generator(Path(folder) / "generator")
        for name in methods.names():
            if methods.load(name).trains():
                # a process each: memory that one has taken is not taken for another's
                with get_context("spawn").Pool(1) as pool:
                    print(f"  {name:24} {pool.apply(_measured, (name, str(generator)))}", flush=True)


def _generator(folder: Path) -> Path:
    """A masked language model that was hardly trained: how long it takes to guess is no matter of what it guesses."""
    from explorer.training.generator import make_generator

    finish(make_generator(load(find(MODEL), "float32"), _text(SENTENCES).texts[0], folder, steps=1))
    return folder


def _text(kind: Kind) -> Corpus:
    """The text of a kind from STRATA_DATA, else the sample."""
    path = Path(os.environ.get("STRATA_DATA", "")) / TEXTS.get(kind, "")
    return corpus([sources.text(str(path) if path.is_file() else "sample")], kind)[0]


def _measured(name: str, generator: str) -> str:
    try:
        held, times = _steps(name, generator)
    except StrataError as error:
        return f"not measured: {error}"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    low, middle, high = min(times), statistics.median(times), max(times)
    return f"{middle:.3f} s ({low:.3f} to {high:.3f}), at most {(peak - held) / 2**20:,.0f} MiB above the loaded model"


def _steps(name: str, generator: str) -> tuple[int, list[float]]:
    """Bytes held before the method was built, and the seconds of each step."""
    import psutil

    from explorer.data import sample
    from explorer.fair_share import kept_while_training
    from explorer.training.loop.learner import Learner
    from explorer.training.loop.processes import World
    from explorer.training.recipe import Recipe

    kind = methods.load(name)
    named = {one.name: generator for one in kind.knobs.values() if one.masked_model}
    preset = kind.presets[PRESETS[name]] if name in PRESETS else {}
    recipe = Recipe(name, settings={**preset, "batch_size": BATCH, "steps": 10_000, **named})
    text, encoder = _text(kind.rows), load(find(MODEL), "float32")
    with kept_while_training():
        held = psutil.Process().memory_info().rss
        learner = Learner(prepared(recipe, encoder, text, sample.pairs(), SEED, find(MODEL)), SEED, World())
        finish(learner.fit())
        return held, list(_timed(learner))[WARM:]


def _timed(learner: Learner) -> Iterator[float]:
    for _ in range(WARM + STEPS):
        started = time.perf_counter()
        learner.update()
        yield time.perf_counter() - started
