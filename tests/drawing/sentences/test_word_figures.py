"""Test the colours of words in their places: one scale, blue above zero, and text that can be read on each."""

import numpy as np
import pytest

from explorer.drawing.sentences.word_figures import coloured, largest
from explorer.measuring.sentences.word_pair import WordPair


def contrast(one, other):
    """As WCAG 2.2 defines it."""

    def luminance(colour):
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("Smoking  is not\nallowed.", ("Smoking", "is", "not", "allowed", ".")),
        ("the the, the", ("the", "the", ",", "the")),
        ("cut after two words", ("cut", "after")),
        ("אני לא מעשן 🚭", ("אני", "לא", "מעשן", "🚭")),
        ("of a tokenizer that writes it otherwise", ("OF", "a")),
        ("no words", ()),
    ],
)
def test_words_are_in_their_places_and_the_sentence_is_whole(sentence, words):
    found, rest = coloured(sentence, words, np.linspace(-1, 1, len(words)), 1)
    assert tuple(one.word for one in found) == words
    if words[:1] != ("OF",):
        assert "".join(one.before + one.word for one in found) + rest == sentence


def test_the_sign_decides_the_hue_the_size_its_strength_and_every_text_can_be_read():
    values = np.linspace(-0.8, 0.8, 33)
    found, _ = coloured("x " * 33, ("x",) * 33, values, 0.8)
    assert [one.value for one in found] == pytest.approx(values)
    assert min(contrast(one.background, one.ink) for one in found) >= 4.5
    red, blue = ([int(one.background[at : at + 2], 16) for one in found] for at in (1, 5))
    gaps = np.subtract(blue, red)
    assert (np.sign(gaps) == np.sign(values)).all()
    assert (np.diff(gaps) > 0).all()


def test_sentences_and_models_share_the_scale_of_their_largest_word():
    pairs = [
        WordPair((("a",), ("b",)), (np.array([one]), np.array([other])), (0.9, 0.9), 0.0, (1, 1))
        for one, other in ((0.3, 0.2), (-0.6, -0.7))
    ]
    assert largest(*pairs) == pytest.approx(0.7)
    assert largest(WordPair(((), ()), (np.zeros(0), np.zeros(0)), (1.0, 1.0), 1.0, (0, 0))) == 0
    (found,), rest = coloured("a", ("a",), np.zeros(1), 0)
    assert (found.background, rest) == ("#dddddd", "")
