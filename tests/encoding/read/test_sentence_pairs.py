"""Test two sentences as one input, attention weights in every family, and attention in float32 for a bfloat16 model."""

import itertools

import numpy as np
import pytest
import torch
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read import attention
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
        first, second = composer.pieces([one, two], encoder.max_length)
        ids, types = composer.pairs([first], [second])
        assert ids == [expected["input_ids"]]
        assert types == ([expected["token_type_ids"]] if "token_type_ids" in expected else None)


def test_pieces_are_what_is_read_of_a_sentence_without_its_special_tokens_and_words_that_may_be_drawn_are_none(encoder):
    composer = Composer(encoder)
    around = encoder.tokenizer().num_special_tokens_to_add(pair=False)
    for most in (around + 1, 6, encoder.max_length):
        for sentence, pieces in zip(SENTENCES, composer.pieces(SENTENCES, most), strict=True):
            whole = encoder.tokenizer()(sentence, truncation=True, max_length=most)["input_ids"]
            assert len(pieces) == len(whole) - around
            assert pieces == [number for number in whole if number in pieces]
    special = set(encoder.tokenizer().all_special_ids)
    words = set(Composer(encoder).words)
    assert special
    assert not words & special
    assert words | special == set(range(len(encoder.tokenizer())))


def test_what_is_cut_off_is_told_in_characters_and_two_long_sentences_are_cut_alike_to_what_can_be_read(encoder):
    composer = Composer(encoder)
    for most in (6, encoder.max_length):
        for sentence, cut in zip(SENTENCES, composer.read_to(SENTENCES, most), strict=True):
            assert 0 <= cut <= len(sentence)
            (left,), (pieces,) = (
                composer.pieces([sentence[:cut]], encoder.max_length),
                composer.pieces([sentence], most),
            )
            assert left == pieces
    one, two = ([place] * 600 for place in composer.words[:2])
    (ids,), types = composer.pairs([one], [two])
    assert ids.count(one[0]) == ids.count(two[0])
    assert encoder.max_length - 1 <= len(ids) <= encoder.max_length
    assert types is None or len(types[0]) == len(ids)


