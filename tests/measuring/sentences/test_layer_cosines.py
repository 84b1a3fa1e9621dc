"""Test cosines of every layer & pooling against vectors of each, one at a time."""

import numpy as np
import pytest

from explorer.encoding.read.pooling import Reading, Row
from explorer.measuring.sentences import layer_cosines
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish
from tests.tiny_models import SENTENCES


def slow(encoder, sentences, reading):
    vectors = finish(of_reading(encoder, sentences, reading)).astype(np.float64)
    return np.array([[one @ other / np.sqrt(one @ one * (other @ other)) for other in vectors] for one in vectors])


def test_every_layer_and_pooling_has_the_cosines_of_its_vectors(tiny_encoder):
    sentences = (*SENTENCES[:4], SENTENCES[0])
    other = Reading(Row((0, 1, 2)), "weighted mean")
    found = finish(layer_cosines.layer_cosines(tiny_encoder, sentences, [other]))
    assert other in found.readings
    assert len(found.readings) == len(tiny_encoder.rows) * len(tiny_encoder.poolings) + 1 + (
        tiny_encoder.head is not None
    )
    for reading in found.readings:
        wanted = slow(tiny_encoder, sentences, reading)
        assert found.of(reading) == pytest.approx(wanted, abs=1e-5)
        assert found.cosine(reading, sentences[2], sentences[1]) == pytest.approx(wanted[1, 2], abs=1e-5)
        assert found.cosine(reading, sentences[0], sentences[0]) == 1
    assert [one.row.layers for one in found.layers("mean")] == [(0,), (1,), (2,)]
    rows = layer_cosines.rows({"A": found})
    assert len(rows) == len(found.readings) * 10


def test_random_pairs_are_of_sentences_of_which_no_two_are_a_pair(tiny_encoder):
    drawn = layer_cosines.random_sentences()
    assert len({*drawn}) == layer_cosines.RANDOM_SENTENCES
    found = finish(layer_cosines.random_cosines(tiny_encoder))
    above = np.triu_indices(len(drawn), k=1)
    for number, reading in enumerate(found.readings[:4]):
        pairs = slow(tiny_encoder, drawn, reading)[above]
        mean, low, high = found.of(reading)
        assert (mean, found.spread[number]) == pytest.approx((pairs.mean(), pairs.std()), abs=1e-5)
        assert (low, high) == pytest.approx(tuple(np.quantile(pairs, [0.05, 0.95])), abs=1e-4)
