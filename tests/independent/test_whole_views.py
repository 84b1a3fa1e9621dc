"""Test Mirror-BERT and ConSERT as a whole: the loss of two views of each sentence by BERT in plain loops."""

import pytest
import torch

from tests.independent import formulas
from tests.independent.bert import HEADS, layers, pool
from tests.independent.models import FIRST, LENGTH, assert_same

LONG = [f"{sentence} and not the red ball in the park" for sentence in FIRST]


@pytest.fixture
def drawn(monkeypatch):
    """Every tensor of random numbers, in the order in which they are drawn."""
    found, draw = [], torch.rand
    monkeypatch.setattr(torch, "rand", lambda *size: found.append(draw(*size)) or found[-1])
    torch.manual_seed(3)
    return found


def copy_of(sentence, start, span=5):
    """The sentence with `span` characters, from a place that the number `start` gives, under a mask."""
    if len(sentence) < 30:
        return sentence
    places = len(sentence) - span + 1
    place = next(place for place in range(places) if place <= start * places < place + 1)
    return sentence[:place] + " [MASK] " + sentence[place + span :]


def factors(numbers, chance):
    """What the heads of one sentence in one layer are multiplied by."""
    kept = [number >= chance for number in numbers]
    if not any(kept):
        return [1.0] * HEADS
    return [HEADS / sum(kept) if one else 0.0 for one in kept]


MIRRORED = {
    "dropout off": {"pooling": "mean", "temperature": 0.04},
    "by the first token": {"pooling": "cls", "temperature": 0.3},
    "another span": {"pooling": "mean", "span": 9, "temperature": 0.2},
    "heads dropped": {"pooling": "mean", "noise": "drop heads", "dropped_heads": 0.5, "temperature": 0.2},
}


@pytest.mark.parametrize("case", MIRRORED)
def test_the_loss_of_mirror_bert_is_that_of_sentences_and_their_masked_copies(shallow, drawn, case):
    settings = MIRRORED[case]
    method = shallow.method("mirror-bert", **settings)
    texts = [*LONG[:2], "no", *LONG[2:]]

    def by_hand(weights):
        starts = drawn[0].tolist()
        copies = [copy_of(text, start, settings.get("span", 5)) for text, start in zip(texts, starts, strict=True)]
        assert sum(one != other for one, other in zip(texts, copies, strict=True)) == len(LONG)
        both = [*texts, *copies]
        # the passes of a batch are of similar length; each draws for the rows of its layers in turn
        dropped = [[None] * HEADS for _ in both]
        if case == "heads dropped":
            passes = method.base._passes(method.base.encoder.tokens(both, LENGTH).ids)
            numbers = iter(drawn[1:])
            for places, _ in passes:
                for layer in range(method.base.layers):
                    for place, row in zip(places, next(numbers).tolist(), strict=True):
                        dropped[place][layer] = factors(row, settings["dropped_heads"])
            assert any(0.0 in layer for place in dropped for layer in place)
        vectors = []
        for place, text in enumerate(both):
            heads = dropped[place] if case == "heads dropped" else None
            states = layers(weights, shallow.ids(text), heads=heads)[-1]
            vectors.append(pool(states, settings["pooling"]))
        return formulas.nt_xent(vectors[: len(texts)], vectors[len(texts) :], settings["temperature"])

    assert_same(method, (texts,), by_hand)


VIEWS = {
    "as published": {},
    "as the large script": {"first_view": "none", "second_view": "shuffle", "temperature": 0.05},
    "tokens": {"first_view": "token cutoff", "second_view": "feature cutoff", "tokens_cut": 0.4, "features_cut": 0.5},
    "twice the same": {"first_view": "shuffle", "second_view": "shuffle"},
}


def lowest(numbers, count):
    """The places of the lowest numbers."""
    return sorted(range(len(numbers)), key=lambda place: numbers[place])[:count]


@pytest.mark.parametrize("case", VIEWS)
def test_the_loss_of_consert_is_that_of_both_views(shallow, drawn, case):
    settings = VIEWS[case]
    method = shallow.method("consert", **settings)
    views = settings.get("first_view", "feature cutoff"), settings.get("second_view", "shuffle")

    def seen(weights, text, view, row):
        ids = shallow.ids(text)
        if view == "none":
            return layers(weights, ids)
        if view == "shuffle":
            return layers(weights, ids, positions=lowest(row[: len(ids)], len(ids)))
        if view == "feature cutoff":
            zero = lowest(row, int(settings.get("features_cut", 0.2) * len(row)))
            keep = torch.tensor([0.0 if place in zero else 1.0 for place in range(len(row))])
            return layers(weights, ids, edit=lambda states: states * keep)
        zero = lowest(row[: len(ids)], int(settings["tokens_cut"] * len(ids)))
        keep = torch.tensor([0.0 if place in zero else 1.0 for place in range(len(ids))])
        return layers(weights, ids, edit=lambda states: states * keep[:, None])

    def by_hand(weights):
        numbers, sides = iter(drawn), []
        passes = method.base._passes([shallow.ids(text) for text in FIRST])
        for view in views:
            side = [None] * len(FIRST)
            for places, _ in passes:
                rows = [None] * len(places) if view == "none" else next(numbers).tolist()
                for place, row in zip(places, rows, strict=True):
                    side[place] = pool(seen(weights, FIRST[place], view, row)[-1], "mean")
            sides.append(side)
        assert next(numbers, None) is None
        temperature = settings.get("temperature", 0.1)
        return 0.15 * (anchored(*sides, temperature) + anchored(*sides[::-1], temperature))

    assert_same(method, (FIRST,), by_hand)


def anchored(a, b, temperature):
    """Yan and others 2021, section 3.2: each a is an anchor, its b the positive, all others of both sides negatives."""
    terms = []
    for i in range(len(a)):
        others = [b[j] for j in range(len(a)) if j != i] + [a[j] for j in range(len(a)) if j != i]
        negatives = [formulas.cosine(a[i], other) / temperature for other in others]
        terms.append(formulas.term(formulas.cosine(a[i], b[i]) / temperature, negatives))
    return formulas.mean(terms)