def test_inputs_of_two_sentences_are_read_as_the_model_reads_them(encoder):
    copy, composer = Tunable(encoder, encoder.max_length), Composer(encoder)
    pieces = composer.pieces(SENTENCES, encoder.max_length)
    ids, types = composer.pairs(pieces[:-1], pieces[1:])
    seen = []
    for places, states in copy.grouped_tokens(ids, types):
        seen += places
        for row, place in enumerate(places):
            given = encoder.tokenizer()(SENTENCES[place], SENTENCES[place + 1], return_tensors="pt")
            expected = copy.model(**given).last_hidden_state[0]
            assert states.hidden[-1][row][states.mask[row]].sub(expected).abs().max() < 1e-5
    assert sorted(seen) == list(range(len(ids)))


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
    ids, kinds = composer.pairs(*([piece] for piece in composer.pieces([ONE, TWO], POSITIONS)))
    assert len(self_attention(shown, ONE, TWO, BOTH).tokens) == len(ids[0])
    types = {} if kinds is None else {"token_type_ids": torch.tensor(kinds)}
    with torch.inference_mode():
        one, other = (
            encoder.model(input_ids=torch.tensor(ids), output_hidden_states=True, **types).hidden_states
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


def test_a_piece_of_a_word_keeps_its_mark_and_the_weights_are_those_the_model_gives(bert):
    assert "##e" in self_attention(bert, "mane", "a", FIRST).tokens
    found = self_attention(bert, ONE, TWO, FIRST)
    ids = torch.tensor(bert.tokens([ONE]).ids)
    with torch.inference_mode():
        given = bert.model(input_ids=ids, output_attentions=True).attentions
    for layer in range(LAYERS):
        assert np.array_equal(found.weights[layer], given[layer][0].numpy())


def test_a_model_that_shows_no_attention_is_refused(folders):
    with pytest.raises(UnsupportedModel, match="does not return its attention weights"):
        self_attention(encoder_of(folders("bert")), ONE, TWO, FIRST)


@pytest.fixture(scope="module", params=FAMILIES)
def folder(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("attention") / request.param
    save_tiny(request.param, folder)
    return folder


def last_states(encoder, sentences):
    states = encoder.states(sentences)
    return states.hidden[-1][states.mask].double()


def test_a_family_has_the_states_of_its_own_attention(folder, monkeypatch):
    found = of_folder("tiny", folder)
    exact = load(found, precision="float32", device="cpu")
    new = load(found, precision="bfloat16", device="cpu")
    monkeypatch.setattr(attention, "preferred", lambda asked, precision, device: asked)
    old = load(found, precision="bfloat16", device="cpu")
    assert old.model.config._attn_implementation in (attention.SDPA, attention.EAGER)
    for sentences in (SENTENCES, SENTENCES[:1]):  # with padding and without
        due = last_states(exact, sentences)
        by_old, by_new = ((last_states(one, sentences) - due).abs().mean() for one in (old, new))
        assert by_new <= 1.1 * by_old + 1e-4
        assert by_new < 0.02


@pytest.mark.parametrize("tokens", [1, 7, 15, 16, 17, 40])
@pytest.mark.parametrize("masked", ["nothing", "keys", "added numbers", "what follows", "a bias"])
def test_it_is_the_softmax_of_the_products(tokens, masked):
    torch.manual_seed(tokens)
    query, key, value = torch.randn(3, 4, 2, tokens, 8, dtype=torch.bfloat16)
    seen = torch.ones(4, 1, tokens, tokens, dtype=torch.bool)
    if masked == "what follows":
        seen = seen.tril()
    elif masked in ("keys", "added numbers"):
        seen[1, :, :, max(1, tokens - 3) :] = False
    mask = {
        "keys": seen,
        "added numbers": torch.zeros(seen.shape, dtype=torch.bfloat16).masked_fill(~seen, float("-inf")),
    }.get(masked)
    bias = torch.randn(1, 2, tokens, tokens, dtype=torch.bfloat16) if masked == "a bias" else None
    module = torch.nn.Module()
    module.is_causal = masked == "what follows"
    found, _ = attention.in_float32(module, query, key, value, mask, scaling=0.5, position_bias=bias)
    wide = 0.5 * query.double() @ key.double().transpose(2, 3) + (0 if bias is None else bias.double())
    due = wide.masked_fill(~seen, float("-inf")).softmax(-1) @ value.double()
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.double(), due.transpose(1, 2), rtol=2**-8, atol=1e-6)


def test_only_bfloat16_on_a_processor_is_computed_so(folder):
    assert attention.preferred("sdpa", "float32", "cpu") == "sdpa"
    assert attention.preferred("sdpa", "bfloat16", "cuda") == "sdpa"
    assert attention.preferred("eager", "bfloat16", "cpu") == "eager"
    config = load(of_folder("tiny", folder), precision="bfloat16", device="cpu").model.config
    others = {"mpnet": "eager", "deberta-v2": "eager", "t5": "sdpa", "bart": "sdpa"}
    assert config._attn_implementation == others.get(folder.name, attention.SDPA_IN_FLOAT32)
    assert attention.SDPA_IN_FLOAT32 not in config.to_json_string()


@pytest.mark.parametrize("tokens", [5, 16, 20])
def test_its_gradient_under_autocast_is_that_of_float64(tokens):
    torch.manual_seed(tokens)
    given = torch.randn(3, 4, 2, tokens, 8, dtype=torch.bfloat16)
    seen = torch.ones(4, 1, tokens, tokens, dtype=torch.bool)
    seen[1, :, :, 3:] = False
    gradients = []
    for kind in (torch.bfloat16, torch.float64):
        query, key, value = (one.to(kind).requires_grad_() for one in given)
        if kind == torch.bfloat16:
            with torch.autocast("cpu", torch.bfloat16):
                found, _ = attention.in_float32(torch.nn.Module(), query, key, value, seen, scaling=0.5)
        else:
            weights = (0.5 * query @ key.transpose(2, 3)).masked_fill(~seen, float("-inf")).softmax(-1)
            found = (weights @ value).transpose(1, 2)
        found.double().square().sum().backward()
        gradients.append([one.grad.double() for one in (query, key, value)])
    for one, due in zip(*gradients, strict=True):
        torch.testing.assert_close(one, due, rtol=0.02, atol=0.02)


def test_dropout_and_float32_are_computed_as_torch_does():
    query, key, value = torch.randn(3, 2, 2, 5, 8)
    for kind, dropout in ((torch.bfloat16, 0.5), (torch.float32, 0.0)):
        found = []
        for compute in (attention.in_float32, sdpa_attention_forward):
            torch.manual_seed(1)
            states, _ = compute(
                torch.nn.Module(),
                *(one.to(kind) for one in (query, key, value)),
                None,
                dropout=dropout,
                is_causal=False,
            )
            found.append(states)
        assert torch.equal(*found)


def test_a_model_in_training_has_it_and_its_encoder_does_not(folder):
    encoder = load(of_folder("tiny", folder), precision="float32", device="cpu")
    before = encoder.model.config._attn_implementation
    trained = Tunable(encoder, 16).model.config._attn_implementation
    able = before == attention.SDPA and type(encoder.model)._supports_attention_backend
    assert trained == (attention.SDPA_IN_FLOAT32 if able else before)
    assert encoder.model.config._attn_implementation == before
