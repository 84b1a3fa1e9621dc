"""Cosines of every two sentences under every layer & pooling of a model, from one pass over the sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explorer.data import sample
from explorer.encoding.locate import stored_vectors
from explorer.encoding.read.pooling import OWN, Reading
from explorer.in_words import rounded
from explorer.measuring.sentences.sentence_vectors import Matrix, gathered, similarities
from explorer.progress import Work

if TYPE_CHECKING:
    from explorer.encoding.read.encoder import Encoder

Floats = NDArray[np.float64]
RANDOM_SENTENCES = 64  # of the sample: 2,016 pairs, whose mean is known to about 0.003
MIDDLE = (0.05, 0.95)  # the ends of the middle 90 % of random pairs


@dataclass(frozen=True, eq=False)
class LayerCosines:
    """Cosines (layer & pooling, pair) of sentences, in the order of `np.triu_indices`; missing for vectors of length 0.

    They are float32, as the vectors are: 200 sentences under 82 layers & poolings take 6 MB.
    """

    sentences: tuple[str, ...]
    readings: tuple[Reading, ...]
    pairs: NDArray[np.float32]

    def of(self, reading: Reading) -> Matrix:
        """The cosines (sentence, sentence) under a layer & pooling."""
        count, pairs = len(self.sentences), self.pairs[self.readings.index(reading)]
        matrix = np.eye(count)
        above = np.triu_indices(count, k=1)
        matrix[above] = matrix[above[::-1]] = pairs
        return matrix

    def cosine(self, reading: Reading, first: str, second: str) -> float:
        """The cosine of two of the sentences."""
        one, other = sorted((self.sentences.index(first), self.sentences.index(second)))
        if one == other:
            return 1.0
        return float(self.pairs[self.readings.index(reading), self.place(one, other)])

    def place(self, one: int, other: int) -> int:
        """The position of a pair of two different sentences among the pairs."""
        low, high = sorted((one, other))
        return low * (2 * len(self.sentences) - low - 1) // 2 + high - low - 1

    def layers(self, pooling: str) -> tuple[Reading, ...]:
        """Every single layer under a pooling, from the lowest; none if the pooling is not one of the grid."""
        return tuple(one for one in self.readings if one.pooling == pooling and len(one.row.layers) == 1)


@dataclass(frozen=True, eq=False)
class RandomCosines:
    """Mean, middle 90 % and standard deviation (layer & pooling,) of the cosines of random pairs."""

    readings: tuple[Reading, ...]
    mean: Floats
    low: Floats
    high: Floats
    spread: Floats

    def of(self, reading: Reading) -> tuple[float, float, float]:
        """Mean, low and high under a layer & pooling."""
        place = self.readings.index(reading)
        return float(self.mean[place]), float(self.low[place]), float(self.high[place])


def every_reading(encoder: Encoder, also: Sequence[Reading] = ()) -> tuple[Reading, ...]:
    """The layers & poolings of the grid, the model default if one is declared, and others that are asked for.

    Vectors alone have their model default.
    """
    if encoder.folder is not None and stored_vectors.are_in(encoder.folder):
        return (OWN,)
    grid = tuple(Reading(row, pooling) for row in encoder.rows for pooling in encoder.poolings)
    return tuple(dict.fromkeys((*grid, *([OWN] if encoder.head is not None else []), *also)))


def layer_cosines(
    encoder: Encoder, sentences: Sequence[str], also: Sequence[Reading] = (), max_length: int | None = None
) -> Work[LayerCosines]:
    """The cosines of every two sentences under every layer & pooling."""
    readings = every_reading(encoder, also)
    vectors = yield from gathered(encoder, sentences, readings, max_length)
    above = np.triu_indices(len(sentences), k=1)
    pairs = np.array([similarities(one)[above] for one in vectors], dtype=np.float32)
    return LayerCosines(tuple(sentences), readings, pairs)


def random_cosines(
    encoder: Encoder, also: Sequence[Reading] = (), max_length: int | None = None
) -> Work[RandomCosines]:
    """Where pairs of unrelated sentences are under every layer & pooling: of sentences drawn from the sample."""
    found = yield from layer_cosines(encoder, random_sentences(), also, max_length)
    pairs = found.pairs.astype(np.float64)
    low, high = np.nanquantile(pairs, MIDDLE, axis=1)
    return RandomCosines(found.readings, np.nanmean(pairs, axis=1), low, high, np.nanstd(pairs, axis=1))


def random_sentences(seed: int = 0) -> tuple[str, ...]:
    """Sentences of the sample, one of a pair at most, since the two of a pair are related."""
    firsts = tuple(dict.fromkeys(sample.pairs().first))
    drawn = np.random.default_rng(seed).choice(len(firsts), min(RANDOM_SENTENCES, len(firsts)), replace=False)
    return tuple(firsts[place] for place in np.sort(drawn))


def rows(sides: Mapping[str, LayerCosines]) -> list[dict[str, object]]:
    """A row for every pair of sentences under every layer & pooling of each side."""
    return [
        {"model": name, "layer & pooling": reading.title, "sentence": found.sentences[one],
         "other sentence": found.sentences[other], "cosine": rounded(float(cosine), 6)}
        for name, found in sides.items()
        for reading, cosines in zip(found.readings, found.pairs, strict=True)
        for one, other, cosine in zip(*np.triu_indices(len(found.sentences), k=1), cosines, strict=True)
    ]  # fmt: skip
