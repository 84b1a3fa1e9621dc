"""Test that a sentence's vector is the sum of its words' parts, in every family and under every pooling."""

import numpy as np
import pytest
import torch

from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read import word_parts as parts_of
from explorer.encoding.read.attention import EAGER
from explorer.encoding.read.encoder import every_layer
from explorer.encoding.read.head import Head
from explorer.encoding.read.parts.dense import Dense
from explorer.encoding.read.pooling import MASK, MEAN, OWN, PAD, POOLINGS, REFERENCES, parse
from explorer.encoding.read.word_parts import (
    CLOSE,
    POINTS,
    Ends,
    Words,
    added,
    ends_of,
    replacement,
    word_parts,
    words_of,
)
from explorer.errors import BadChoice, ModelTooLarge, UnsupportedModel
from explorer.progress import finish
from tests.encoding.load.test_static_embedding import saved
from tests.spoiling import encoder_of
from tests.tiny_models import FAMILIES, save_tiny

SENTENCE = "a man is playing the guitar"


def opened(kind, folder):
    save_tiny(kind, folder / kind)
    return load(of_folder("tiny", folder / kind), "float32", "cpu", EAGER)


def split(*sentence):
    """A sentence's words and vector, and the part of each word."""
    ends = ends_of(*sentence)
    return ends, finish(word_parts(ends))[0]


def missed(ends, parts):
    """How far the parts and the reference are from the vector, whose length is 1."""
    return np.linalg.norm((ends.last - ends.first).numpy() - parts.sum(axis=0))


@pytest.fixture(scope="module", params=FAMILIES)
def family(request, tmp_path_factory):
    return opened(request.param, tmp_path_factory.mktemp("family"))


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return opened("bert", tmp_path_factory.mktemp("bert"))


@pytest.mark.product(1)
@pytest.mark.parametrize("pooling", POOLINGS)
def test_the_parts_add_up_in_every_family_under_every_pooling(family, pooling):
    last = family.rows[-1].layers[-1]
    for reading in (OWN, parse(f"{pooling} of layer {last}", last)):
        ends, parts = split(family, SENTENCE, reading)
        assert ends.words.texts == tuple(SENTENCE.split())
        assert missed(ends, parts) <= CLOSE, reading.title
        assert np.linalg.norm(ends.last) == pytest.approx(1, abs=1e-5)
        vectors = np.concatenate([view.own if reading == OWN and view.own is not None else _cell(family, view, reading)
                                  for view in family.views([SENTENCE], also=[reading])])  # fmt: skip
        assert ends.last.numpy() == pytest.approx(vectors[0] / np.linalg.norm(vectors[0]), abs=1e-5)


def _cell(encoder, view, reading):
    """The vectors of a layer & pooling as they are encoded elsewhere."""
    if reading == OWN:
        reading = parse(f"mean of layer {encoder.rows[-1].layers[-1]}", encoder.rows[-1].layers[-1])
    if reading in view.also:
        return view.also[reading].numpy()
    return view.grid[encoder.rows.index(reading.row), encoder.poolings.index(reading.pooling)].numpy()


@pytest.mark.parametrize("reference", REFERENCES)
def test_the_parts_add_up_after_maps_and_with_every_reference(bert, monkeypatch, reference):
    layer = Dense(torch.randn(5, bert.width, generator=torch.Generator().manual_seed(1)), torch.ones(5), "Tanh")
    twice = Dense(torch.cat([layer.weight, -layer.weight], dim=1), layer.bias, "Tanh")
    monkeypatch.setattr(bert, "head", Head(("cls", "mean of layer 1"), (twice,), normalize=True))
    ends, parts = split(bert, SENTENCE, OWN, reference)
    assert missed(ends, parts) <= CLOSE
    assert parts.shape == (6, 5)


def test_they_are_those_of_a_slow_loop_of_central_differences(bert):
    _, parts = split(bert, SENTENCE, OWN)
    model, steps, small = bert.model.double(), 400, 1e-5
    try:
        words = words_of(bert, SENTENCE)
        table = model.get_input_embeddings()
        with torch.no_grad():
            end = table(torch.tensor([words.ids]))[0]
            start = torch.where(words.mask[:, None], replacement(bert, PAD), end)

            def vector(embedded):
                pooled = every_layer(model, inputs_embeds=embedded)[-1].mean(1)
                return pooled / pooled.norm(dim=1, keepdim=True)

            places = (torch.arange(steps) + 0.5) / steps
            at = start + places[:, None, None] * (end - start)
            ahead = [small * (end - start) * tokens[:, None] for tokens in words.tokens]  # one word each
            slow = np.stack([((vector(at + one) - vector(at - one)) / (2 * small)).mean(0).numpy() for one in ahead])
    finally:
        bert.model.float()
    assert parts == pytest.approx(slow, abs=2e-4)


