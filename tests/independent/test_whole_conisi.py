"""Test ConIsI as a whole: the loss of a batch of sentences, pairs with themselves and pairs with others, in loops."""

import itertools

import pytest
import torch

from explorer.methods import conisi
from tests.independent import formulas
from tests.independent.bert import layers, linear, pool
from tests.independent.models import FIRST, LENGTH, assert_same

pytestmark = pytest.mark.usefixtures("words_with_opposites")

KINDS = ("s", "o1", "o2")
SCORINGS = ("scalar", "two classes", "element-wise")
SETTINGS = [
    *({"scoring": scoring, "joint_norm": joint} for scoring in SCORINGS for joint in (True, False)),
    {"share": 0.0},
    {"share": 1.0},
    {"share": 0.3, "temperature": 1.0, "pooling": "mean"},
]
CASES = list(itertools.product(KINDS, SETTINGS))
OPPOSITES = {"late": "early", "man": "woman", "red": "not red", "runs": "walk"}


def pieces(model, sentence):
    """The tokens of a sentence that fit beside [CLS] and [SEP]."""
    return model.tokenizer(sentence, add_special_tokens=False)["input_ids"][: LENGTH - 2]


def others_of(model, kind, method, monkeypatch):
    """What each sentence is to be paired with: a list that is filled when the loss is computed."""
    drawn = []
    if kind == "s":
        draw = conisi.neighbours
        monkeypatch.setattr(conisi, "neighbours", lambda count: drawn.extend(draw(count)) or drawn)
        return lambda: [pieces(model, FIRST[place]) for place in drawn]
    if kind == "o1":
        draw = method.changed
        method.changed = lambda own: drawn.append(draw(own)) or drawn[-1]
        return lambda: drawn
    turned = [" ".join(OPPOSITES.get(word, word) for word in sentence.split()) for sentence in FIRST]
    return lambda: [
        pieces(model, other) if pieces(model, other) != pieces(model, sentence) else None
        for sentence, other in zip(FIRST, turned, strict=True)
    ]


@pytest.mark.parametrize(
    ("kind", "settings"), CASES, ids=[" ".join([kind, *map(str, given.values())]) for kind, given in CASES]
)
def test_the_loss_is_the_papers(shallow, kind, settings, monkeypatch):
    changing = {"chosen": 1.0} if kind == "o2" else {}
    method = shallow.method(f"conisi-{kind}", **settings, **changing)
    others = others_of(shallow, kind, method, monkeypatch)
    cls, sep = shallow.tokenizer.cls_token_id, shallow.tokenizer.sep_token_id
    how = settings.get("pooling", "cls")

    def of_pair(weights, one, other):
        ids = [cls, *one, sep, *other, sep]
        return pool(layers(weights, ids, [0] * (len(one) + 2) + [1] * (len(other) + 1))[-1], how)

    def normed(weights, vectors):
        """ELU of a batch norm, over these vectors, of a linear map: equation 2."""
        mapped = torch.stack([linear(weights, "hidden.0", one) for one in vectors])
        centred = mapped - mapped.mean(0)
        scaled = centred / (centred.square().mean(0) + 1e-5).sqrt()
        scaled = scaled * weights["hidden.1.weight"] + weights["hidden.1.bias"]
        return [torch.stack([x if x > 0 else x.exp() - 1 for x in one]) for one in scaled]

    def by_hand(weights):
        own = [pieces(shallow, sentence) for sentence in FIRST]
        alone = shallow.vectors(weights, FIRST, how)
        same = [of_pair(weights, one, one) for one in own]
        paired = list(zip(own, others(), strict=True))
        valid = [row for row, (_, other) in enumerate(paired) if other is not None]
        other = [of_pair(weights, *paired[row]) for row in valid]
        if settings.get("joint_norm", True):
            together = normed(weights, [*alone, *same, *other])
            x, y, z = together[:4], together[4:8], together[8:]
        else:
            x, y, z = (normed(weights, side) for side in (alone, same, other))
        contrast = formulas.info_nce(x, y, settings.get("temperature", 0.05))
        scores = [linear(weights, "score", y[row]) for row in valid], [linear(weights, "score", one) for one in z]
        by_class = settings.get("scoring") == "two classes"
        apart = (formulas.interaction_by_class if by_class else formulas.interaction)(*scores)
        share = settings.get("share", 0.8)
        return (1 - share) * contrast + share * apart

    assert_same(method, [FIRST], by_hand)


def test_a_sentence_is_paired_with_what_the_paper_says(shallow, monkeypatch):
    """Another row of the batch; the sentence with other tokens; the sentence with opposite words, if it has any."""
    found = {}
    for kind in KINDS:
        method = shallow.method(f"conisi-{kind}", **({} if kind == "s" else {"chosen": 1.0}))
        others = others_of(shallow, kind, method, monkeypatch)
        method([*FIRST])
        found[kind] = others()
    own = [pieces(shallow, sentence) for sentence in FIRST]
    assert all(other in own and other != one for one, other in zip(own, found["s"], strict=True))
    assert all(len(other) == len(one) and other != one for one, other in zip(own, found["o1"], strict=True))
    assert [other is None for other in found["o2"]] == [False, False, True, False], "'late' is truncated in the third"
