"""Test that vectors that ship are shown for their own sentences, under the settings that they were made with."""

import pytest

from explorer.encoding.locate.model_names import Found
from explorer.encoding.read.readings import OWN
from explorer.measuring.scores.measure import Settings
from explorer.ui.access import vectors

FOUND = Found("tiny", None, "a digest of this test")


@pytest.fixture(autouse=True)
def shipped(monkeypatch):
    """In place of vectors, the sentences that they are of, or that they have to be encoded."""
    monkeypatch.setattr(vectors.shipped_vectors, "read", lambda digest, sentences, title: tuple(sentences))
    monkeypatch.setattr(vectors.remembered, "made", lambda key, title, make: "encoded")


# Streamlit joins the texts of a key, each after its type, so that a text can move across a border
@pytest.mark.parametrize("sentences", [("a", "b"), ("astr:b",), ("a", "bstr:"), ("a", "b", ""), ("astr:b", "")])
def test_vectors_that_ship_are_those_of_the_sentences(sentences):
    assert vectors.of_reading(FOUND, sentences, OWN, Settings()) == sentences


def test_what_ships_is_shown_under_its_settings():
    assert vectors.of_reading(FOUND, ("a",), OWN, Settings()) == ("a",)


@pytest.mark.parametrize(
    "settings",
    [Settings("bfloat16"), Settings(max_length=8), Settings("float32", "cuda"), Settings("float32", "cpu", 8)],
)
def test_under_other_settings_it_is_not(settings):
    assert vectors.of_reading(FOUND, ("a",), OWN, settings) == "encoded"
