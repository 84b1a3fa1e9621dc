import itertools

import pytest

from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.sentence_pairs import Composer
from explorer.encoding.tune.tunable import Tunable
from tests.tiny_models import FAMILIES, SENTENCES, save_tiny


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
