"""Values of flags: NAME=VALUE, whole numbers and lists of them, seeds."""

from __future__ import annotations

import argparse

from explorer.errors import BadChoice
from explorer.knobs import whole_in, wholes_in

LARGEST_SEED = 2**32 - 1  # that every generator of random numbers takes


def role_and_name(column: str) -> tuple[str, str]:
    """`score=rating` as a role and the column that plays it."""
    role, equals, name = column.partition("=")
    if not equals:
        raise BadChoice(f"--column {column} lacks an equals sign. Write ROLE=NAME, for example --column score=rating.")
    return role, name


def knob_and_value(text: str) -> tuple[str, str]:
    """`temperature=0.05` as a setting and its value."""
    knob, equals, value = text.partition("=")
    if not equals:
        raise BadChoice(f"--set {text} lacks an equals sign. Write KNOB=VALUE, for example --set temperature=0.05.")
    return knob.replace("-", "_"), value


def whole_number(text: str) -> int:
    """A whole number, as the type of a flag: argparse adds the flag to the error."""
    found = whole_in(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text:.50} is not a whole number. Write it in the digits 0 to 9: 1000")
    return found


def seed(text: str) -> int:
    """A seed, as the type of a flag."""
    found = whole_number(text)
    if not 0 <= found <= LARGEST_SEED:
        raise argparse.ArgumentTypeError(f"{text:.50} is not a seed. Choose 0 to {LARGEST_SEED}")
    return found


def whole_numbers(flag: str, text: str) -> tuple[int, ...]:
    """The different numbers in the list of a flag."""
    found = wholes_in(text)
    if found is None:
        raise BadChoice(f"{flag} {text} is not a list of whole numbers. Write, for example, {flag} 3 or {flag} 2,3.")
    return found
