"""Test the sentence of a verdict: its kind follows the interval, its numbers are the given ones."""

import re

import pytest

from explorer.measuring.scores.verdict_text import BETTER, CHANCE, UNKNOWN, WORDS, WORSE, kind_of, sentence


@pytest.mark.parametrize(
    ("low", "high", "kind"),
    [(1.2, 5.0, BETTER), (-5.0, -0.01, WORSE), (-1.0, 2.0, CHANCE), (0.0, 2.0, CHANCE), (0.0, 0.0, CHANCE)],
)
def test_the_kind_follows_the_interval(low, high, kind):
    assert kind_of(low, high) == kind
    said = sentence("base", 75.1, "tuned", 78.2, 3.1, low, high, "120 pairs")
    assert said.kind == kind
    assert said.text.startswith(f"{WORDS[kind]}: ")


def test_it_names_both_models_and_every_number():
    said = sentence("base", 75.1, "run:demo", 78.2, 3.1, 1.2, 5.0, "the test half, 120 pairs")
    assert re.findall(r"[+-]?\d+\.\d+", said.text) == ["78.20", "75.10", "+3.10", "+1.20", "+5.00"]
    assert said.text.index("run:demo scores 78.20") < said.text.index("base 75.10")
    assert "95 % CI" in said.text
    assert said.text.endswith("the test half, 120 pairs.")


@pytest.mark.parametrize("missing", range(5))
@pytest.mark.parametrize("value", [None, float("nan")])
def test_a_missing_number_is_no_verdict(missing, value):
    numbers = [75.1, 78.2, 3.1, 1.2, 5.0]
    numbers[missing] = value
    a, b, *interval = numbers
    said = sentence("base", a, "tuned", b, *interval, "120 pairs")
    assert said.kind == UNKNOWN
    assert "nan" not in said.text.lower()


def test_an_optimistic_verdict_says_so_in_its_first_words():
    said = sentence("base", 75.1, "tuned", 78.2, 3.1, 1.2, 5.0, "120 pairs", optimistic=True)
    assert said.kind == BETTER
    assert said.word == "Better (optimistic)"
    assert "optimistic" not in sentence("base", 75.1, "tuned", 78.2, 3.1, 1.2, 5.0, "120 pairs").text


def test_no_number_has_a_negative_zero():
    assert "-0.00" not in sentence("base", 75.0, "tuned", 75.0, -0.0, -0.001, 0.0, "120 pairs").text
