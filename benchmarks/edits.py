"""Measure at which layer differences are noticed: the cost of the edits of two probe packs, and the time for a pair.

The mean cost of a pack in a layer is beside 1 minus the mean cosine of random pairs of its sentences in that layer,
since the cosines of some layers are all high.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from explorer import in_words
from explorer.data import sample
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import find
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.pooling import OWN
from explorer.measuring.sentences.edit_costs import (
    EXACT,
    PASSES,
    EditCosts,
    costs_of,
    edit_costs,
    first_passes,
    mean_costs,
)
from explorer.measuring.sentences.edits import Edited, between
from explorer.measuring.sentences.sentence_vectors import every_layer, gathered
from explorer.progress import finish

MODELS = "all-MiniLM-L6-v2", "run:example"
PACKS = "negation", "number"
NAMES = "old", "man", "slowly", "ate", "red", "apple", "his", "garden", "today"
OTHERS = "young", "woman", "quickly", "sold", "green", "pear", "her", "kitchen", "yesterday"


def main() -> int:
    """Print the tables."""
    for line in lines():
        sys.stdout.write(f"{line}\n")
    return 0


def lines() -> Iterator[str]:
    """Lines of the tables."""
    encoders = {name: load(find(name), "float32", "cpu") for name in MODELS}
    yield "| pack | layer | " + " | ".join(f"{name}: cost | random pairs" for name in MODELS) + " | change |"
    yield "|---|---|" + "---|" * (2 * len(MODELS) + 1)
    for pack in sample.probe_packs():
        if pack.name in PACKS:
            yield from _by_layer(pack, encoders)
    yield "| differences | first costs, both models: seconds | of processor time | all: seconds | of processor time |"
    yield "|---|---|---|---|---|"
    for count in (1, 2, 4, 6, EXACT, EXACT + 1):
        edited, cells = _pair(count), list[str]()
        for passes in (first_passes(encoders[MODELS[0]], edited), PASSES):
            for warm in (True, False):
                begun, used = time.perf_counter(), time.process_time()
                for encoder in encoders.values():
                    finish(costs_of(encoder, edited, OWN, passes=passes))
                if not warm:
                    cells += [f"{time.perf_counter() - begun:.2f}", f"{time.process_time() - used:.2f}"]
        yield f"| {count} | {' | '.join(cells)} |"


def _pair(count: int) -> Edited:
    first = " the ".join(NAMES)
    second = " the ".join((*OTHERS[:count], *NAMES[count:]))
    found = between(first, second)
    assert found is not None
    assert len(found.edits) == count
    return found


def _by_layer(pack: sample.Pack, encoders: dict[str, Encoder]) -> Iterator[str]:
    costs: dict[str, list[EditCosts]] = {}
    random = {}
    for name, encoder in encoders.items():
        pairs = zip(pack.first, pack.second, strict=True)
        costs[name] = [one for pair in pairs if (one := finish(edit_costs(encoder, *pair, OWN))) is not None]
        readings = [*every_layer(encoder, "mean"), OWN]
        random[name] = [_random(vectors) for vectors in finish(gathered(encoder, list(pack.first), readings))]
    found = mean_costs(costs)
    for layer, change in enumerate(found.changes):
        means = [found.by_layer[name][layer][0] for name in costs]
        cells = " | ".join(
            f"{in_words.number(mean)} | {in_words.number(random[name][layer])}"
            for name, mean in zip(costs, means, strict=True)
        )
        yield f"| {pack.name} | {layer} | {cells} | {in_words.change(in_words.gap(*means), *change[1:])} |"


def _random(vectors: NDArray[np.float32]) -> float:
    """1 minus the mean cosine of all pairs of different sentences."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit @ unit.T
    return float(1 - cosines[np.triu_indices(len(cosines), 1)].mean())
