"""Test that windows of long passages fit, cover the whole text, overlap, and are those of the tokenizer itself."""

import numpy as np
import pytest

from explorer.encoding.read import windows as module
from explorer.encoding.read.windows import windows
from explorer.progress import finish
from tests.spoiling import encoder_of
from tests.tiny_models import SENTENCES, save_tiny

LIMIT = 20
LONG = " ".join(" ".join(np.random.default_rng(seed).permutation(SENTENCES)) for seed in range(6))
LETTERS = sorted(set("".join(SENTENCES).lower()) - {" "})
# two words of 90 letters, of which each is a token
UNKNOWN = " ".join("".join(np.random.default_rng(seed).choice(LETTERS, 90)) for seed in range(2))


@pytest.fixture(scope="module", params=["bert", "roberta", "gpt2"])
def encoder(request, tmp_path_factory):
    return encoder_of(save_tiny(request.param, tmp_path_factory.mktemp(request.param) / "tiny"))


def cut(encoder, *passages, prompt="", limit=LIMIT):
    return finish(windows(encoder, passages, limit, prompt))


@pytest.mark.parametrize("prompt", ["", "passage: "])
@pytest.mark.parametrize("passage", [LONG, UNKNOWN, LONG + UNKNOWN], ids=["words", "without spaces", "both"])
def test_windows_fit_with_their_prompt_and_cover_the_text_without_a_gap(encoder, passage, prompt):
    limit = LIMIT + encoder.lengths([""], prompt)[0]
    found = cut(encoder, passage, prompt=prompt, limit=min(limit, encoder.max_length))
    assert found.cut == 1
    tokens = encoder.tokens([*found.texts], min(limit, encoder.max_length), prompt)
    assert tokens.truncated == 0
    covered = 0
    for text in found.texts:
        start = max(0, covered - len(text))
        at = passage.find(text, start)
        assert start <= at <= covered + 1, "each begins within the one before, or after the space behind it"
        covered = at + len(text)
    assert covered == len(passage)


def test_windows_end_between_words_and_share_about_a_quarter(encoder):
    words = LONG.split()
    found = cut(encoder, LONG)
    for text in found.texts:
        assert f" {text} " in f" {LONG} ", "a window has whole words"
    counts = [encoder.lengths([text])[0] for text in found.texts]
    assert min(counts[:-1]) > LIMIT // 2
    shared = sum(len(text.split()) for text in found.texts) / len(words) - 1
    assert 0.1 < shared < 0.7


def test_of_words_of_one_token_they_are_the_windows_of_the_tokenizer(tmp_path):
    encoder = encoder_of(save_tiny("bert", tmp_path / "tiny"))
    tokenizer = encoder.tokenizer()
    room = LIMIT - 2  # [CLS] and [SEP]
    by_tokenizer = tokenizer(
        LONG, truncation=True, max_length=LIMIT, stride=room // module.OVERLAP, return_overflowing_tokens=True
    )
    expected = [tokenizer.decode(ids, skip_special_tokens=True) for ids in by_tokenizer["input_ids"]]
    assert all(len(text.split()) + 2 == len(ids) for text, ids in zip(expected, by_tokenizer["input_ids"], strict=True))
    assert list(cut(encoder, LONG).texts) == expected


def test_a_passage_that_fits_is_its_only_window(encoder):
    found = cut(encoder, SENTENCES[0], LONG, SENTENCES[1])
    assert (found.texts[0], found.texts[-1]) == SENTENCES[:2]
    assert found.passages.tolist() == [0, *[1] * (len(found.texts) - 2), 2]
    assert found.of(1).tolist() == list(range(1, len(found.texts) - 1))
    assert found.starts.tolist() == [0, 1, len(found.texts) - 1]


def test_passages_are_cut_some_at_a_time_alike(encoder, monkeypatch):
    passages = [SENTENCES[0], LONG, SENTENCES[1], LONG + " again"]
    whole = cut(encoder, *passages)
    monkeypatch.setattr(module, "AT_A_TIME", 1)
    some = cut(encoder, *passages)
    assert some.texts == whole.texts
    assert np.array_equal(some.passages, whole.passages)


def test_windows_state_where_they_begin_also_of_a_model_that_puts_texts_in_lower_case(tmp_path):
    encoder = encoder_of(save_tiny("bert", tmp_path / "tiny"))
    passage = "İ " + LONG.title() + " İİ " + LONG.upper()  # in lower case, each İ is two characters
    for lower_case in (False, True):
        encoder.lower_case = lower_case
        found = cut(encoder, "İ", passage)
        assert len(found.begins) == len(found.texts) > 3
        for text, first, of in zip(found.texts, found.begins, found.passages, strict=True):
            assert ("İ", passage)[of][first : first + len(text)] == text == text.strip()
        assert not encoder.tokens(list(found.texts), LIMIT).truncated
        read = {place for text, first in list(zip(found.texts, found.begins, strict=True))[1:]
                for place in range(first, first + len(text))}  # fmt: skip
        assert all(place in read for place, letter in enumerate(passage) if letter != " ")
