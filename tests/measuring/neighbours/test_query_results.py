"""Test that a query whose vector has no cosine is refused, and is not compared with anything."""

import pytest
import torch

from explorer.encoding.read.head import Dense, Head
from explorer.encoding.read.pooling import OWN
from explorer.errors import BadChoice, StrataError
from explorer.measuring.neighbours.query_results import vector_of
from tests.spoiling import encoder_of
from tests.tiny_models import WIDTH, save_tiny


@pytest.mark.parametrize(("weight", "words"), [(0.0, "gives the query a zero vector under model default"),
                                               (3e38, "infinite numbers under model default")])  # fmt: skip
def test_a_query_without_a_cosine_is_refused(tmp_path, weight, words):
    encoder = encoder_of(save_tiny("bert", tmp_path / "tiny"))
    encoder.head = Head(("mean",), (Dense(torch.full((WIDTH, WIDTH), weight).triu(), None, "Identity"),))
    with pytest.raises(BadChoice if weight == 0 else StrataError, match=words):
        vector_of(encoder, "a man plays", OWN)
