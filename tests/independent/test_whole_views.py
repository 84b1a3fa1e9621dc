"""Test Mirror-BERT as a whole: the loss of two views of each sentence by BERT in plain loops."""

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