def test_what_they_add_to_a_direction_is_its_integrated_gradient(bert):
    """As written in Sundararajan et al.: (x - r) times the mean gradient along the path, from reverse mode."""
    direction = torch.randn(bert.width, generator=torch.Generator().manual_seed(2))
    _, parts = split(bert, SENTENCE, OWN)
    words = words_of(bert, SENTENCE)
    end = bert.model.get_input_embeddings()(torch.tensor([words.ids]))[0].detach()
    start = torch.where(words.mask[:, None], replacement(bert, PAD), end).detach()
    places = (torch.arange(300) + 0.5) / 300
    at = (start + places[:, None, None] * (end - start)).requires_grad_()
    pooled = every_layer(bert.model, inputs_embeds=at)[-1].mean(1)
    (slopes,) = torch.autograd.grad((pooled @ direction / pooled.norm(dim=1)).sum(), at)  # a row for each place
    by_token = ((end - start) * slopes.mean(0)).sum(1)
    by_word = [float(by_token[tokens].sum()) for tokens in words.tokens]
    assert parts @ direction.double().numpy() == pytest.approx(by_word, abs=2e-4)
    sums, (_, weights) = finish(added(ends_of(bert, SENTENCE, OWN), direction.double()))
    assert sums == pytest.approx(by_word, abs=2e-4)
    assert len(weights) > POINTS[0], "two paths have to agree"


def test_the_integral_of_a_linear_map_is_exact(bert):
    generator = torch.Generator().manual_seed(3)
    weights = torch.randn(7, 4, generator=generator)
    start, end = torch.randn(2, 3, 7, generator=generator)
    directions = torch.stack([(end - start) * (torch.arange(3) == word)[:, None] for word in range(3)])

    def linear(embedded):
        return embedded.sum(1) @ weights

    words = Words((0, 1, 2), ("a", "b", "c"), torch.eye(3, dtype=torch.bool))
    ends = Ends(bert, words, linear, start, end, *linear(torch.stack([start, end])).double())
    assert torch.equal(ends.directions, directions)
    parts, points = finish(word_parts(ends))
    assert points == POINTS[0]
    assert parts == pytest.approx(((end - start) @ weights).numpy(), abs=1e-5)


def test_a_word_with_the_embedding_of_the_reference_has_no_part_and_pieces_are_one_word(bert):
    table = bert.model.get_input_embeddings().weight
    (ids,) = bert.tokens(["man"]).ids
    before = table[ids[1]].clone()
    with torch.no_grad():
        table[ids[1]] = replacement(bert, PAD)
    try:
        _, parts = split(bert, SENTENCE, OWN)
    finally:
        with torch.no_grad():
            table[ids[1]] = before
    assert parts[1] == pytest.approx(0, abs=1e-7)
    assert np.abs(parts[[0, 2, 3, 4, 5]]).max() > 1e-3
    assert split(bert, "a manplaying guitar!", OWN)[0].words.texts == ("a", "manplaying", "guitar", "!")
    assert len(words_of(bert, "a manplaying guitar!").ids) > 6


@pytest.mark.parametrize("sentence", ["", "   "])
def test_a_sentence_without_words_has_its_vector_alone(bert, sentence):
    ends, parts = split(bert, sentence, OWN)
    assert ends.words.texts == ()
    assert parts.shape == (0, bert.width)
    assert missed(ends, parts) == pytest.approx(0, abs=1e-6)


def test_words_of_a_prompt_are_no_words_and_long_sentences_are_cut(bert, monkeypatch):
    monkeypatch.setattr(bert, "head", Head(("mean",), prompt="the dog: "))
    found = words_of(bert, SENTENCE, 9)
    assert found.texts == ("a", "man", "is", "playing")[: len(found.texts)]
    assert len(found.ids) == 9
    assert found.cut == (9, len(words_of(bert, SENTENCE).ids))
    assert words_of(bert, SENTENCE).cut is None
    assert split(bert, SENTENCE, OWN)[0].words.texts == tuple(SENTENCE.split())


@pytest.mark.parametrize("said", ["CUDA out of memory. Tried to", "DefaultCPUAllocator: can't allocate memory: you"])
def test_a_lack_of_memory_is_no_missing_derivative(bert, monkeypatch, said):
    def refuse(*_):
        raise RuntimeError(said)

    monkeypatch.setattr(torch.func, "vmap", lambda _: refuse)
    with pytest.raises(ModelTooLarge, match=r"sentence of 8 tokens. Set a smaller maximum length"):
        split(bert, SENTENCE, OWN)


def test_a_reference_that_the_tokenizer_lacks_is_refused(tmp_path):
    gpt = opened("gpt2", tmp_path)
    with pytest.raises(BadChoice, match=rf"has no token '\[MASK\]'.*{MEAN}"):
        split(gpt, SENTENCE, OWN, MASK)


def test_a_model_that_reads_embeddings_otherwise_is_refused(bert, monkeypatch):
    plain = parts_of.every_layer
    monkeypatch.setattr(
        parts_of,
        "every_layer",
        lambda model, **given: plain(model, **{name: value * 2 if "embeds" in name else value
                                               for name, value in given.items()}),
    )  # fmt: skip
    with pytest.raises(UnsupportedModel, match="gives another vector for the embeddings"):
        split(bert, SENTENCE, OWN)


def test_the_parts_of_static_embeddings_are_their_shares_of_the_vector(tmp_path):
    encoder = encoder_of(saved(tmp_path / "static"))
    ends, parts = split(encoder, SENTENCE, parse("mean of layer 0", 0))
    table = encoder.model.get_input_embeddings().weight
    assert ends.words.texts == tuple(SENTENCE.split())
    assert missed(ends, parts) < CLOSE
    vector = table[torch.tensor(ends.words.ids)].mean(0)
    assert torch.allclose(ends.last.float(), vector / vector.norm(), atol=1e-6)
