"""Test Contrastive Tension as a whole: the loss of a batch by two BERTs in plain loops."""

import pytest
import torch

from tests.independent import formulas
from tests.independent.models import FIRST, SECOND, assert_same

SENTENCES = [*FIRST, *SECOND[:3]]


def test_the_loss_is_that_of_the_pairs_of_each_group(shallow):
    method = shallow.method("ct", negatives=2, pooling="mean")

    def by_hand(weights):
        one = shallow.vectors(weights, SENTENCES, "mean")
        other = shallow.vectors(weights, SENTENCES, "mean", under="other.model.")
        # a group of five, then one of two
        same = [(0, 0), (5, 5), (6, 6)]
        different = [(1, 2), (3, 4)]
        terms = [torch.log(1 + torch.exp(-(one[i] * other[j]).sum())) for i, j in same]
        terms += [torch.log(1 + torch.exp((one[i] * other[j]).sum())) for i, j in different]
        return formulas.mean(terms)

    assert_same(method, (SENTENCES,), by_hand)


@pytest.mark.parametrize("similarity", ["cosine", "dot product"])
def test_in_a_batch_each_copy_finds_the_other(shallow, similarity):
    method = shallow.method("ct-in-batch", similarity=similarity, pooling="cls", temperature=0.5)

    def by_hand(weights):
        one = shallow.vectors(weights, FIRST, "cls")
        other = shallow.vectors(weights, FIRST, "cls", under="other.model.")
        alike = formulas.cosine if similarity == "cosine" else lambda x, y: (x * y).sum()
        scale = weights["scale"].exp()
        terms = []
        for i in range(len(FIRST)):
            right = scale * alike(one[i], other[i])
            wrong = [j for j in range(len(FIRST)) if j != i]
            terms.append(formulas.term(right, [scale * alike(one[i], other[j]) for j in wrong]))
            terms.append(formulas.term(right, [scale * alike(one[j], other[i]) for j in wrong]))
        return formulas.mean(terms)

    assert_same(method, (FIRST,), by_hand)
