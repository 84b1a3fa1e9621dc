"""Test methods with parts beside the encoder as a whole: poolers, generators, decoders and convolutions, in loops."""

import math

import pytest
import torch
from transformers import AutoModelForMaskedLM

from tests.independent import formulas
from tests.independent.bert import decoded, gelu, layers, linear, norm, pool
from tests.independent.formulas import mean
from tests.independent.models import FIRST, SECOND, THIRD, assert_same
from tests.methods.hub import save_generator

SLOPE = (1 / 8 + 1 / 3) / 2  # of RReLU below zero, outside training
# Table 2's rows: how the last layers are pooled, then what asks and what answers in the attention
POOLERS = {
    "cls": (["cls"], None),
    "mean": (["mean"], None),
    "first-last mean": (["first-last"], None),
    "mean, first-last mean": (["mean", "first-last"], None),
    "first-last mean, from layer 0": (["from layer 0"], None),
    "mean, first-last mean, from layer 0": (["mean", "from layer 0"], None),
    "cls, mean": (["cls", "mean"], None),
    "attention of cls": ([], ("cls", "cls")),
    "attention of mean": ([], ("mean", "mean")),
    "attention of cls to mean": ([], ("cls", "mean")),
    "attention of cls to mean, cls": (["cls"], ("cls", "mean")),
}
BEST = "attention of cls to mean, cls"
CASES = [
    *(("layer-attention", {"pooler": pooler}) for pooler in POOLERS),
    ("layer-attention", {"activation": "none"}),
    ("layer-attention", {"normaliser": "linear", "temperature": 0.5}),
    ("layer-attention", {"normaliser": "literal", "activation": "none", "temperature": 0.5}),
    ("layer-attention", {"with_embeddings": False}),
    ("layer-attention", {"attention_width": 3}),
    ("layer-attention-sup", {}),
    ("layer-attention-hard", {}),
    ("layer-attention-hard", {"weight": 1.0, "temperature": 0.5}),
]


def pooled(weights, states, settings):
    """Equations 1 to 5, as released, of every layer's states (token, width) of one sentence."""
    parts, attention = POOLERS[settings.get("pooler", BEST)]
    first = {"first-last": 1, "from layer 0": 0}
    found = [
        (states[first[part]].mean(0) + states[-1].mean(0)) / 2 if part in first else pool(states[-1], part)
        for part in parts
    ]
    if attention:
        used = states if settings.get("with_embeddings", True) else states[1:]
        found.append(_attended(weights, *([pool(layer, how) for layer in used] for how in attention), settings))
    return torch.tanh(linear(weights, "dense", torch.cat(found)))


def _attended(weights, asking, answering, settings):
    plain = settings.get("activation") == "none"

    def mapped(name, vector):
        values = weights[f"maps.{name}"] @ vector
        return values if plain else torch.stack([x if x >= 0 else SLOPE * x for x in values])

    count = range(len(asking))
    query = [mapped("query", one) for one in asking]
    key, value = ([mapped(name, one) for one in answering] for name in ("key", "value"))
    rows = []
    for i in count:
        alike = [query[i] @ key[j] for j in count]
        if settings.get("normaliser", "softmax") == "softmax":
            alike = [torch.exp(one / len(count)) for one in alike]
        shares = [one / sum(alike) for one in alike]
        if settings.get("normaliser") == "literal":  # one index: the share of a layer is the same for every query
            shares = [query[j] @ key[j] / sum(query[j] @ key[k] for k in count) for j in count]
        rows.append(sum(share * one for share, one in zip(shares, value, strict=True)))
    return sum(rows) / len(rows)


