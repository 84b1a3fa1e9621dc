"""Test what A and B find for a query, and that one whose vector has no cosine is refused."""

import math

import numpy as np
import pytest
import torch

from explorer.encoding.read.head import Dense, Head
from explorer.encoding.read.pooling import OWN
from explorer.errors import BadChoice, StrataError
from explorer.measuring.neighbours.query_results import SearchResults, SearchSide, search, vector_of
from explorer.measuring.neighbours.vector_index import Index
from tests.spoiling import encoder_of
from tests.tiny_models import WIDTH, save_tiny


@pytest.mark.parametrize(("weight", "words"), [(0.0, "gives the query a zero vector under model default"),
                                               (3e38, "infinite numbers under model default")])  # fmt: skip
def test_a_query_without_a_cosine_is_refused(tmp_path, weight, words):
    encoder = encoder_of(save_tiny("bert", tmp_path / "tiny"))
    encoder.head = Head(("mean",), (Dense(torch.full((WIDTH, WIDTH), weight).triu(), None, "Identity"),))
    with pytest.raises(BadChoice if weight == 0 else StrataError, match=words):
        vector_of(encoder, "a man plays", OWN)


def test_results_are_kept_lost_or_gained_nearest_first():
    angles = [(0.1, 0.2, 0.3, 0.9, 1.2), (1.2, 0.1, 0.9, 0.2, 0.3)]  # to the query, of each sentence under A and B
    indexes = [Index(np.array([(math.cos(one), math.sin(one)) for one in side], dtype=np.float32)) for side in angles]
    found = search(*(SearchSide(index, np.array([1.0, 0.0], dtype=np.float32)) for index in indexes), k=3)
    one, other = ([(each.place, each.mark, each.elsewhere) for each in side] for side in (found.one, found.other))
    assert one == [(0, "lost", 5), (1, "kept", 1), (2, "lost", 4)]
    assert other == [(1, "kept", 2), (3, "gained", 4), (4, "gained", 5)]
    assert (found.kept, found.jaccard) == (1, 1 / 5)
    assert math.isnan(SearchResults((), ()).jaccard)
