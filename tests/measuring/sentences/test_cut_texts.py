"""Test that texts are counted that are longer than is read of them, by the tokenizer of transformers."""

import pytest
from transformers import AutoTokenizer

from explorer.encoding.load import loading
from explorer.encoding.locate import model_names
from explorer.measuring.sentences import cut_texts
from explorer.measuring.sentences.cut_texts import EVALUATION, TRAINING, CutTexts, count
from tests.tiny_models import save_tiny

WORDS = ["the", "dog", "and", "the", "man", "see", "a", "cat", "in", "the", "park", "with", "a", "ball"]
TEXTS = [" ".join((WORDS * 20)[: 3 + 4 * row]) for row in range(40)]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return loading.load(model_names.find(str(save_tiny("bert", tmp_path_factory.mktemp("tiny") / "tiny"))))


def lengths(encoder, texts):
    tokenizer = AutoTokenizer.from_pretrained(str(encoder.folder))
    return [len(tokenizer(text)["input_ids"]) for text in texts]


@pytest.mark.parametrize("limit", [12, 20, None])
def test_distinct_texts_are_counted_that_are_longer_than_is_read_in_a_use_and_than_the_model_reads(encoder, limit):
    tokens = lengths(encoder, TEXTS)
    found = count(encoder, [*TEXTS, *TEXTS], limit)
    most = encoder.max_length
    assert (found.of, found.used_limit, found.read_limit) == (40, limit or most, most)
    assert found.used == sum(one > (limit or most) for one in tokens) > 0
    assert found.read == sum(one > most for one in tokens) > 0


def test_a_prompt_is_counted_too(encoder):
    prompt = "the dog see the cat "
    tokens = lengths(encoder, [prompt + text for text in TEXTS])
    assert count(encoder, TEXTS, 20, prompt=prompt).used == sum(one > 20 for one in tokens)


def test_of_many_texts_some_from_all_over_the_file_are_counted(encoder, monkeypatch):
    monkeypatch.setattr(cut_texts, "MOST_COUNTED", 10)
    found = count(encoder, TEXTS, 12)  # sorted by length: the first ten alone would have other lengths
    assert (found.of, found.used) == (10, sum(one > 12 for one in lengths(encoder, TEXTS[::4])))


def test_a_text_says_both_limits_and_the_choice_that_there_is():
    text = CutTexts(500, 12, 128, 3, 256).text
    assert "12 of 500 texts are longer than the 128 tokens" in text
    assert "max_length, up to 256" in text
    assert "3 of 500 texts are longer than the 256 tokens that the model reads" in text
    one = CutTexts(19, 1, 128, 1, 256)
    assert "1 of 19 texts is longer than the 128 tokens that this training reads: the rest of it is not" in one.text
    assert "Split it," in one.text
    assert one.words.endswith("(1 is longer)")
    assert "--max-length" in CutTexts(500, 12, 64, 0, 256, EVALUATION).text
    assert CutTexts(40, 0, 12, 0, 64).text == CutTexts(40, 0, 12, 0, 64).words == ""
    both = CutTexts(40, 5, 64, 5, 64, TRAINING)
    assert "this training" not in both.text, "both limits are one"
    assert both.words == "5 of 40 texts, at 64 tokens"
