"""Test the cosine of two sentences as a sum over their words, and what is said of its change."""

import json
from dataclasses import replace

import numpy as np
import pytest

from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import find, of_folder
from explorer.encoding.read.attention import EAGER
from explorer.encoding.read.readings import OWN, parse
from explorer.measuring.sentences import sentence_vectors, word_tables
from explorer.measuring.sentences import word_pair as pair_of_words
from explorer.measuring.sentences.cosine_matrix import similarities
from explorer.measuring.sentences.word_pair import WordPair, changes, word_pair
from explorer.measuring.sentences.word_tables import Explained
from explorer.progress import finish
from tests.tiny_models import save_tiny

PAIR = "a man is playing the guitar", "a dog is playing"


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny") / "bert"
    save_tiny("bert", folder)
    return load(of_folder("tiny", folder), "float32", "cpu", EAGER)


@pytest.mark.parametrize("title", ["mean of layer 2", "cls of layer 2", "max of layer 1", "mean of layers 0 + 2"])
def test_the_matrix_adds_up_to_the_cosine_that_is_shown_elsewhere(encoder, title):
    reading = parse(title, 2)
    found = finish(word_pair(encoder, *PAIR, reading, matrix=True))
    shown = similarities(finish(sentence_vectors.of_reading(encoder, list(PAIR), reading)))[0, 1]
    assert found.cosine == pytest.approx(shown, abs=1e-5)
    assert found.missed < 0.01  # each side may miss its vector by 0.005
    assert found.matrix.shape == (7, 5)
    for values, rest in zip(found.contributions, found.rests, strict=True):
        assert values.sum() + rest == pytest.approx(found.matrix.sum())
    quick = finish(word_pair(encoder, *PAIR, reading))
    assert quick.matrix is None
    assert (quick.words, quick.cosine) == (found.words, found.cosine)
    assert quick.missed <= 0.005
    for values, sums in zip((*quick.contributions, quick.rests), (*found.contributions, found.rests), strict=True):
        assert values == pytest.approx(sums, abs=0.002)  # by a gradient: up to their points


def test_long_sentences_have_contributions_alone_unless_a_maximum_length_is_set(encoder, monkeypatch):
    monkeypatch.setattr(pair_of_words, "WORD_TOKENS", 20)
    long = "a dog " * 10
    found = finish(word_pair(encoder, long, PAIR[1], OWN, matrix=True))
    assert found.matrix is None
    assert (len(found.words[0]), found.cuts) == (20, (None, None))
    assert finish(word_pair(encoder, long, PAIR[1], OWN, max_length=21, matrix=True)).matrix.shape == (20, 5)
    told = plain((long, PAIR[1]), {"A": {}}, {"A": found})["A"]
    assert told["matrix"] is None
    assert told["sums"] == pytest.approx([found.cosine] * 2, abs=0.005)


def test_exchanged_sentences_have_the_matrix_turned(encoder):
    one, other = (finish(word_pair(encoder, *pair, OWN, matrix=True)) for pair in (PAIR, PAIR[::-1]))
    assert other.matrix == pytest.approx(one.matrix.T, abs=1e-6)
    same = finish(word_pair(encoder, PAIR[0], PAIR[0], OWN, matrix=True))
    assert same.cosine == pytest.approx(1, abs=1e-6)
    assert same.matrix == pytest.approx(same.matrix.T)


def plain(sentences, models, pairs):
    """Everything, written as JSON and read again."""
    return json.loads(json.dumps(word_tables.content(Explained(sentences, pairs), "[PAD]", models)))


def pair_of(values, words=("open", "shop")):
    """A sentence of these words, and one without words."""
    cosine = float(sum(values))
    return WordPair((tuple(words), ()), (np.array(values), np.zeros(0)), (0.0, cosine), cosine, (16, 16))


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (
            (0.3, 0.5),
            (-0.1, 0.6),
            "Under B the cosine is 0.30 lower (0.80 → 0.50); “open” accounts for −0.40 (+0.30 → −0.10).",
        ),
        (
            (0.7, 0.1),
            (0.1, 0.9),  # “open” changed less, and the other way
            "Under B the cosine is 0.20 higher (0.80 → 1.00); “shop” accounts for +0.80 (+0.10 → +0.90).",
        ),
        ((0.3, 0.1), (0.1, 0.3), "The cosine is 0.40 under A and B; “open” changed most, by −0.20 (+0.30 → +0.10)."),
    ],
)
def test_the_word_behind_a_change_is_the_one_that_moved_the_cosine_most_its_way(before, after, told):
    assert word_tables.told({"A": pair_of(before), "B": pair_of(after)}) == told


def test_other_words_are_not_compared_and_one_model_names_its_strongest_word():
    pairs = {"A": pair_of((0.3, 0.1)), "B": pair_of((0.3, 0.1), ("openshop", "x"))}
    assert word_tables.told(pairs) == word_tables.OTHER_WORDS
    assert changes(*pairs.values()) == ()
    assert word_tables.told({"A": pair_of((0.3, 0.1))}) == "“open” adds most to the cosine of 0.40: +0.30."
    assert word_tables.told({"A": pair_of((), ())}) == ""
    text = word_tables.as_text(("open shop", ""), {side: {"model": side, "reading": "r"} for side in "AB"}, pairs)
    assert "openshop +0.300" in text


def test_a_cut_is_said_of_both_models_at_once_or_of_the_one_that_cut():
    one, other = (replace(pair_of((0.3, 0.1)), cuts=cuts) for cuts in (((64, 431), None), (None, None)))
    line = word_tables.CUT.format(64, 431, "first")
    assert word_tables.cuts_told({"A": one, "B": one}) == [line]
    assert word_tables.cuts_told({"A": other, "B": one}) == [f"B: {line}"]
    assert word_tables.cuts_told({"A": other}) == []
    assert plain(("", ""), {"A": {}}, {"A": one})["A"]["cuts"] == [
        {"tokens": 64, "of": 431},
        None,
    ]


def test_the_demonstrations_model_counts_a_negation_against_a_pair():
    pair = "A man is not playing a guitar.", "A man is playing a guitar."
    found = {}
    for side, name in zip("AB", ("all-MiniLM-L6-v2", "run:example"), strict=True):
        model = load(find(name), "float32", attention=EAGER)
        found[side] = finish(word_pair(model, *pair, OWN, matrix=True))
        quick = finish(word_pair(model, *pair, OWN))
        for values, sums in zip(quick.contributions, found[side].contributions, strict=True):
            assert values == pytest.approx(sums, abs=0.005)
        assert quick.missed <= 0.005
    by_side = {side: dict(zip(one.words[0], one.contributions[0], strict=True)) for side, one in found.items()}
    assert found["A"].cosine == pytest.approx(0.701, abs=0.001)
    assert by_side["A"]["not"] == pytest.approx(-0.04, abs=0.02)
    assert by_side["B"]["not"] < -0.4
    assert all(one.missed < 0.01 for one in found.values())
    told = plain(pair, {side: {} for side in "AB"}, found)
    assert told["changes"][0]["word"] == "not"
    assert sum(row["contribution"] for row in told["A"]["matrix"]) == pytest.approx(told["A"]["sums"][0], abs=1e-4)
