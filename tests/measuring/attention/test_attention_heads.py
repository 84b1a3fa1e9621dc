"""Test the summaries of attention heads on weights with known answers."""

import math

import numpy as np
import pytest

from explorer.measuring.attention.attention_heads import share_of, tokens_looked_at


def test_one_token_each_is_one_and_all_alike_is_all_of_them():
    weights = np.stack([np.eye(4), np.full((4, 4), 0.25)])[None].astype(np.float32)
    assert tokens_looked_at(weights) == pytest.approx(np.array([[1.0, 4.0]]))


def test_it_is_the_mean_over_tokens_of_the_exponential_of_the_entropy():
    chance = np.random.default_rng(0).random((2, 3, 5, 5))
    weights = (chance / chance.sum(-1, keepdims=True)).astype(np.float32)
    found = tokens_looked_at(weights)
    for layer in range(2):
        for head in range(3):
            rows = weights[layer, head].tolist()
            slow = sum(math.exp(-sum(share * math.log(share) for share in row)) for row in rows) / 5
            assert found[layer, head] == pytest.approx(slow, rel=1e-5)


def test_the_share_of_special_tokens_is_what_falls_on_their_columns():
    weights = np.array([[[[0.5, 0.2, 0.3], [0.1, 0.9, 0.0], [0.0, 0.4, 0.6]]]], dtype=np.float32)
    assert share_of(weights, (True, False, True)) == pytest.approx(np.array([[(0.8 + 0.1 + 0.6) / 3]]))
    assert share_of(weights, (False, False, False)) == pytest.approx(np.zeros((1, 1)))
