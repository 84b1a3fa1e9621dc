"""Test SG, SG-OPT and back-translation as a whole: the loss of a batch by two copies of BERT in plain loops."""

import itertools

import pytest
import torch

from tests.independent import formulas
from tests.independent.bert import gelu, layers, linear, pool, wide
from tests.independent.models import FIRST, SECOND, assert_same
from tests.methods.test_self_guided import ALL as METHODS

SETTINGS = [
    {},
    {"temperature": 0.05, "view_pooling": "mean"},
    {"temperature": 0.05, "pooling": "mean", "first_layer": 1},
    {"temperature": 0.05, "pooling": "max", "projection": False},
    {"temperature": 1.0, "pull": 1.0},
]
CASES = list(itertools.product(METHODS, SETTINGS))


def told(case):
    (name, variant), settings = case
    return " ".join([name, *map(str, variant.values()), *map(str, settings.values())])


@pytest.fixture
def drawn(monkeypatch):
    """What torch.randint gives while a loss is computed: the layer of each sentence's view."""
    seen, draw = [], torch.randint
    monkeypatch.setattr(torch, "randint", lambda *bounds, **how: seen.append(draw(*bounds, **how)) or seen[-1])
    return seen


@pytest.mark.parametrize("case", CASES, ids=map(told, CASES))
def test_the_loss_is_the_papers(shallow, case, drawn):
    (name, variant), settings = case
    method = shallow.method(name, **variant, **settings)
    chosen = {knob: one.default for knob, one in method.knobs.items()} | variant | settings
    how = "cls" if chosen["pooling"] == "model default" else chosen["pooling"]
    columns = (FIRST, SECOND) if name.startswith("bt") else (FIRST,)
    frozen = wide(shallow.plain)

    def projected(weights, vector):
        for part in ("project.0", "project.2") if chosen["projection"] else ():
            vector = gelu(linear(weights, part, vector))
        return vector

    def trained(weights, sentences):
        return [projected(weights, one) for one in shallow.vectors(weights, sentences, how)]

    def views(weights, sentence):
        """Every layer of the encoder as it was, from the first one that takes part."""
        states = layers(frozen, shallow.ids(sentence), under="")[chosen["first_layer"] :]
        return [projected(weights, pool(layer, chosen["view_pooling"])) for layer in states]

    def one_view(weights, sentences):
        """For each sentence the layer that was drawn for it."""
        (places,) = drawn
        return [views(weights, sentence)[place] for sentence, place in zip(sentences, places, strict=True)]

    def distance(weights):
        """The squared distance to the weights as they were, over every layer."""
        names = [name for name in frozen if name.startswith("encoder.")]
        return sum((weights[f"base.model.{name}"] - frozen[name].detach()).square().sum() for name in names)

    def by_hand(weights):
        c, tau = trained(weights, FIRST), chosen["temperature"]
        guiding = FIRST if chosen.get("original_views") else columns[-1]
        if name == "bt" and not chosen["guided"]:
            contrast = formulas.nt_xent(c, trained(weights, SECOND), tau)
        elif name in ("sg", "bt"):
            contrast = formulas.nt_xent(c, one_view(weights, guiding), tau)
        elif name == "bt-sg-opt" or chosen["objective"] == "opt3":
            also = FIRST if chosen.get("both_views") else []
            before = [views(weights, sentence) for sentence in also] or [[] for _ in c]
            contrast = formulas.opt3(
                c, [one + views(weights, sentence) for one, sentence in zip(before, guiding, strict=True)], tau
            )
        else:
            formula = formulas.opt1 if chosen["objective"] == "opt1" else formulas.opt2
            contrast = formula(c, one_view(weights, guiding), tau)
        return contrast + chosen["pull"] * distance(weights)

    assert_same(method, columns, by_hand)


def test_the_bert_of_these_tests_is_that_of_transformers(deep):
    weights = wide(deep.plain.double())
    for sentence in (*FIRST, *SECOND):
        given = deep.tokenizer(sentence, FIRST[0], return_tensors="pt")
        with torch.no_grad():
            expected = deep.plain(**given, output_hidden_states=True).hidden_states
        ids, types = given["input_ids"][0].tolist(), given["token_type_ids"][0].tolist()
        assert set(types) == {0, 1}
        found = layers(weights, ids, types, under="")
        assert len(found) == len(expected) == 6
        for one, other in zip(found, expected, strict=True):
            assert torch.allclose(one, other[0], atol=1e-10)
    deep.plain.float()
