"""Test that every sentence of a source is searched once, and that omissions are reported."""

import pytest

from explorer.data import corpora, sample
from explorer.data.corpora import of_pairs, of_source
from explorer.data.graded import sts
from explorer.data.text_sets import SENTENCES, GradedPairs
from explorer.errors import StrataError

PAIRS = GradedPairs("few", ("a b", "c d", "a b"), ("e f", "a b", "g h"), (1.0, 2.0, 3.0), ("", "", ""))


def test_sentences_of_pairs_stand_once_in_order_and_repeats_are_counted():
    found = of_pairs(PAIRS)
    assert found.texts == PAIRS.sentences == ("a b", "c d", "e f", "g h")
    assert found.note == "4 sentences of few; 2 repeated are left out."


def test_the_sample_is_that_of_the_training_page():
    assert of_source("sample").texts == corpora.corpus(("sample",), SENTENCES)[0].columns[0]
    assert of_source("Sample pairs").texts == sample.pairs().sentences


def test_a_set_without_a_split_is_all_of_it(tmp_path, monkeypatch):
    monkeypatch.setenv(sts.VARIABLE, str(tmp_path))
    for name, pairs in (("train", 4500), ("trial", 500), ("test", 4927)):
        path = tmp_path / "SICK" / f"{name}.tsv"
        path.parent.mkdir(exist_ok=True)
        rows = "".join(f"{at % 6}\t{name} {at}.\tThe same.\n" for at in range(pairs))
        path.write_text("score\tsentence1\tsentence2\n" + rows, encoding="utf-8")
    assert of_source("SICK-R").note == "9,928 sentences of SICK-R; 9,926 repeated are left out."
    assert of_source("SICK-R trial").texts[:2] == ("trial 0.", "trial 1.")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("mine.txt", "One two.\nThree four.\n\nOne two.\n"),
        ("mine.csv", "text\nOne two.\nThree four.\nOne two.\n"),
        (
            "mine.tsv",
            "score\tsentence1\tsentence2\n1\tOne two.\tThree four.\n4\tOne two.\tThree four.\n2\tOne two.\tOne two.\n",
        ),
        ("mine.jsonl", '{"text": "One two."}\n{"text": "Three four."}\n{"text": "One  two."}\n'),
    ],
)
def test_a_file_gives_its_sentences_once_and_says_how_many_came_again(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    found = of_source(str(path))
    assert found.texts == ("One two.", "Three four.")
    assert f"{content.count('One') + content.count('Three') - 2} repeated" in found.note
    assert name in found.note


def test_200_times_the_same_sentence_is_one(tmp_path):
    path = tmp_path / "same.txt"
    path.write_text("The same.\n" * 200, encoding="utf-8")
    assert of_source(str(path)).note == "1 sentence of same.txt; 199 repeated are left out."


def test_of_too_many_sentences_some_are_taken_from_all_over(monkeypatch):
    monkeypatch.setattr(corpora, "MOST", 10)
    found = of_pairs(GradedPairs("many", tuple(map(str, range(40))), ("39",) * 40, (1.0,) * 40, ("",) * 40))
    assert found.texts == tuple(map(str, range(0, 40, 4)))
    assert "40 repeated" in found.note
    assert "10 sentences of many, spread evenly over its 40 (of a text, 10 are searched at most" in found.note


@pytest.mark.parametrize(
    "source",
    ["nonsense", "/no/such/file.txt", "", "x" * 5000, "x" * 5000 + ".txt", "\0.txt", "a\0b", "<b>x</b>", "~/.ssh"],
)
def test_what_is_no_corpus_is_an_error_in_words(source):
    with pytest.raises(StrataError):
        of_source(source)
