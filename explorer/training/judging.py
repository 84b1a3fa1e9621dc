"""Score a base model and what was trained from it on the run's evaluation sets, as both are used."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.data.kinds import GradedPairs
from explorer.encoding.encoder import Encoder
from explorer.encoding.head import Head
from explorer.measuring.verdict import BaseCosines, Outcome, outcome
from explorer.methods import Method
from explorer.progress import Progress, Work


def base_cosines(encoder: Encoder, trained: Head, pairs: GradedPairs) -> Work[BaseCosines]:
    """The base's cosines under its model default and under the layer & pooling that is trained; in float32."""
    sentences = pairs.sentences
    found: list[NDArray[np.float32] | None] = [None, None]
    done = 0
    for places, vectors in encoder.under_heads(sentences, (encoder.default_head, trained)):
        for number, part in enumerate(vectors):
            side = found[number]
            if side is None:
                side = found[number] = np.empty((len(sentences), part.shape[-1]), dtype=np.float32)
            side[places] = part.numpy()
        done += len(places)
        yield Progress("evaluating the base", done, len(sentences))
    declared, same_reading = (pair_cosines(pairs, side) for side in found if side is not None)
    return BaseCosines(declared, same_reading)


def tuned_outcome(method: Method, pairs: GradedPairs, base: BaseCosines) -> Work[Outcome]:
    """What the model scores as it is exported: in float32, whatever the precision of the training."""
    vectors = yield from method.reading(pairs.sentences)
    return outcome(pairs, base, pair_cosines(pairs, vectors.numpy()))


def pair_cosines(pairs: GradedPairs, vectors: NDArray[Any]) -> NDArray[np.float64]:
    """The cosine (pair) of the vectors (sentence, width) of `pairs.sentences`."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    directions = vectors / np.where(lengths > 0, lengths, 1)
    place = {text: number for number, text in enumerate(pairs.sentences)}
    first, second = ([place[text] for text in side] for side in (pairs.first, pairs.second))
    cosines: NDArray[np.float64] = np.einsum("pw,pw->p", directions[first], directions[second])
    return cosines
