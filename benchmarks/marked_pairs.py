"""Measure how often the layer & pooling that marked pairs name is within 2 points of the best one.

Pairs of STS-B dev (STRATA_DATA) with a gold score of 4 or more are marked as same, of 1 or less as different.
Points are Spearman × 100 on all of STS-B dev. Encoders cut after layer 2 to 5 stand for those in which no layer is far
better than the others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from explorer.data import sources
from explorer.data.graded import sets
from explorer.encoding.locate import lookup, model_names
from explorer.encoding.read.pooling import OWN, Reading
from explorer.measuring.scores.measure import Settings, load_encoder
from explorer.measuring.scores.metrics import METRICS, SPEARMAN
from explorer.measuring.scores.pair_cosines import exact_cosines
from explorer.measuring.sentences import layer_cosines, marked_pairs, sentence_vectors
from explorer.progress import finish

Floats = NDArray[np.float64]
MODELS = (lookup.BUNDLED, "run:example")
KINDS = (1, 2, 3, 5, 10)  # marks of either kind
DRAWS, NEAR = 200, 2.0
CUT = (2, 3, 4, 5)  # the last layer of a cut encoder


def main() -> bool:
    """Print the shares for each number of marks; nothing can fail."""
    import torch

    pairs = sets.load(sources.identity("STS-B dev"))
    places = {text: place for place, text in enumerate(pairs.sentences)}
    sides = [[places[text] for text in texts] for texts in (pairs.first, pairs.second)]
    gold = np.asarray(pairs.gold)
    print(f"| encoder | best | {' | '.join(f'{kind} + {kind} marks' for kind in KINDS)} |")
    for name in MODELS:
        encoder = load_encoder(model_names.find(name), Settings())
        spread = finish(layer_cosines.random_cosines(encoder)).spread
        readings = layer_cosines.every_reading(encoder)
        vectors = finish(sentence_vectors.gathered(encoder, pairs.sentences, readings))
        cosines = np.array([exact_cosines(torch.as_tensor(one), *map(np.array, sides)) for one in vectors])
        score = METRICS[SPEARMAN].of_pairs
        points = np.array([100 * score(gold, row) if row.std() > 1e-9 else -100.0 for row in cosines])
        last = encoder.rows[-1].layers[-1]
        for top in (last, *CUT):
            kept = [place for place, one in enumerate(readings) if _is_in(one, top, last)]
            best = readings[kept[int(points[kept].argmax())]].title
            shares = [_share(cosines[kept], points[kept], spread[kept], gold, kind) for kind in KINDS]
            of = name if top == last else f"{name}, cut after layer {top}"
            print(f"| {of} | {best} | {' | '.join(f'{100 * share:.0f} %' for share in shares)} |", flush=True)
    return False


def _is_in(reading: Reading, top: int, last: int) -> bool:
    return top == last if reading == OWN else max(reading.row.layers) <= top


def _share(cosines: Floats, points: Floats, spread: Floats, gold: Floats, kind: int) -> float:
    """The share of draws in which the named one is near the best one."""
    ones, others = np.flatnonzero(gold >= 4), np.flatnonzero(gold <= 1)
    near = 0
    for seed in range(DRAWS):
        random = np.random.default_rng(seed)
        drawn = np.concatenate([random.choice(ones, kind, replace=False), random.choice(others, kind, replace=False)])
        margins = marked_pairs.margin_of(cosines[:, drawn], np.arange(2 * kind) < kind, spread)
        near += bool(points[int(np.nanargmax(margins))] >= points.max() - NEAR)
    return near / DRAWS
