"""Test that `explain` says what each word adds to a cosine, and what changed."""

import json

import pytest

PAIR = "a man is playing the guitar", "a dog is playing"


def test_the_words_of_two_models_add_up_to_their_cosines(place, said):
    code, out, err = said("explain", *PAIR, place.model, place.model, "--other-reading", "max of layer 1", "--json")
    assert code == 0, err
    told = json.loads(out)
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


def test_a_model_that_is_not_there_and_a_reference_that_is_none_are_refused(place, said):
    code, _, err = said("explain", *PAIR, "nowhere/model")
    assert code == 1
    assert "nowhere/model" in err
    code, _, err = said("explain", *PAIR, place.model, "--reference", "nothing")
    assert code == 2
    assert "[MASK]" in err
