"""Say why a layer & pooling has no score."""

from __future__ import annotations

import numpy as np

from explorer.encoding.read.readings import Reading
from explorer.measuring.scores.correlation import SAME, SAME_VECTOR
from explorer.measuring.scores.layer_scores import LayerScores
from explorer.measuring.scores.pair_cosines import Cosines

NO_SCORE = "n/a"  # in the place of a score
NO_CORRELATION = "no {}: {} has no correlation"


def why_missing(scores: LayerScores, reading: Reading, metric: str = "", aggregate: str = "all") -> str:
    """The reason why a layer & pooling has no score, by default by the main metric; "" if it has one."""
    if not np.isnan(scores.score(reading, metric or scores.metrics[0], aggregate)):
        return ""
    if not scores.is_measured(reading):
        return scores.why_not_measured(reading)
    if np.ptp(scores.gold) == 0:
        return "all gold scores are equal"
    cosines = scores.cosines_of(reading)
    if np.ptp(cosines) <= SAME:
        if reading.pooling == "cls" and reading.row.layers == (0,) and cosines.min() > 1 - SAME_VECTOR:
            return "every [CLS] of layer 0 is the same vector"
        return "all cosines are equal"
    return NO_CORRELATION.format(aggregate, _part_without(scores, cosines))


def _part_without(scores: LayerScores, cosines: Cosines) -> str:
    """The first sub-corpus whose gold scores or cosines are all equal."""
    names = np.array(scores.parts)
    for name in dict.fromkeys(scores.parts):
        inside = names == name
        if np.ptp(scores.gold[inside]) == 0 or np.ptp(cosines[inside]) <= SAME:
            return name
    return "a sub-corpus"
