"""Test that YAML is read in one way only: no name twice, and no number that programs read differently."""

import math

import pytest

from explorer.errors import BadChoice
from explorer.training import safe_yaml


def parsed(text, **same):
    return safe_yaml.parsed(text, "a.yaml", "Give a recipe.", same)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("a: 1\nb: 2\na: 3\n", "'a' on line 1 and 'a' on line 3"),
        ("a: 1\n'a': 1\n", "'a' on line 1 and 'a' on line 2"),
        ("a:\n  b:\n    - {c: 1, d: 2,\n       c: 3}\n", "'c' on line 3 and 'c' on line 4"),
        ("? a\n: 1\n? a\n: 2\n", "'a' on line 1 and 'a' on line 3"),
        ('{"a": {"b": 1, "b": 2}}', "'b' on line 1 and 'b' on line 1"),
        ("a:\n  1: x\n  true: y\n", "1 on line 2 and True on line 3"),
        ("models: [x]\nother: 1\nmodel: y\n", "'models' on line 1 and 'model' on line 3"),
    ],
)
def test_a_name_that_is_stated_twice_is_refused_with_both_lines(text, named):
    with pytest.raises(BadChoice) as caught:
        parsed(text, model="models")
    assert str(caught.value) == f"a.yaml has {named}. Keep one of them."


def test_names_that_mean_the_same_do_so_at_the_top_only():
    assert parsed("a: {model: 1, models: 2}\n", model="models") == {"a": {"model": 1, "models": 2}}


@pytest.mark.parametrize(
    "number",
    ["010", "-010", "08", "1:30", "1:30:05.5", "1_000", "1_0.5", "0x10", "0b11", "0o10", "9" * 301, "-" + "9" * 900],
)
@pytest.mark.parametrize("text", ["\na: {}", "\na: [1, {}]", "\n{}: 1"])
def test_a_number_that_programs_read_differently_is_refused_with_its_line(text, number):
    with pytest.raises(BadChoice, match=rf"a\.yaml, line 2: {number[:40]}.*Write .*in quotes"):
        parsed(text.format(number))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10", 10), ("-3", -3), ("0", 0), ("+7", 7), ("0.5", 0.5), (".5", 0.5), ("5.", 5.0), ("00.5", 0.5),
        ("1e3", 1000.0), ("1E-5", 1e-5), ("5.0e-05", 5e-5), ("1e999", math.inf), (".inf", math.inf),
        ("-.inf", -math.inf), ("on", True), ("off", False), ("yes", True), ("no", False), ("true", True),
        ("null", None), ("~", None), ("", None),
        ("2020-01-01", "2020-01-01"), ("2020-99-99", "2020-99-99"), ("12:75", "12:75"), ("1.2.3", "1.2.3"),
        ("1,000", "1,000"), ("٣", "٣"), ("'010'", "010"), ('"1:30"', "1:30"), ("<<", "<<"), ("=", "="), ("~/x", "~/x"),
    ],
)  # fmt: skip
def test_a_value_has_one_meaning_and_is_written_so_that_it_keeps_it(text, value):
    found = parsed(f"a: {text}")
    assert found == {"a": value}
    assert type(found["a"]) is type(value)
    assert parsed(safe_yaml.written(found)) == found


def test_text_stays_text_when_it_is_written():
    for text in ["010", "1:30", "1_000", "0o10", "1e3", "on", "null", "2020-01-01", "a\nb"]:
        assert parsed(safe_yaml.written({text: [text]})) == {text: [text]}


def test_no_number_stays_no_number():
    assert math.isnan(parsed("a: .nan")["a"])


@pytest.mark.parametrize(
    "text", ["a: !!int 010", "a: !!float 1:30", "a: !!python/name:os.mkdir", "a: ! b", "!!set {a}"]
)
def test_tags_are_refused(text):
    with pytest.raises(BadChoice, match="no tags"):
        parsed(text)


def test_half_of_a_surrogate_pair_is_refused():
    for text in [r'a: "\udcff"', r'"\ud800": 1', r'a: ["x\ud83d"]']:
        with pytest.raises(BadChoice, match="half of a surrogate pair"):
            parsed(text)