@pytest.mark.parametrize(
    ("name", "settings"), CASES, ids=[" ".join([name, *map(str, given.values())]) for name, given in CASES]
)
def test_the_loss_of_layer_attention_is_the_papers(shallow, name, settings):
    method = shallow.method(name, **settings).eval()  # in training the slopes are random
    columns = {"layer-attention": (FIRST,), "layer-attention-sup": (FIRST, SECOND)}.get(name, (FIRST, SECOND, THIRD))
    temperature = settings.get("temperature", 0.05)

    def by_hand(weights):
        sides = [
            [pooled(weights, layers(weights, shallow.ids(sentence)), settings) for sentence in column]
            for column in columns
        ]
        if len(sides) == 3:
            return formulas.with_hard_negatives(*sides, temperature, settings.get("weight", 0.0))
        return formulas.info_nce(sides[0], sides[-1], temperature)

    assert_same(method, columns, by_hand)


@pytest.fixture(scope="module")
def generator(tmp_path_factory):
    return save_generator(tmp_path_factory.mktemp("generator"))


DIFFCSE = [
    ("diffcse", {}),
    ("diffcse", {"projector": "tanh"}),
    ("diffcse", {"pooling": "mean", "detection": 1.0}),
    ("diffcse", {"count_padding": True, "detection": 1.0}),
    ("layer-attention-diffcse", {}),
    ("layer-attention-diffcse", {"pooler": "mean", "detection": 1.0, "temperature": 1.0}),
]


