"""Test that two sentences are one input as the tokenizer composes them, and attention weights in every family."""

import itertools

import numpy as np
import pytest
import torch

from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.sentence_pairs import BOTH, FIRST, MOST_TOKENS, SECOND, Composer, inputs, self_attention
from explorer.encoding.tune.tunable import Tunable
from explorer.errors import UnsupportedModel
from tests.spoiling import encoder_of
from tests.tiny_models import FAMILIES, LAYERS, POSITIONS, SENTENCES, save_tiny

DECODERS = ("gpt2", "qwen2", "llama")
ONE, TWO = SENTENCES[0], SENTENCES[2]


@pytest.fixture(scope="module", params=FAMILIES)
def encoder(request, tmp_path_factory) -> Encoder:
    folder = save_tiny(request.param, tmp_path_factory.mktemp("composing") / request.param)
    return load(of_folder(request.param, folder), precision="float32", device="cpu")


def test_two_sentences_are_composed_as_the_tokenizer_composes_them(encoder):
    composer, tokenizer = Composer(encoder), encoder.tokenizer()
    for one, two in itertools.pairwise(SENTENCES):
        expected = tokenizer(one, two)
        found = composer.pair(*composer.pieces([one, two], encoder.max_length))
        assert found.ids == expected["input_ids"]
        assert found.types == expected.get("token_type_ids")


def test_pieces_are_what_is_read_of_a_sentence_without_its_special_tokens(encoder):
    composer = Composer(encoder)
    around = encoder.tokenizer().num_special_tokens_to_add(pair=False)
    for most in (around + 1, 6, encoder.max_length):
        for sentence, pieces in zip(SENTENCES, composer.pieces(SENTENCES, most), strict=True):
            whole = encoder.tokenizer()(sentence, truncation=True, max_length=most)["input_ids"]
            assert len(pieces) == len(whole) - around
            assert pieces == [number for number in whole if number in pieces]


def test_a_word_that_may_be_drawn_is_no_special_token(encoder):
    special = set(encoder.tokenizer().all_special_ids)
    words = set(Composer(encoder).words)
    assert special
    assert not words & special
    assert words | special == set(range(len(encoder.tokenizer())))


def test_what_is_cut_off_is_told_in_characters(encoder):
    composer = Composer(encoder)
    for most in (6, encoder.max_length):
        for sentence, cut in zip(SENTENCES, composer.read_to(SENTENCES, most), strict=True):
            assert 0 <= cut <= len(sentence)
            (left,), (pieces,) = (
                composer.pieces([sentence[:cut]], encoder.max_length),
                composer.pieces([sentence], most),
            )
            assert left == pieces


def test_inputs_of_two_sentences_are_read_as_the_model_reads_them(encoder):
    copy, composer = Tunable(encoder, encoder.max_length), Composer(encoder)
    pieces = composer.pieces(SENTENCES, encoder.max_length)
    inputs = [composer.pair(one, two) for one, two in itertools.pairwise(pieces)]
    seen = []
    for places, states in copy.composed(inputs):
        seen += places
        for row, place in enumerate(places):
            given = encoder.tokenizer()(SENTENCES[place], SENTENCES[place + 1], return_tensors="pt")
            expected = copy.model(**given).last_hidden_state[0]
            assert states.hidden[-1][row][states.mask[row]].sub(expected).abs().max() < 1e-5
    assert sorted(seen) == list(range(len(inputs)))


def test_two_long_sentences_are_cut_alike_to_what_can_be_read(encoder):
    composer = Composer(encoder)
    one, two = ([place] * 600 for place in composer.words[:2])
    made = composer.pair(one, two)
    assert made.ids.count(one[0]) == made.ids.count(two[0])
    assert encoder.max_length - 1 <= len(made.ids) <= encoder.max_length
    assert made.types is None or len(made.types) == len(made.ids)


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
    assert self_attention(bert, long, "a man", FIRST).left_out == 602 - MOST_TOKENS
    assert len(self_attention(bert, long, "a man", FIRST).tokens) == MOST_TOKENS
    both = self_attention(bert, long, "a man", BOTH)
    assert len(both.tokens) <= MOST_TOKENS
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
