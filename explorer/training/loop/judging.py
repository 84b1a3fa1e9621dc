"""Score a base model and what was trained from it on the run's evaluation sets, as both are used."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from explorer.data.kinds import GradedPairs
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.head import Head
from explorer.measuring.scores.pair_cosines import exact_cosines
from explorer.measuring.scores.verdict import BaseCosines, Outcome, outcome
from explorer.methods import Method
from explorer.progress import Progress, Work


def base_cosines(encoder: Encoder, trained: Head, pairs: GradedPairs) -> Work[BaseCosines]:
    """Compute the base's cosines under its model default and under the trained layer & pooling, in float32."""
    sentences = pairs.sentences
    found: list[Tensor | None] = [None, None]
    done = 0
    for places, vectors in encoder.under_heads(sentences, (encoder.default_head, trained)):
        for number, part in enumerate(vectors):
            side = found[number]
            if side is None:
                side = found[number] = part.new_empty(len(sentences), part.shape[-1])
            side[places] = part
        done += len(places)
        yield Progress("evaluating the base", done, len(sentences))
    declared, same = (exact_cosines(side, *map(np.array, pairs.places)) for side in found if side is not None)
    return BaseCosines(declared, same)


def tuned_outcome(method: Method, pairs: GradedPairs, base: BaseCosines) -> Work[Outcome]:
    """Score the model as exported: in float32, whatever the precision of the training."""
    vectors = yield from method.reading(pairs.sentences)
    return outcome(pairs, base, exact_cosines(vectors, *map(np.array, pairs.places)))
