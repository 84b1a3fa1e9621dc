"""Test that `explain` says what each word adds to a cosine, and what changed."""

import json
import os
import signal
from html import unescape

import pytest

from explorer.measuring.sentences import word_pairs
from tests.html_tables import tables

PAIR = "a man is playing the guitar", "a dog is playing"


def test_the_words_of_two_models_add_up_to_their_cosines(place, answered):
    told = answered("explain", *PAIR, place.model, place.model, "--other-reading", "max of layer 1", "--json")
    for side in "AB":
        assert sum(row["contribution"] for row in told[side]["matrix"]) == pytest.approx(told[side]["cosine"], abs=0.01)
        words = [row["word"] for row in told[side]["words"] if row["sentence"] == 1]
        assert words[:-1] == PAIR[0].split()
    assert {row["word"] for row in told["changes"]} == {*PAIR[0].split(), *PAIR[1].split()}
    assert told["A"]["reading"] != told["B"]["reading"]


def test_the_text_says_it_first(place, said):
    code, out, _ = said("explain", *PAIR, place.model, "--reference", "mean embedding", "--max-length", 6)
    assert code == 0
    assert out.splitlines()[0].endswith(".")
    assert "adds most to the cosine" in out.splitlines()[0]
    assert "guitar" not in out.split(PAIR[0])[-1], "it was cut"


def test_a_model_that_is_not_there_and_a_reference_that_is_none_are_refused(place, refused):
    assert "nowhere/model" in refused("explain", *PAIR, "nowhere/model")
    assert "[MASK]" in refused("explain", *PAIR, place.model, "--reference", "nothing")


def test_a_file_of_pairs_is_explained_pair_by_pair_and_shown_in_a_report(place, said, tmp_path):
    file, report = tmp_path / "pairs.csv", tmp_path / "words.html"
    file.write_text(f"first,second\n{PAIR[0]},{PAIR[1]}\n<b>a dog</b>,a dog\n,empty\n", encoding="utf-8")
    code, out, err = said("explain", "--pairs", file, place.model, place.model, "--html", report, "--json")
    assert code == 0, err
    assert "1 dropped: empty sentence (line 4)" in err
    found = json.loads(out)
    assert [one["sentences"] for one in found] == [list(PAIR), ["<b>a dog</b>", "a dog"]]
    code, alone, _ = said("explain", *PAIR, place.model, place.model, "--json")
    assert json.loads(alone) == found[0], "as without a file"
    page = report.read_text(encoding="utf-8")
    for one in found:
        assert one["told"] in unescape(page)
    assert "<b>a dog" not in page
    (first, second, *_) = tables(page)
    assert [row["A"] for row in first] == [row["contribution"] for row in found[0]["A"]["words"]]
    assert {row["change"] for row in second} == {0.0}
    assert page.count('aria-label="What each word adds') == page.count('aria-label="A: pairs of words') == 2


def test_what_is_done_is_printed_when_a_signal_stops_the_next_pair(place, said, tmp_path, monkeypatch):
    file = tmp_path / "pairs.tsv"
    file.write_text(f"first\tsecond\na dog is here\ta dog is there\n{PAIR[0]}\t{PAIR[1]}\n", encoding="utf-8")

    computed = word_pairs.word_pair

    def stopped(encoder, first, *others, **settings):
        if first == PAIR[0]:
            os.kill(os.getpid(), signal.SIGTERM)
        return computed(encoder, first, *others, **settings)

    monkeypatch.setattr(word_pairs, "word_pair", stopped)
    code, out, err = said("explain", "--pairs", file, place.model, "--json", "--max-length", 7)
    assert code == 128 + signal.SIGTERM
    assert [one["sentences"][0] for one in json.loads(out)] == ["a dog is here"]
    assert "Stopped after 1 of 2 pairs" in err


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ((), "No sentences were given; two are needed"),
        (("a dog",), "One sentence was given"),
        (("--pairs", "pairs.csv", *PAIR), f"Both --pairs pairs.csv and '{PAIR[0]}' were given"),
        (("--pairs", "pairs.csv", "a", "b", "c"), "Both --pairs pairs.csv and two sentences were given"),
    ],
)
def test_both_or_neither_of_two_sentences_and_a_file_are_refused(refused, words, fault):
    err = refused("explain", *words)
    assert fault in err
    assert "explain --pairs FILE A B" in err


def test_a_file_without_two_columns_names_what_it_has(refused, tmp_path):
    (tmp_path / "one.txt").write_text("a dog\na cat\n", encoding="utf-8")
    err = refused("explain", "--pairs", tmp_path / "one.txt")
    assert "one.txt has no column for second, which pairs of sentences need" in err
