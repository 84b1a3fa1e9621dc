"""Test contrastive methods as a whole: the loss of a batch by one BERT, or by two copies of it, in plain loops."""

import itertools

import pytest
import torch

from explorer import methods
from explorer.encoding.tune.tunable import Tunable
from tests.independent import formulas
from tests.independent.bert import gelu, layers, linear, pool, wide
from tests.independent.models import FIRST, LENGTH, SCORES, SECOND, THIRD, assert_same
from tests.methods.test_self_guided import ALL as METHODS

SETTINGS = [
    {},
    {"temperature": 0.05, "view_pooling": "mean"},
    {"temperature": 0.05, "pooling": "mean", "first_layer": 1},
    {"temperature": 0.05, "pooling": "max", "projection": False},
    {"temperature": 1.0, "pull": 1.0},
]
CASES = list(itertools.product(METHODS, SETTINGS))
IDS = [" ".join([name, *map(str, [*variant.values(), *settings.values()])]) for (name, variant), settings in CASES]


@pytest.fixture
def drawn(monkeypatch):
    """What torch.randint gives while a loss is computed: the layer of each sentence's view."""
    seen, draw = [], torch.randint
    monkeypatch.setattr(torch, "randint", lambda *bounds, **how: seen.append(draw(*bounds, **how)) or seen[-1])
    return seen


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_the_loss_is_the_papers(shallow, case, drawn):
    (name, variant), settings = case
    method = shallow.method(name, **variant, **settings)
    chosen = {knob: one.default for knob, one in method.knobs.items()} | variant | settings
    how = "mean" if chosen["pooling"] == "model default" else chosen["pooling"]
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
        vectors = [shallow.vectors(weights, column, settings.get("pooling", "mean")) for column in columns]
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
        *(("angle", {"pooling": pooling, "scale": 20.0}) for pooling in POOLINGS),
        *(("cosine-regression", {"pooling": pooling}) for pooling in POOLINGS),
    ]
)


@pytest.mark.parametrize("case", GRADED)
def test_the_loss_on_scored_pairs_is_that_of_their_similarities(shallow, case):
    name, settings = GRADED[case]
    method = shallow.method(name, **settings)

    def by_hand(weights):
        sides = [shallow.vectors(weights, column, settings["pooling"]) for column in (FIRST, SECOND)]
        similarity = formulas.angle_similarity if name == "angle" else formulas.cosine
        similarities = [similarity(a, b) for a, b in zip(*sides, strict=True)]
        if name == "cosine-regression":
            return formulas.regression(similarities, SCORES)
        return formulas.cosent(similarities, SCORES, settings["scale"])

    assert_same(method, (FIRST, SECOND, SCORES), by_hand)


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
            terms.append(
                formulas.mean([2 - 2 * formulas.cosine(x, y.detach()) for x, y in zip(guesses, wanted, strict=True)])
            )
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
