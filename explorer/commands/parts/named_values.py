"""Flags of the form NAME=VALUE."""

from __future__ import annotations

from explorer.errors import BadChoice


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
