"""Compare what a training and a picture of sizes were estimated to take with what they took, on an idle machine."""

from __future__ import annotations

import os
import tempfile
import time

from explorer.data import sample
from explorer.data.set_items import ItemSet
from explorer.encoding.load.loading import load
from explorer.encoding.locate.lookup import BUNDLED
from explorer.encoding.locate.model_names import find
from explorer.progress import finish
from explorer.studies.size import duration, picture
from explorer.studies.size.points import SizeOptions
from explorer.training import running
from explorer.training.loop.estimate import try_out
from explorer.training.recipe import demonstration
from explorer.training.record import runs

NEAR = 0.25  # share of the time that it took


def main() -> bool:
    print("\nEstimates and what it took, in seconds")
    recipe = demonstration()
    finish(try_out(recipe))  # imports, and what the system keeps of files
    estimated = finish(try_out(recipe)).seconds
    with tempfile.TemporaryDirectory() as folder:
        os.environ["STRATA_RUNS"] = folder
        started = time.monotonic()
        finish(running.train(runs.new(recipe)))
        wrong = [_is_wrong("the demonstration", estimated, time.monotonic() - started)]
    encoder, text = load(find(BUNDLED), precision="float32"), sample.sentences()
    options = SizeOptions(poolings=("model default", "mean"))
    sets: dict[str, ItemSet] = {"sample pairs": sample.pairs(), "minimal pairs": sample.more_minimal_pairs()}
    for name, given in sets.items():
        estimated = finish(duration.seconds_of(encoder, given, text, options)) or 0.0
        took = finish(picture.picture(encoder, given, text, options)).seconds
        wrong.append(_is_wrong(f"sizes on {name}", estimated, took))
    return any(wrong)


def _is_wrong(what: str, estimated: float, took: float) -> bool:
    wrong = abs(estimated - took) > NEAR * took
    print(f"  {what:24} {estimated:6.1f} {took:6.1f}{'  off by more than a quarter' if wrong else ''}")
    return wrong
