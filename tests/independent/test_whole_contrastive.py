"""Test SimCSE, contrastive learning and scored pairs as a whole: the loss of a batch by BERT in plain loops."""

import itertools

import pytest
import torch

from tests.independent import formulas
from tests.independent.bert import linear
from tests.independent.models import FIRST, SCORES, SECOND, THIRD, assert_same

COLUMNS = {1: (FIRST,), 2: (FIRST, SECOND), 3: (FIRST, SECOND, THIRD)}
EATS = {"simcse": 1, "simcse-sup": 2, "simcse-hard": 3, "contrast": 2, "contrast-hard": 3}
POOLINGS = ("cls", "mean", "max")


def named(cases):
    return {" ".join([name, *map(str, settings.values())]): (name, settings) for name, settings in cases}


SIMCSE = named(
    [
        *((name, {"pooling": pooling}) for name in ("simcse", "simcse-sup", "simcse-hard") for pooling in POOLINGS),
        *((name, {"temperature": 1.0}) for name in ("simcse", "simcse-sup", "simcse-hard")),
        ("simcse-hard", {"weight": 1.0}),
        ("simcse-hard", {"weight": -2.0, "temperature": 0.5}),
    ]
)


@pytest.mark.parametrize("case", SIMCSE)
def test_the_loss_of_simcse_is_that_of_what_its_dense_layer_gives(shallow, case):
    name, settings = SIMCSE[case]
    method = shallow.method(name, **settings)
    columns, temperature = COLUMNS[EATS[name]], settings.get("temperature", 0.05)

    def by_hand(weights):
        vectors = [shallow.vectors(weights, column, settings.get("pooling", "cls")) for column in columns]
        sides = [[torch.tanh(linear(weights, "dense", one)) for one in side] for side in vectors]
        if name == "simcse-hard":
            return formulas.with_hard_negatives(*sides, temperature, settings.get("weight", 0.0))
        # without dropout both passes of a sentence are the same
        return formulas.info_nce(sides[0], sides[-1], temperature)

    assert_same(method, columns, by_hand)


RANKED = named(
    (name, {"pooling": pooling, "symmetric": symmetric, "temperature": temperature})
    for name, pooling, (symmetric, temperature) in itertools.product(
        ("contrast", "contrast-hard"), POOLINGS, ((False, 0.05), (True, 0.3))
    )
)


@pytest.mark.parametrize("case", RANKED)
def test_the_loss_of_contrastive_learning_is_that_of_the_vectors_themselves(shallow, case):
    name, settings = RANKED[case]
    method = shallow.method(name, **settings)
    columns = COLUMNS[EATS[name]]

    def by_hand(weights):
        anchors, *others = (shallow.vectors(weights, column, settings["pooling"]) for column in columns)
        candidates = [one for side in others for one in side]
        return formulas.ranking(anchors, candidates, settings["temperature"], settings["symmetric"])

    assert_same(method, columns, by_hand)


GRADED = named(
    [
        *(("cosent", {"pooling": pooling, "scale": scale}) for pooling in POOLINGS for scale in (5.0, 20.0)),
        *(("cosine-regression", {"pooling": pooling}) for pooling in POOLINGS),
    ]
)


@pytest.mark.parametrize("case", GRADED)
def test_the_loss_on_scored_pairs_is_that_of_their_cosines(shallow, case):
    name, settings = GRADED[case]
    method = shallow.method(name, **settings)

    def by_hand(weights):
        sides = [shallow.vectors(weights, column, settings["pooling"]) for column in (FIRST, SECOND)]
        cosines = [formulas.cosine(a, b) for a, b in zip(*sides, strict=True)]
        if name == "cosent":
            return formulas.cosent(cosines, SCORES, settings["scale"])
        return formulas.regression(cosines, SCORES)

    assert_same(method, (FIRST, SECOND, SCORES), by_hand)
