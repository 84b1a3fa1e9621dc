"""Test methods that compare two texts of a sentence or document as a whole: views, spans and pairs, in plain loops."""

import itertools

import pytest
import torch

from explorer.methods import conisi, declutr
from tests.independent import formulas
from tests.independent.bert import HEADS, gelu, layers, linear, norm, pool
from tests.independent.formulas import mean, nt_xent
from tests.independent.models import FIRST, LENGTH, SECOND, assert_same

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
            vectors.append(pool(layers(weights, shallow.ids(text), heads=heads)[-1], settings["pooling"]))
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


DOCUMENTS = [" ".join(sentences) for sentences in (FIRST, SECOND, [*SECOND[::-1], FIRST[1]])]
# the spans of each document, by its length in tokens; one is longer than a sentence in training may be
SPANS = [
    [((0, 7), [(3, 9), (0, 2)]), ((14, 28), [(10, 15), (20, 24)])],
    [((2, 8), [(1, 5), (8, 12)]), ((13, 20), [(12, 18), (9, 13)])],
    [((1, 4), [(0, 1), (4, 9)]), ((9, 19), [(11, 14), (8, 20)])],
]


def masked(tokens):
    """Every third token is to be predicted: of these the first is masked, the second stays, and so on."""
    chosen = [place for place in range(len(tokens)) if place % 3 == 1 and place < len(tokens) - 1]
    return [4 if place in chosen[::2] else token for place, token in enumerate(tokens)], chosen


class Masker:
    """The same for padded sentences."""

    def __call__(self, ids, mask):
        shown, chosen = ids.clone(), torch.zeros_like(mask)
        for row, real in enumerate(mask.sum(1).tolist()):
            tokens, places = masked(ids[row, :real].tolist())
            shown[row, :real] = torch.tensor(tokens)
            chosen[row, places] = True
        return shown, chosen


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_the_loss_of_declutr_is_of_masked_anchors_whole_positives_and_masked_words(shallow, monkeypatch, pooling):
    settings = {"anchors": 2, "positives": 2, "temperature": 0.3, "pooling": pooling}
    method = shallow.method("declutr", **settings)
    spans = iter(SPANS)
    monkeypatch.setattr(declutr, "anchors_of", lambda *_: next(spans))
    method.masker = Masker()

    def tokens(document, span):
        ids = shallow.tokenizer(document, add_special_tokens=False)["input_ids"]
        assert span[1] <= len(ids), "the premise: it lies in the document"
        return [2, *ids[span[0] : span[1]][: LENGTH - 2], 3]

    def by_hand(weights):
        one, other, words = [], [], []
        head = {name.removeprefix("masked.model.cls.predictions."): weight for name, weight in weights.items()}
        for document, found in zip(DOCUMENTS, SPANS, strict=True):
            for anchor, positives in found:
                ids = tokens(document, anchor)
                shown, chosen = masked(ids)
                states = layers(weights, shown)[-1]
                one.append(pool(states, pooling))
                other.append(mean([pool(layers(weights, tokens(document, span))[-1], pooling) for span in positives]))
                for place in chosen:
                    inner = norm(head, "transform.LayerNorm", gelu(linear(head, "transform.dense", states[place])))
                    logits = weights["base.model.embeddings.word_embeddings.weight"] @ inner + head["bias"]
                    words.append(-torch.log(logits[ids[place]].exp() / logits.exp().sum()))
        return nt_xent(one, other, 0.3) + mean(words)

    assert_same(method, (DOCUMENTS,), by_hand)


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


@pytest.mark.product(1)
@pytest.mark.usefixtures("words_with_opposites")
@pytest.mark.parametrize(
    ("kind", "settings"), CASES, ids=[" ".join([kind, *map(str, given.values())]) for kind, given in CASES]
)
def test_the_loss_of_conisi_is_the_papers(shallow, kind, settings, monkeypatch):
    method = shallow.method(f"conisi-{kind}", **settings, **{"chosen": 1.0} if kind == "o2" else {})
    others = others_of(shallow, kind, method, monkeypatch)
    cls, sep = shallow.tokenizer.cls_token_id, shallow.tokenizer.sep_token_id
    how = settings.get("pooling", "mean")

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


@pytest.mark.usefixtures("words_with_opposites")
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
