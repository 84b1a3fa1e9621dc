"""Test that every message is one line of bounded length, whatever the values in it hold."""

from explorer import errors
from explorer.errors import LONGEST, StrataError


def test_a_message_is_one_line():
    for kind in [one for one in vars(errors).values() if isinstance(one, type)]:
        assert str(kind("model_type cannot be 'a\nb\r\nc'. Choose one.")) == "model_type cannot be 'a b c'. Choose one."


def test_a_long_message_keeps_its_beginning_and_the_next_step():
    told = str(StrataError("It holds " + "x" * 10_000 + ". Remove it."))
    assert len(told) == LONGEST
    assert told.startswith("It holds xxx")
    assert told.endswith("xxx. Remove it.")


def test_half_of_a_surrogate_pair_is_shown_as_text():
    assert str(StrataError("'\ud800' is no name")) == r"'\ud800' is no name"


def test_a_message_raised_again_is_the_same():
    first = StrataError("x" * 5_000)
    assert str(StrataError(first)) == str(StrataError(str(first))) == str(first)