@pytest.mark.parametrize(
    ("name", "settings"), DIFFCSE, ids=[" ".join([name, *map(str, given.values())]) for name, given in DIFFCSE]
)
def test_the_loss_of_diffcse_is_the_papers(shallow, generator, name, settings):
    method = shallow.method(name, generator=str(generator), **settings)
    if name == "diffcse":
        assert method.training, "a batch norm over the batch"
    else:
        method.eval()
    special = set(shallow.tokenizer.all_special_ids)

    def hidden(ids):
        """Every other token masked, and no special one: whatever is drawn, the loss is computed from it."""
        return [
            shallow.tokenizer.mask_token_id if place % 2 and token not in special else token
            for place, token in enumerate(ids)
        ]

    method.masker = lambda ids, mask: (torch.tensor([hidden(row) for row in ids.tolist()]), None)
    generator_model = AutoModelForMaskedLM.from_pretrained(generator).double().eval()

    def written(ids):
        """What the generator says at every place but the first."""
        with torch.no_grad():
            scores = generator_model(torch.tensor([hidden(ids)])).logits[0]
        return [ids[0], *(max(range(len(row)), key=row.__getitem__) for row in scores.tolist()[1:])]

    def vectors(weights):
        """Of every sentence twice, which without dropout are the same."""
        if name != "diffcse":
            return [pooled(weights, layers(weights, shallow.ids(one)), settings) for one in FIRST * 2]
        states = shallow.vectors(weights, FIRST * 2, settings.get("pooling", "mean"))
        if settings.get("projector") == "tanh":
            return [torch.tanh(linear(weights, "project.0", one)) for one in states]
        inner = _normed(torch.stack([weights["project.0.weight"] @ one for one in states]))
        inner = (inner * weights["project.1.weight"] + weights["project.1.bias"]).clamp(min=0)
        return [*_normed(inner @ weights["project.3.weight"].T)]

    def by_hand(weights):
        read, terms = vectors(weights), []
        width = -(-max(len(shallow.ids(one)) for one in FIRST) // 4) * 4  # eight rows are padded to a multiple of 4
        for vector, sentence in zip(read, FIRST * 2, strict=True):
            ids = shallow.ids(sentence)
            shown = written(ids)
            padding = width - len(ids) if settings.get("count_padding") else 0
            states = layers(
                weights, shown + [0] * padding, under="discriminator.model.", first=vector, padding=padding
            )[-1]
            replaced = [int(one != other) for one, other in zip(ids, shown, strict=True)] + [0] * padding
            for state, right in zip(states, replaced, strict=True):
                scores = linear(weights, "classify_tokens", state).exp()
                terms.append(-torch.log(scores[right] / scores.sum()))
            assert 0 < sum(replaced) < len(ids), "otherwise there is nothing to tell"
        contrast = formulas.info_nce(read[:4], read[4:], settings.get("temperature", 0.05))
        return contrast + settings.get("detection", 0.005) * formulas.mean(terms)

    assert_same(method, [FIRST], by_hand)


def _normed(rows):
    """Mean 0 and variance 1 over the batch."""
    centred = rows - rows.mean(0)
    return centred / (centred.square().mean(0) + 1e-5).sqrt()


SEED = 3
SHARED, OWN, HEAD = "base.model.", "decoder.bert.", "decoder.cls.predictions."


def corrupted(sentences, deletion):
    """The sentences as the noise leaves them: one number per word, in order; at least one word stays."""
    drawn = iter(torch.rand(1000, generator=torch.Generator().manual_seed(SEED)).tolist())
    found = []
    for sentence in sentences:
        numbers = {place: next(drawn) for place in range(len(sentence.split()))}
        kept = [place for place, number in numbers.items() if number > deletion] or [max(numbers, key=numbers.get)]
        found.append(" ".join(sentence.split()[place] for place in kept))
    return found


@pytest.mark.product(2)
@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
@pytest.mark.parametrize("tied", [True, False], ids=["tied", "apart"])
@pytest.mark.parametrize("deletion", [0.6, 0.95])
def test_the_loss_of_tsdae_is_that_of_every_next_token(shallow, pooling, tied, deletion):
    method = shallow.method("tsdae", pooling=pooling, tied=tied, deletion=deletion)
    left = corrupted(FIRST, deletion)
    assert left != FIRST

    def by_hand(weights):
        memories = shallow.vectors(weights, left, pooling)
        shared = SHARED if tied else OWN
        words = weights[f"{shared}embeddings.word_embeddings.weight"]
        terms = []
        for sentence, memory in zip(FIRST, memories, strict=True):
            ids = shallow.ids(sentence)
            states = decoded(weights, ids[:-1], memory, shared=shared, own=OWN)
            for state, following in zip(states, ids[1:], strict=True):
                inner = gelu(linear(weights, f"{HEAD}transform.dense", state))
                scores = words @ norm(weights, f"{HEAD}transform.LayerNorm", inner) + weights[f"{HEAD}bias"]
                terms.append(torch.logsumexp(scores, 0) - scores[following])
        return torch.stack(terms).mean()

    torch.manual_seed(SEED)
    assert_same(method, (FIRST,), by_hand)


def local_vectors(weights, states, relu):
    """Every filter over every token; there is nothing beyond the ends of a sentence."""
    found = []
    for place in range(len(states)):
        numbers = []
        for at, kernel in enumerate((1, 3, 5)):
            filters, biases = weights[f"convolutions.{at}.weight"], weights[f"convolutions.{at}.bias"]
            total = biases
            for shift in range(kernel):
                other = place + shift - kernel // 2
                if 0 <= other < len(states):
                    total = total + filters[:, :, shift] @ states[other]
            numbers.append(total.clamp(min=0) if relu else total)
        found.append(torch.cat(numbers))
    return found


@pytest.mark.parametrize("relu", [False, True])
def test_the_loss_of_is_bert_is_the_estimate_over_every_token_and_every_sentence(shallow, relu):
    method = shallow.method("is-bert", filters=6, relu=relu)

    def by_hand(weights):
        local = [local_vectors(weights, layers(weights, shallow.ids(one))[-1], relu) for one in FIRST]
        whole = [mean(tokens) for tokens in local]
        same, others = [], []
        for i, tokens in enumerate(local):
            for token in tokens:
                for j, vector in enumerate(whole):
                    product = (token * vector).sum()
                    if i == j:
                        same.append(torch.log(1 + torch.exp(-product)))
                    else:
                        others.append(torch.log(1 + torch.exp(product)))
        return mean(same) + mean(others) - 2 * math.log(2)

    assert_same(method, (FIRST,), by_hand)
