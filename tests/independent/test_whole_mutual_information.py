"""Test IS-BERT as a whole: the loss of a batch by BERT and its convolutions in plain loops, one token at a time."""

import math

import pytest
import torch

from tests.independent.bert import layers
from tests.independent.formulas import mean
from tests.independent.models import FIRST, assert_same


def local_vectors(weights, states, relu):
    """Every filter over every token; there is nothing beyond the ends of a sentence."""
    found = []
    for place in range(len(states)):
        numbers = []
        for at, kernel in enumerate((1, 3, 5)):
            filters, biases = weights[f"convolutions.{at}.weight"], weights[f"convolutions.{at}.bias"]
            total = biases
            for shift in range(kernel):
                other = place + shift - kernel // 2
                if 0 <= other < len(states):
                    total = total + filters[:, :, shift] @ states[other]
            numbers.append(total.clamp(min=0) if relu else total)
        found.append(torch.cat(numbers))
    return found


@pytest.mark.parametrize("relu", [False, True])
def test_the_loss_is_the_estimate_over_every_token_and_every_sentence(shallow, relu):
    method = shallow.method("is-bert", filters=6, relu=relu)

    def by_hand(weights):
        local = [local_vectors(weights, layers(weights, shallow.ids(one))[-1], relu) for one in FIRST]
        whole = [mean(tokens) for tokens in local]
        same, others = [], []
        for i, tokens in enumerate(local):
            for token in tokens:
                for j, vector in enumerate(whole):
                    product = (token * vector).sum()
                    if i == j:
                        same.append(torch.log(1 + torch.exp(-product)))
                    else:
                        others.append(torch.log(1 + torch.exp(product)))
        return mean(same) + mean(others) - 2 * math.log(2)

    assert_same(method, (FIRST,), by_hand)
