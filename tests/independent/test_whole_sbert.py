"""Test SBERT on labelled pairs as a whole: the loss of a batch by BERT in plain loops."""

import pytest
import torch

from explorer import methods
from explorer.encoding.tune.tunable import Tunable
from tests.independent.models import FIRST, LENGTH, SECOND, assert_same

LABELS = ["b", "a", "c", "b"]


@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
def test_the_loss_is_that_of_a_classifier_of_both_vectors_and_their_difference(shallow, pooling):
    torch.manual_seed(0)
    method = methods.load("sbert-nli")(Tunable(shallow.encoder, LENGTH), {"pooling": pooling}, ("a", "b", "c"))

    def by_hand(weights):
        sides = [shallow.vectors(weights, column, pooling) for column in (FIRST, SECOND)]
        terms = []
        for u, v, label in zip(*sides, LABELS, strict=True):
            scores = []
            for row, bias in zip(weights["classifier.weight"], weights["classifier.bias"], strict=True):
                width = len(u)
                parts = [row[at] * u[at] + row[width + at] * v[at] for at in range(width)]
                parts += [row[2 * width + at] * (u[at] - v[at]).abs() for at in range(width)]
                scores.append(sum(parts) + bias)
            terms.append(torch.logsumexp(torch.stack(scores), 0) - scores["abc".index(label)])
        return torch.stack(terms).mean()

    assert_same(method, (FIRST, SECOND, LABELS), by_hand)
