"""Test that a dataclass is read from JSON tolerantly, and that what does not fit is found and named."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pytest

from explorer import typed_json


@dataclass(frozen=True)
class Part:
    size: int = 1


@dataclass(frozen=True)
class Whole:
    name: str
    rate: float = field(default=0.5, metadata={"least": 0})
    parts: tuple[Part, ...] = ()
    notes: Mapping[str, str | None] | None = None
    rest: Any = None


@dataclass(frozen=True)
class Renamed:
    size: float | None = typed_json.field_as("old_size")
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Named:
    one: Fraction | None = field(default=None, metadata={typed_json.READS: Fraction})
    several: tuple[Fraction, ...] = field(default=(), metadata={typed_json.READS: Fraction})
    inside: tuple["Named", ...] = ()


FITTING = {"name": "a", "rate": 1, "parts": [{"size": 2}, {}], "notes": {"a": None}, "rest": [3], "later": 1}


def test_what_fits_is_read_and_has_no_misfit():
    assert typed_json.misfit(Whole, FITTING) is None
    assert typed_json.read(Whole, FITTING) == Whole("a", 1.0, (Part(2), Part()), {"a": None}, [3])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": 3}, "its 'name' is 3, which must be text"),
        ({"rate": -1}, "its 'rate' is -1, which must be a number of at least 0"),
        ({"rate": float("nan")}, "its 'rate' is nan, which must be a number of at least 0"),
        ({"rate": True}, "its 'rate' is True, which must be a number of at least 0"),
        ({"parts": {}}, "its 'parts' is {}, which must be a list of objects"),
        ({"parts": [{"size": "2"}]}, "its 'parts' is [{'size': '2'}], which must be a list of objects"),
        ({"notes": {"a": 1}}, "its 'notes' is {'a': 1}, which must be an object of text or null, or null"),
    ],
)
def test_the_first_value_that_does_not_fit_is_named_with_what_is_allowed(change, words):
    assert str(typed_json.misfit(Whole, FITTING | change)) == words


def test_a_missing_field_is_named_and_a_value_in_short():
    assert str(typed_json.misfit(Whole, {})) == "it has no 'name', which must be text"
    assert len(str(typed_json.misfit(Whole, {"name": ["x" * 10**5] * 10}))) < 300


@pytest.mark.parametrize("text", [r'{"name": "\udcff"}', r'{"\uD800": 1}', '["a\ud83d"]', b'["\xed\xa0\x80"]'])
def test_half_of_a_surrogate_pair_which_no_page_can_show_is_broken_json(text):
    with pytest.raises(ValueError, match=r"^half of a surrogate pair$"):
        typed_json.parsed(text)


def test_a_whole_pair_and_what_only_looks_like_one_are_text():
    assert typed_json.parsed(r'["\ud83d\ude00", "\\ud800", "😀"]') == ["😀", r"\ud800", "😀"]


@pytest.mark.parametrize("digits", [301, 309, 4300, 4301, 100_000])
@pytest.mark.parametrize("sign", ["", "-"])
def test_a_whole_number_that_no_float_can_hold_is_broken_json(digits, sign):
    with pytest.raises(ValueError, match=f"^a number of {digits:,} digits$"):
        typed_json.parsed(f'{{"name": "a", "rest": [{sign}{"9" * digits}]}}')
    largest = typed_json.parsed(f'{{"name": "a", "rate": {sign}{"9" * 300}}}')
    assert typed_json.read(Whole, largest).rate == float(f"{sign}1e300")


def test_a_field_with_another_name_in_json_is_written_read_and_found_to_misfit_by_that_name():
    given = Renamed(2.0, (Part(3),))
    stated = {"old_size": 2.0, "parts": [{"size": 3}]}
    assert typed_json.written(given) == stated
    assert typed_json.read(Renamed, stated) == given
    assert typed_json.read(Renamed, {"size": 2.0}) == Renamed()
    assert typed_json.misfit(Renamed, stated) is None
    assert typed_json.misfit(Renamed, {"old_size": "2"}) == "its 'old_size' is '2', which must be a number or null"


def test_a_value_that_is_text_in_json_is_read_and_written_by_its_field_and_no_other_type_is_taken_for_it():
    named = Named(Fraction(1, 3), (Fraction(2), Fraction(3, 4)), (Named(),))
    stated = {"one": "1/3", "several": ["2", "3/4"], "inside": [{"one": None, "several": [], "inside": []}]}
    assert typed_json.written(named) == stated
    assert typed_json.read(Named, stated) == named
    for one in (3, ["1/3"], {"numerator": 1}):
        assert typed_json.read(Named, {"one": one}) == Named()
    for several in ("2", [2], {"2": "3"}, None):
        assert typed_json.read(Named, {"several": several}) == Named()


def test_an_object_has_a_line_for_each_value_and_is_read_as_the_same():
    given = {"size": 3, "é": "a\nb", "parts": [{"size": 1}, {"size": None}], "none": {}}
    text = typed_json.lines(given)
    assert text.splitlines()[1:3] == [' "size": 3,', ' "é": "a\\nb",']
    assert len(text.splitlines()) == len(given) + 2
    assert typed_json.parsed(text) == given
    assert typed_json.parsed(typed_json.lines({})) == {}
