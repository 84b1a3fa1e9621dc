"""Measure the scores of the bundled encoder that docs quote, and write them to docs/quoted_scores.json.

`tests/test_docs.py` compares the pages with that file, and its scores on the sample with those that are measured in the
test. It needs STRATA_DATA for STS-B.
"""

from __future__ import annotations

import json
from pathlib import Path

from explorer import in_words
from explorer.data import sample
from explorer.data.graded import sts
from explorer.data.text_sets import GradedPairs
from explorer.encoding.load.loading import load
from explorer.encoding.locate import model_names
from explorer.encoding.locate.lookup import BUNDLED
from explorer.encoding.read.pooling import parse
from explorer.measuring.scores.layer_scores import score_layers
from explorer.progress import finish

FILE = Path(__file__).parents[1] / "docs" / "quoted_scores.json"
PRECISIONS = ("float32", "bfloat16")
STS_B = (
    *("cls of layer 6", "mean of layer 6", "max of layer 6", "mean of layer 0", "max of layer 3"),
    *("cls of layer 1", "cls of layer 3", "cls of layer 0"),
)
SAMPLE = ("mean of layer 6", "mean of layer 0")
TOKENS = 128

Scores = dict[str, dict[str, float | None]]  # by layer & pooling, then by precision


def measured(pairs: GradedPairs, titles: tuple[str, ...], precisions: tuple[str, ...] = PRECISIONS) -> Scores:
    """Spearman × 100 of some layers & poolings; None where there is none, or where it cannot be measured."""
    found: Scores = {title: {} for title in titles}
    for precision in precisions:
        encoder = load(model_names.find(BUNDLED), precision, "cpu")
        scores = finish(score_layers(encoder, pairs, TOKENS))
        for title in titles:
            found[title][precision] = in_words.rounded(scores.score(parse(title, scores.last)), 2)
    return found


def main() -> bool:
    if ("STS-B", "test") not in sts.available():
        print("STRATA_DATA names no folder with STS-B: nothing is written.")
        return True
    every = {
        "Sample pairs": measured(sample.pairs(), SAMPLE, PRECISIONS[:1]),
        "STS-B test": measured(sts.load("STS-B", "test"), STS_B),
    }
    FILE.write_text(json.dumps(every, indent=1) + "\n", encoding="utf-8")
    print(FILE.read_text(encoding="utf-8"))
    return False
