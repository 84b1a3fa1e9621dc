"""Test BSL and CERT as a whole: the loss of a batch by BERT in plain loops."""

import torch

from tests.independent import formulas
from tests.independent.bert import linear
from tests.independent.models import FIRST, SECOND, assert_same


def apart(x, y):
    return 2 - 2 * formulas.cosine(x, y)


def test_the_loss_of_bsl_is_the_distance_of_predictions_from_the_copys_vectors(shallow):
    method = shallow.method("bsl", predictors=2, predictor_width=1, pooling="mean")

    def predicted(weights, rows):
        """Two networks with batch norm over the rows."""
        for number in range(2):
            name = f"predict.{number}"
            inner = [linear(weights, f"{name}.0", row) for row in rows]
            mean = sum(inner) / len(inner)
            variance = sum((row - mean) ** 2 for row in inner) / len(inner)
            scale, shift = weights[f"{name}.1.weight"], weights[f"{name}.1.bias"]
            inner = [((row - mean) / (variance + 1e-5).sqrt() * scale + shift).relu() for row in inner]
            inner = [linear(weights, f"{name}.3", row).relu() for row in inner]
            rows = [linear(weights, f"{name}.5", row) for row in inner]
        return rows

    def by_hand(weights):
        terms = []
        for own, other in ((FIRST, SECOND), (SECOND, FIRST)):
            guesses = predicted(weights, shallow.vectors(weights, own, "mean"))
            wanted = shallow.vectors(weights, other, "mean", under="target.model.")
            terms.append(formulas.mean([apart(x, y.detach()) for x, y in zip(guesses, wanted, strict=True)]))
        return sum(terms)

    assert_same(method, (FIRST, SECOND), by_hand)


def test_the_loss_of_cert_is_that_of_a_key_among_those_of_the_queue(shallow):
    method = shallow.method("cert", queue_size=5, pooling="cls", temperature=0.5)
    method.project[0].p = method.key_project[0].p = 0.0
    queue = [row.double() for row in method.queue.clone()]

    def projected(weights, name, rows):
        return [linear(weights, f"{name}.3", linear(weights, f"{name}.1", row).relu()) for row in rows]

    def by_hand(weights):
        queries = projected(weights, "project", shallow.vectors(weights, FIRST, "cls"))
        keys = projected(weights, "key_project", shallow.vectors(weights, SECOND, "cls", under="target.model."))
        terms = []
        for query, key in zip(queries, keys, strict=True):
            others = [formulas.cosine(query, other) / 0.5 for other in queue]
            terms.append(formulas.term(formulas.cosine(query, key.detach()) / 0.5, others))
        return formulas.mean(terms)

    assert_same(method, (FIRST, SECOND), by_hand)
    assert not torch.equal(method.queue[-1], queue[-1].float()), "and then the keys are in the queue"
