"""Score a model on an STS set: every layer & pooling, under every aggregation over sub-corpora."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from explorer.data.graded import sts as published
from explorer.data.kinds import GradedPairs
from explorer.encoding.read.readings import MODEL_DEFAULT, OWN, Reading, Row
from explorer.evaluating.measured import OF_PAIRS, Items, Measured
from explorer.measuring.scores.layer_scores import LayerScores
from explorer.measuring.scores.measure import Load, Settings, load_encoder, measure
from explorer.progress import Work

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found

SEVEN = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")  # whose average papers print
OTHERS = tuple(known.name for known in published.SETS if known.name not in SEVEN)
TASKS = (*SEVEN, *OTHERS)


def sts(
    found: Found,
    pairs: GradedPairs,
    settings: Settings,
    text: str = published.RAW,
    load: Load = load_encoder,
    *,
    again: bool = False,
    also: Sequence[Reading] = (),
) -> Work[Measured]:
    """Score a model on the pairs of a task; scores that this disk holds are measured only if `again`."""
    scores = yield from measure(found, pairs, settings, load, again=again, also=also)
    return of_scores(scores, pairs, text)


def of_scores(scores: LayerScores, pairs: GradedPairs, text: str = published.RAW) -> Measured:
    """The scores of every layer & pooling as the result of a task.

    Without a declared model default, it is the mean of the last layer, as in sentence-transformers.
    """
    default = OWN if scores.own is not None else Reading(Row((scores.last,)), "mean")
    every = (*scores.grid, *scores.also)
    readings = {reading.title: reading for reading in every} | {MODEL_DEFAULT: default}
    ways = {name: (metric, way) for name, (metric, way) in OF_PAIRS.items() if scores.has_parts or way == "all"}
    table = [[[scores.score(reading, *way)] for way in ways.values()] for reading in readings.values()]
    return Measured(
        "test",
        tuple(readings),
        tuple(ways),
        np.array(table, dtype=np.float64),
        setting={"text": text, "max_length": scores.max_length, "precision": scores.precision},
        items=Items(scores.cosines_of(default), scores.gold, scores.parts, pairs.digest),
        seconds=scores.seconds,
    )
