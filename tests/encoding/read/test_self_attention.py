"""Test attention weights in every family: rows sum to 1, states equal those of fast attention."""

import numpy as np
import pytest
import torch

from explorer.encoding.read.self_attention import BOTH, FIRST, MOST, SECOND, inputs, self_attention
from explorer.encoding.read.sentence_pairs import Composer
from explorer.errors import UnsupportedModel
from tests.spoiling import encoder_of
from tests.tiny_models import FAMILIES, LAYERS, POSITIONS, SENTENCES, save_tiny

DECODERS = ("gpt2", "qwen2", "llama")
ONE, TWO = SENTENCES[0], SENTENCES[2]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = {}

    def folder(kind):
        if kind not in made:
            made[kind] = save_tiny(kind, tmp_path_factory.mktemp("heads") / kind)
        return made[kind]

    return folder


@pytest.fixture
def bert(folders):
    return encoder_of(folders("bert"), attention="eager")


@pytest.mark.parametrize("kind", FAMILIES)
def test_every_row_of_every_head_sums_to_one(folders, kind):
    encoder = encoder_of(folders(kind), attention="eager")
    for which in inputs(encoder):
        found = self_attention(encoder, ONE, TWO, which)
        tokens = len(found.tokens)
        assert found.weights.shape[0] == LAYERS
        assert found.weights.shape[2:] == (tokens, tokens)
        assert found.weights.sum(-1) == pytest.approx(np.ones(found.weights.shape[:3]), abs=1e-5)
        assert found.left_out == 0
        assert len(found.special) == tokens


@pytest.mark.parametrize("kind", [kind for kind in FAMILIES if kind not in DECODERS])
def test_a_pair_is_one_input_and_read_as_the_quick_attention_reads_it(folders, kind):
    shown, quick = (encoder_of(folders(kind), attention=name) for name in ("eager", "sdpa"))
    assert inputs(shown) == (BOTH, FIRST, SECOND)
    composer = Composer(shown)
    composed = composer.pair(*composer.pieces([ONE, TWO], POSITIONS))
    assert len(self_attention(shown, ONE, TWO, BOTH).tokens) == len(composed.ids)
    types = {} if composed.types is None else {"token_type_ids": torch.tensor([composed.types])}
    with torch.inference_mode():
        one, other = (
            encoder.model(input_ids=torch.tensor([composed.ids]), output_hidden_states=True, **types).hidden_states
            for encoder in (shown, quick)
        )
    for layer, its in zip(one, other, strict=True):
        assert torch.allclose(layer, its, atol=1e-5)


@pytest.mark.parametrize("kind", DECODERS)
def test_a_decoder_reads_each_sentence_alone_and_never_ahead(folders, kind):
    encoder = encoder_of(folders(kind), attention="eager")
    assert inputs(encoder) == (FIRST, SECOND)
    assert not np.triu(self_attention(encoder, ONE, TWO, FIRST).weights, k=1).any()


def test_tokens_are_those_of_the_sentences_in_order(bert):
    both, second = (self_attention(bert, "a man", "a dog", way) for way in (BOTH, SECOND))
    assert both.tokens == ("[CLS]", "a", "man", "[SEP]", "a", "dog", "[SEP]")
    assert both.special == (True, False, False, True, False, False, True)
    assert second.tokens == ("[CLS]", "a", "dog", "[SEP]")


def test_what_does_not_fit_is_left_out_and_counted(bert):
    long = "a " * 600
    assert self_attention(bert, long, "a man", FIRST).left_out == 602 - MOST
    assert len(self_attention(bert, long, "a man", FIRST).tokens) == MOST
    both = self_attention(bert, long, "a man", BOTH)
    assert len(both.tokens) <= MOST
    assert both.left_out == 600 + 2 + 3 - len(both.tokens)
    assert "man" in both.tokens, "the long one leaves room for the short one"


def test_a_piece_of_a_word_keeps_its_mark(bert):
    assert "##e" in self_attention(bert, "mane", "a", FIRST).tokens


def test_the_weights_are_those_the_model_gives(bert):
    found = self_attention(bert, ONE, TWO, FIRST)
    ids = torch.tensor(bert.tokens([ONE]).ids)
    with torch.inference_mode():
        given = bert.model(input_ids=ids, output_attentions=True).attentions
    for layer in range(LAYERS):
        assert np.array_equal(found.weights[layer], given[layer][0].numpy())


def test_a_model_that_shows_no_attention_is_refused(folders):
    with pytest.raises(UnsupportedModel, match="does not return its attention weights"):
        self_attention(encoder_of(folders("bert")), ONE, TWO, FIRST)
